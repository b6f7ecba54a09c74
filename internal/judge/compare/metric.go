// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"fmt"
	"slices"
	"strings"

	"assay.dev/assay/internal/document"
	"assay.dev/assay/internal/judge/stats/effect"
)

// Metric is one row: its values in A and in B, their ratio, and the decision.
type Metric struct {
	Name    string     `json:"metric" jsonschema:"minLength=1"`
	Group   string     `json:"group" jsonschema:"enum=rate,enum=errors,enum=transaction,enum=endpoint,enum=database,enum=resources,enum=generator,enum=ledger"`
	Unit    string     `json:"unit" jsonschema:"enum=1/s,enum=share,enum=ms,enum=ms/tx,enum=1/tx,enum=By/tx"` // unit of A, B and the values
	A       *float64   `json:"a"`                                                                             // median over runs
	B       *float64   `json:"b"`
	ValuesA []*float64 `json:"values_a" jsonschema:"minItems=1"` // one per run, in the order of the side's runs
	ValuesB []*float64 `json:"values_b" jsonschema:"minItems=1"`
	// Ratio of B to A: exp of the median of ln(B/A) over pairs, or exp of the Hodges-Lehmann
	// shift of the logarithms.
	Ratio     *float64        `json:"ratio" jsonschema:"exclusiveMinimum=0"`
	Lower     *float64        `json:"lower"`
	Upper     *float64        `json:"upper"`
	P         *float64        `json:"p" jsonschema:"minimum=0,maximum=1"`          // two-sided: Wilcoxon's signed-rank test over pairs, or Mann-Whitney
	Adjusted  *float64        `json:"p_adjusted" jsonschema:"minimum=0,maximum=1"` // by Holm, over all metrics tested
	Decision  effect.Decision `json:"decision" jsonschema:"enum=changed,enum=equivalent,enum=undetermined"`
	Direction string          `json:"direction" jsonschema:"enum=better,enum=worse,enum=none"` // direction of a change; "none" for anything else
	Reason    string          `json:"reason"`                                                  // why the decision is undetermined; otherwise empty
	better    better
}

// Directions of a change.
const (
	Better      = "better"
	Worse       = "worse"
	NoDirection = "none"
)

// measure reads all metrics that any of the matched runs has.
func measure(m *matched) (all []Metric) {
	for _, s := range sources(append(slices.Clone(m.a), m.b...)) {
		row := Metric{Name: s.name, Group: s.group, Unit: s.unit, better: s.better}
		for _, r := range m.a {
			row.ValuesA = append(row.ValuesA, s.read(r.Certificate))
		}
		for _, r := range m.b {
			row.ValuesB = append(row.ValuesB, s.read(r.Certificate))
		}
		row.A, row.B = median(row.ValuesA), median(row.ValuesB)
		if row.A != nil || row.B != nil {
			all = append(all, row)
		}
	}
	return all
}

// selected keeps the metrics that the caller chose, by name or group.
func selected(all []Metric, words []string) ([]Metric, error) {
	if len(words) == 0 {
		return all, nil
	}
	for _, w := range words {
		if !slices.ContainsFunc(all, func(m Metric) bool { return m.Name == w || m.Group == w }) {
			return nil, &Refusal{
				fmt.Sprintf("no run has a metric or group %q", w),
				"groups are " + strings.Join(Groups, ", ") + "; metrics have the names of the table",
			}
		}
	}
	return slices.DeleteFunc(all, func(m Metric) bool {
		return !slices.Contains(words, m.Name) && !slices.Contains(words, m.Group)
	}), nil
}

// decide compares all metrics, and counts those with a ratio: p is adjusted for them.
func decide(all []Metric, paired bool, tolerance float64) (rows []Metric, tested int) {
	effects, ps, few := make([]effect.Effect, len(all)), make([]*float64, len(all)), make([]string, len(all))
	for i := range all {
		m := &all[i]
		var ok bool
		if effects[i], few[i], ok = m.effect(paired); ok {
			ps[i] = effects[i].P
			tested++
		}
	}
	for i, p := range effect.Holm(ps) {
		all[i].conclude(effects[i], p, few[i], tolerance, tested)
	}
	return all, tested
}

// effect is the effect over the runs with data, and the reason to give if they are too few
// for an interval. ok is false if there is no ratio.
func (m *Metric) effect(paired bool) (e effect.Effect, few string, ok bool) {
	if zeros := countZeros(m.ValuesA) + countZeros(m.ValuesB); zeros > 0 {
		m.Reason = fmt.Sprintf("0 in %s, and 0 has no ratio", runs(zeros))
		if zeros == len(m.ValuesA)+len(m.ValuesB) {
			m.Reason = "0 in every run"
		}
		return e, few, false
	}
	if paired {
		var pairs []effect.Pair
		for i, a := range m.ValuesA {
			if b := m.ValuesB[i]; a != nil && b != nil {
				pairs = append(pairs, effect.Pair{A: *a, B: *b})
			}
		}
		few = fmt.Sprintf("%s: an interval needs at least %d", count(len(pairs), "pair"), effect.MinPairs(1))
		e, ok = effect.Paired(pairs)
	} else {
		a, b := present(m.ValuesA), present(m.ValuesB)
		few = fmt.Sprintf("%s of A and %d of B: an interval needs at least %d of each", runs(len(a)), len(b), effect.MinRuns(1))
		e, ok = effect.Unpaired(a, b)
	}
	if !ok {
		m.Reason = "no data to compare"
	}
	return e, few, ok
}

// conclude sets the decision and its reason. A ratio of 0 is "no data".
func (m *Metric) conclude(e effect.Effect, adjusted *float64, few string, tolerance float64, tested int) {
	m.Decision, m.Direction = effect.Decide(e, adjusted, tolerance), NoDirection
	if e.Ratio != 0 {
		m.Ratio = rounded(e.Ratio)
	}
	if e.Interval != nil {
		m.Lower, m.Upper = rounded(e.Interval.Lower), rounded(e.Interval.Upper)
		m.P, m.Adjusted = rounded(*e.P), rounded(*adjusted)
	}
	lower, upper := effect.Band(tolerance)
	switch {
	case m.Decision == effect.Changed && m.better != neither:
		m.Direction = Worse
		if (e.Ratio > 1) == (m.better == more) {
			m.Direction = Better
		}
	case m.Decision != effect.Undetermined || m.Reason != "":
	case e.Interval == nil:
		m.Reason = few
	case e.Interval.Lower > upper || e.Interval.Upper < lower:
		m.Reason = fmt.Sprintf("the interval lies outside the tolerance, but the test is not significant once adjusted for %s", count(tested, "metric"))
	default:
		m.Reason = "the interval lies partly inside and partly outside the tolerance"
	}
}

func countZeros(values []*float64) (n int) {
	for _, v := range values {
		if v != nil && *v == 0 {
			n++
		}
	}
	return n
}

func present(values []*float64) (all []float64) {
	for _, v := range values {
		if v != nil {
			all = append(all, *v)
		}
	}
	return all
}

func median(values []*float64) *float64 {
	all := present(values)
	if len(all) == 0 {
		return nil
	}
	slices.Sort(all)
	return rounded(effect.Median(all))
}

func rounded(v float64) *float64 {
	short := document.Round(v)
	return &short
}
