package experiment

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"assay/harness/judge/compare"
	"assay/harness/judge/stats/effect"
	"assay/harness/spec"
)

// Outcome is what an experiment says of a variant.
type Outcome string

// The outcomes. A cause is confirmed where p99 and the time of its class of waits
// both fall at the same load (WAITS section 6); where an experiment is decided on
// other metrics they have changed, and nothing is confirmed.
const (
	Confirmed    Outcome = "confirmed"
	NotConfirmed Outcome = "not confirmed"
	Changed      Outcome = "changed"
	Equivalent   Outcome = "equivalent"
	Undetermined Outcome = "undetermined"
)

// Decided is a primary metric and what may be said of it by itself. All of them
// have to agree for an outcome, so that none is adjusted for the others: a test
// that refuses only where each of its tests does is an intersection-union test,
// whose level is that of each (Berger, Technometrics 24, 1982).
type Decided struct {
	Metric   string          `json:"metric"`
	Unit     string          `json:"unit"`
	A        *float64        `json:"a"` // median over runs
	B        *float64        `json:"b"`
	Ratio    *float64        `json:"ratio"` // of the variant to the control; null also where it is 0
	Lower    *float64        `json:"lower"`
	Upper    *float64        `json:"upper"`
	P        *float64        `json:"p"` // of this metric by itself: all have to agree, so that none is adjusted for the others
	Decision effect.Decision `json:"decision" jsonschema:"enum=changed,enum=equivalent,enum=undetermined"`
	Falls    bool            `json:"falls"` // it is changed, and less
	Reason   string          `json:"reason"`
}

// leastPairs is how many pairs a confirmation takes (WAITS section 6); the tests
// take more to show a change at all.
const leastPairs = 3

// Conclude compares a variant's runs with the control's.
func Conclude(control, variant compare.Group, primary []string, tolerance float64) (Effect, error) {
	c, err := compare.Compare(control, variant, compare.Options{Tolerance: tolerance})
	if err != nil {
		return Effect{}, err
	}
	e := Effect{Comparison: &c, Primary: []Decided{}}
	for _, name := range primary {
		i := slices.IndexFunc(c.Metrics, func(m compare.Metric) bool { return m.Name == name })
		if i < 0 {
			e.Primary = append(e.Primary, Decided{Metric: name, Decision: effect.Undetermined, Reason: "no run has it"})
			continue
		}
		e.Primary = append(e.Primary, decide(c.Metrics[i], tolerance))
	}
	e.Events, e.Named = events(control, variant, c), named(control, variant)
	e.Outcome = outcome(e.Primary, len(c.Pairing.Pairs))
	return e, nil
}

// decide says of one metric what may be said of it by itself.
func decide(m compare.Metric, tolerance float64) Decided {
	d := Decided{
		Metric: m.Name, Unit: m.Unit, A: m.A, B: m.B, Ratio: m.Ratio, Lower: m.Lower, Upper: m.Upper, P: m.P,
		Decision: effect.Undetermined, Reason: m.Reason,
	}
	if m.Ratio == nil {
		d.vanished(m, tolerance)
		return d
	}
	e := effect.Effect{Ratio: *m.Ratio}
	if m.Lower != nil && m.Upper != nil {
		e.Interval = &effect.Interval{Lower: *m.Lower, Upper: *m.Upper}
	}
	d.Decision = effect.Decide(e, m.P, tolerance)
	d.Falls = d.Decision == effect.Changed && e.Ratio < 1
	if d.Decision != effect.Undetermined {
		d.Reason = ""
	}
	return d
}

// vanished is the case of a class of waits that is gone from some runs: 0 has no
// ratio, and yet it is less. Where every pair has less of it, and by more than
// the tolerance, that is Wilcoxon's test at its clearest: p = 2/2^n.
func (d *Decided) vanished(m compare.Metric, tolerance float64) {
	lowest, _ := effect.Band(tolerance)
	n := len(m.ValuesA)
	if n != len(m.ValuesB) || n < effect.LeastPairs(1) {
		return
	}
	for i, a := range m.ValuesA {
		b := m.ValuesB[i]
		if a == nil || b == nil || *a <= 0 || *b >= *a*lowest {
			return
		}
	}
	p := 2.0
	for range n {
		p /= 2
	}
	d.P, d.Decision, d.Falls, d.Reason = &p, effect.Changed, true, ""
}

// outcome is what the primary metrics come to together. A cause is refuted by
// either of the two that name it, so that the chance of a refutation by accident
// is that of both: 2.5 % each, the tail in which it lies.
func outcome(primary []Decided, pairs int) Outcome {
	all := func(is func(Decided) bool) bool {
		return !slices.ContainsFunc(primary, func(d Decided) bool { return !is(d) })
	}
	decision := func(of effect.Decision) func(Decided) bool {
		return func(d Decided) bool { return d.Decision == of }
	}
	against := func(d Decided) bool {
		return (tail(d) || ofClass(d)) && (d.Decision == effect.Equivalent || d.Decision == effect.Changed && !d.Falls)
	}
	cause := slices.ContainsFunc(primary, tail) && slices.ContainsFunc(primary, ofClass)
	switch {
	case all(decision(effect.Equivalent)):
		return Equivalent
	case cause && pairs >= leastPairs && all(func(d Decided) bool { return d.Falls }):
		return Confirmed
	case cause && slices.ContainsFunc(primary, against):
		return NotConfirmed
	case !cause && all(decision(effect.Changed)):
		return Changed
	}
	return Undetermined
}

// tail and ofClass are the two metrics that name a cause.
func tail(d Decided) bool { return d.Metric == "transaction p99" }

func ofClass(d Decided) bool { return strings.HasPrefix(d.Metric, spec.WaitMetric("")+" ") }

// nothingCompared is an effect of which no pair of runs is left.
func nothingCompared(why error) (Effect, bool) {
	var refused *compare.Refusal
	if !errors.As(why, &refused) {
		return Effect{}, false
	}
	return Effect{Outcome: Undetermined, Primary: []Decided{}, Events: []Event{}, Named: Named{[]Component{}, []Component{}}, Sentence: "undetermined: " + refused.Error()}, true
}

// sentence tells an outcome in words.
func (e Effect) sentence(a Asked, variant string) string {
	var parts []string
	for _, d := range e.Primary {
		parts = append(parts, d.text())
	}
	pairs := len(e.Comparison.Pairing.Pairs)
	text := fmt.Sprintf("%s: with %s instead of %s, at %s %s, %s, over %s",
		e.Outcome, variant, a.Variants[0].Name, number(a.Rate), a.Unit, list(parts), count(pairs, "pair"))
	if e.Outcome == Undetermined && pairs < effect.LeastPairs(1) {
		text += fmt.Sprintf("; a change takes at least %d", effect.LeastPairs(1))
	}
	if named := e.Named.text(a.Variants[0].Name, variant); named != "" {
		text += "; " + named
	}
	return text
}

// text is a metric's part of a sentence.
func (d Decided) text() string {
	if d.A == nil || d.B == nil {
		return d.Metric + " has no data"
	}
	unit := strings.ReplaceAll(d.Unit, "ms/tx", "ms a transaction")
	values := fmt.Sprintf("from %s to %s %s", number(*d.A), number(*d.B), unit)
	switch {
	case d.Decision == effect.Equivalent:
		return fmt.Sprintf("%s stayed the same (%s)", d.Metric, values)
	case d.Decision == effect.Undetermined:
		return fmt.Sprintf("%s is not decided (%s)", d.Metric, values)
	case d.Ratio == nil:
		return fmt.Sprintf("%s fell %s", d.Metric, values)
	}
	verb, times := "rose", *d.Ratio
	if d.Falls {
		verb, times = "fell", 1 / *d.Ratio
	}
	return fmt.Sprintf("%s %s %s (%s times)", d.Metric, verb, values, number(times))
}

func list(parts []string) string {
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	last := len(parts) - 1
	return strings.Join(parts[:last], ", ") + " and " + parts[last]
}
