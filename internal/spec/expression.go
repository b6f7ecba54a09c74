// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// expressionForm is k6's threshold grammar: an aggregate, an operator and a bound,
// with optional spaces between them.
var expressionForm = regexp.MustCompile(`^\s*([A-Za-z_]+(?:\([^()]*\))?)\s*([<>=!]+)\s*([^<>=!\s]+)\s*$`)

// plainNumber is k6's documented float; strconv alone would let "inf", "nan"
// and "0x1p4" in.
var plainNumber = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?$`)

// Bounds of exact counts: beyond 2^53 a float64 skips integers.
const maxExact = 1 << 53

var (
	upperOperators = []string{"<", "<="}
	lowerOperators = []string{">", ">="}
)

// conditionWords are the words that a condition may begin with. The first alone has an argument.
var conditionWords = []struct {
	word      string
	aggregate Aggregate
	operators []string
}{
	{"p", Percentile, upperOperators},
	{"rate", Rate, slices.Concat(upperOperators, lowerOperators)},
	{"max", Max, upperOperators},
	{"missing", Exact, []string{"=="}},
	{"duplicated", Exact, []string{"=="}},
	{"violated", Exact, []string{"=="}},
}

// unjudged are k6's further aggregates: no sample meets or violates a bound on them.
var unjudged = []string{"avg", "med", "min", "count", "value"}

// parseExpression reads e.g. "p(99.9)<250" into the SLO; problem says why it cannot,
// or is empty.
func (s *SLO) parseExpression(text string) (problem string) {
	m := expressionForm.FindStringSubmatch(text)
	if m == nil {
		return "want an aggregate, an operator and a bound"
	}
	aggregate, operator, bound := m[1], m[2], m[3]
	s.Expression, s.Operator = aggregate+operator+bound, operator
	word, argument, called := strings.Cut(aggregate, "(")
	if called && word != conditionWords[0].word {
		return fmt.Sprintf("unknown aggregate %s", quote(aggregate))
	}
	var words, operators []string
	for _, a := range conditionWords {
		words = append(words, a.word)
		if a.word == word {
			s.Aggregate, operators = a.aggregate, a.operators
		}
	}
	switch {
	case slices.Contains(unjudged, word):
		return fmt.Sprintf("%s cannot be judged", word)
	case operators == nil:
		return unknown("aggregate", aggregate, words)
	case s.Aggregate == Exact:
		s.Count = word
	case s.Aggregate == Percentile:
		if problem := s.parseQuantile(strings.TrimSuffix(argument, ")")); problem != "" {
			return problem
		}
	}
	if ofKind := kinds[s.row()].operators; ofKind != nil && s.Aggregate == Rate {
		operators = ofKind
	}
	if !slices.Contains(operators, operator) {
		return fmt.Sprintf("operator %q cannot be used with %s, which takes %s", operator, aggregate, strings.Join(operators, " "))
	}
	return s.parseBound(bound)
}

// parseQuantile reads the N of p(N), 0 < N < 100.
func (s *SLO) parseQuantile(text string) (problem string) {
	// Shifting the decimal point in the text gives 0.999 for 99.9, which
	// dividing by 100 does not.
	var err error
	s.Quantile, err = strconv.ParseFloat(text+"e-2", 64)
	if !plainNumber.MatchString(text) || err != nil || s.Quantile <= 0 || s.Quantile >= 1 {
		return fmt.Sprintf("percentile %s is not a number above 0 and below 100", quote(text))
	}
	return ""
}

func (s *SLO) parseBound(text string) (problem string) {
	v, err := strconv.ParseFloat(text, 64)
	if !plainNumber.MatchString(text) || err != nil {
		return fmt.Sprintf("bound %s is not a number such as 250 or 0.01", quote(text))
	}
	s.Bound = v
	switch s.Aggregate {
	case Rate:
		return s.checkShare()
	case Exact:
		if strings.Contains(text, ".") || v > maxExact {
			return fmt.Sprintf("bound %s is not a whole number", text)
		}
	default:
		if v <= 0 {
			return fmt.Sprintf("bound %s is not above 0", text)
		}
		if s.Descriptor().Unit == UnitMs {
			return s.checkTime()
		}
	}
	return ""
}

// Bounds of times, in milliseconds: below a microsecond nothing is measured,
// and no run is longer than MaxDuration.
const (
	minTimeMs = 0.001
	maxTimeMs = float64(MaxDuration / time.Millisecond)
)

// checkTime refuses bounds that must be a mistake in the unit.
func (s *SLO) checkTime() (problem string) {
	if s.Bound < minTimeMs || s.Bound > maxTimeMs {
		return fmt.Sprintf("bound %s is not between %g and %.0f milliseconds", strconv.FormatFloat(s.Bound, 'f', -1, 64), minTimeMs, maxTimeMs)
	}
	return ""
}

// checkShare refuses bounds that every share meets or none does: an SLO that always
// holds certifies nothing.
func (s *SLO) checkShare() (problem string) {
	switch {
	case s.Bound > 1:
		return fmt.Sprintf("bound %g is not a share from 0 to 1", s.Bound)
	case s.Bound == 0 && s.Operator == "<", s.Bound == 1 && s.Operator == ">":
		return fmt.Sprintf("rate%s%g can never hold", s.Operator, s.Bound)
	case s.Bound == 0 && s.Operator == ">=", s.Bound == 1 && s.Operator == "<=":
		return fmt.Sprintf("rate%s%g always holds", s.Operator, s.Bound)
	}
	return ""
}

// metricName is k6's rule for names of metrics.
var metricName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{1,128}$`)

// promName is Prometheus' rule for names of metrics.
var promName = regexp.MustCompile(`^[A-Za-z_:][A-Za-z0-9_:]*$`)

// parseMetric reads metric or metric{tag:value,...}, k6's sub-metric syntax.
// Values in single or double quotes may contain commas.
func (s *SLO) parseMetric(key string) (problem string) {
	name, rest, braced := strings.Cut(key, "{")
	if s.Metric = name; braced {
		s.Metric = strings.TrimSpace(name)
	}
	if !metricName.MatchString(s.Metric) {
		return fmt.Sprintf("%s is not the name of a metric", quote(s.Metric))
	}
	if !braced {
		return ""
	}
	body, closed := strings.CutSuffix(strings.TrimSpace(rest), "}")
	if !closed {
		return fmt.Sprintf("%s has no closing brace", quote(key))
	}
	return s.addSelector(body)
}
