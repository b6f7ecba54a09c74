// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"assay.dev/assay/internal/observe/metric"
)

// Selection selects series of one metric in Prometheus' text format, as PromQL does:
// name{label="value",label!="value",label=~"pattern",label!~"pattern"}.
type Selection struct {
	Name     string
	matchers []matcher
}

// matcher is a condition on the value of a label; a label that a series lacks is empty.
type matcher struct {
	label, operator, value string
	pattern                *regexp.Regexp // pattern of =~ and !~; the whole value must match it
}

var operators = []string{"=", "!=", "=~", "!~"}

// promMatcher is one label="value" of a selection, with any operator, and the comma before
// the next.
var promMatcher = regexp.MustCompile(`^\s*([A-Za-z_][A-Za-z0-9_]*)\s*([=!~]+)\s*("(?:[^"\\]|\\.)*")\s*(,|$)`)

// ParseSelection reads a selection. problem says why it cannot, or is empty.
func ParseSelection(text string) (s Selection, problem string) {
	name, rest, braced := strings.Cut(text, "{")
	s.Name = strings.TrimSpace(name)
	if !promName.MatchString(s.Name) {
		return s, quote(s.Name) + " is not the name of a metric"
	}
	if !braced {
		return s, ""
	}
	body, closed := strings.CutSuffix(strings.TrimSpace(rest), "}")
	if !closed {
		return s, fmt.Sprintf("the selection of %s has no closing brace", s.Name)
	}
	for body = strings.TrimSpace(body); body != ""; {
		m := promMatcher.FindStringSubmatch(body)
		if m == nil || !slices.Contains(operators, m[2]) {
			return s, quote(strings.TrimSpace(body)) + ` is not label="value", with the operator =, !=, =~ or !~`
		}
		one := matcher{label: m[1], operator: m[2]}
		var err error
		if one.value, err = strconv.Unquote(m[3]); err != nil {
			return s, fmt.Sprintf("%s is not a string in double quotes", m[3])
		}
		if strings.HasSuffix(one.operator, "~") {
			if one.pattern, err = regexp.Compile("^(?s:" + one.value + ")$"); err != nil {
				return s, fmt.Sprintf("%s is not a regular expression", quote(one.value))
			}
		}
		s.matchers, body = append(s.matchers, one), body[len(m[0]):]
	}
	return s, ""
}

// Matches reports whether a series with these labels is selected.
func (s Selection) Matches(labels map[string]string) bool {
	for _, m := range s.matchers {
		v, ok := labels[m.label], false
		switch m.operator {
		case "=":
			ok = v == m.value
		case "!=":
			ok = v != m.value
		case "=~":
			ok = m.pattern.MatchString(v)
		default:
			ok = !m.pattern.MatchString(v)
		}
		if !ok {
			return false
		}
	}
	return true
}

// Labels lists the labels that the selection looks at.
func (s Selection) Labels() (names []string) {
	for _, m := range s.matchers {
		names = append(names, m.label)
	}
	return names
}

// equal returns the labels and values of a selection that asks for equality only.
func (s Selection) equal() (labels []metric.Label, ok bool) {
	for _, m := range s.matchers {
		if m.operator != "=" {
			return nil, false
		}
		labels = append(labels, metric.Label{Key: m.label, Value: m.value})
	}
	return labels, true
}
