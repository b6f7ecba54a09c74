package experiment

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"assay.dev/assay/internal/document"
	"assay.dev/assay/internal/judge/compare"
	"assay.dev/assay/internal/judge/stats/effect"
	"assay.dev/assay/internal/quantity"
	"assay.dev/assay/internal/spec"
)

// Outcome is the conclusion about a variant.
type Outcome string

// The outcomes. A cause is confirmed if p99 and the time in its class of waits both
// fall at the same load; with other primary metrics the outcome is "changed" at best.
const (
	Confirmed    Outcome = "confirmed"
	NotConfirmed Outcome = "not confirmed"
	Changed      Outcome = "changed"
	Equivalent   Outcome = "equivalent"
	Undetermined Outcome = "undetermined"
)

// PrimaryMetric is a metric that decides the outcome, with its own decision. All
// primary metrics have to agree for an outcome, and so are not adjusted for each
// other: an intersection-union test, which rejects only if each of its tests does,
// has the level of each (Berger, Technometrics 24, 1982).
type PrimaryMetric struct {
	Metric string   `json:"metric"`
	Unit   string   `json:"unit"`
	A      *float64 `json:"a"` // median over runs
	B      *float64 `json:"b"`
	// ratio of the variant to the control; null also if the metric is 0
	Ratio *float64 `json:"ratio"`
	Lower *float64 `json:"lower"` // lower end of the ratio's 95 % interval
	Upper *float64 `json:"upper"`
	// p-value of this metric alone: all primary metrics have to agree, so p is not adjusted
	P        *float64        `json:"p"`
	Decision effect.Decision `json:"decision" jsonschema:"enum=changed,enum=equivalent,enum=undetermined"`
	Falls    bool            `json:"falls"` // changed, and lower than the control
	Reason   string          `json:"reason"`
}

// leastPairs is the minimum number of pairs for a confirmation; the tests need more to
// show a change at all.
const leastPairs = 3

// Conclude compares a variant's runs with the control's. A run that stands out is named, with
// what would be concluded without it and its partner.
func Conclude(control, variant compare.Group, primary []string, tolerance float64) (Effect, error) {
	e, err := conclude(control, variant, primary, tolerance)
	if err != nil {
		return e, err
	}
	for _, o := range e.Comparison.Outliers {
		text, c := o.Text(primary...), e.Comparison
		if text == "" || !c.Pairing.Paired {
			continue
		}
		pair := c.Pairing.Pairs[o.Pair()]
		lacks := func(g compare.Group, folder string) compare.Group {
			g.Runs = slices.DeleteFunc(slices.Clone(g.Runs), func(r compare.Run) bool { return r.Folder == folder })
			return g
		}
		w, err := conclude(lacks(control, c.A.Runs[pair[0]].Folder), lacks(variant, c.B.Runs[pair[1]].Folder), primary, tolerance)
		if err != nil {
			return e, err
		}
		e.Outlier = &Outlier{Folder: o.Folder, Text: text, Outcome: w.Outcome, Primary: w.Primary}
		break
	}
	return e, nil
}

func conclude(control, variant compare.Group, primary []string, tolerance float64) (Effect, error) {
	c, err := compare.Compare(control, variant, compare.Options{Tolerance: tolerance})
	if err != nil {
		return Effect{}, err
	}
	e := Effect{Comparison: &c, Primary: []PrimaryMetric{}}
	for _, name := range primary {
		i := slices.IndexFunc(c.Metrics, func(m compare.Metric) bool { return m.Name == name })
		if i < 0 {
			e.Primary = append(e.Primary, PrimaryMetric{Metric: name, Decision: effect.Undetermined, Reason: "no data in any run"})
			continue
		}
		e.Primary = append(e.Primary, decide(c.Metrics[i], tolerance))
	}
	e.Events, e.Bottlenecks = events(control, variant, c), bottlenecks(control, variant)
	e.Outcome = outcome(e.Primary, len(c.Pairing.Pairs))
	return e, nil
}

// decide decides one metric, without adjustment for others.
func decide(m compare.Metric, tolerance float64) PrimaryMetric {
	d := PrimaryMetric{
		Metric: m.Name, Unit: m.Unit, A: m.A, B: m.B, Ratio: m.Ratio, Lower: m.Lower, Upper: m.Upper, P: m.P,
		Decision: effect.Undetermined, Reason: m.Reason,
	}
	if m.Ratio == nil {
		d.decideVanished(m, tolerance)
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

// decideVanished decides a metric that is 0 in some runs of the variant, like the
// time in a class of waits, and so has no ratio. If it is lower in every pair, by more
// than the tolerance, Wilcoxon's signed-rank test has its smallest p = 2/2^n.
func (d *PrimaryMetric) decideVanished(m compare.Metric, tolerance float64) {
	lowest, _ := effect.Band(tolerance)
	n := len(m.ValuesA)
	if n != len(m.ValuesB) || n < effect.MinPairs(1) {
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

// outcome combines the primary metrics. Either of the two metrics that name a cause
// refutes it by being equivalent or rising: by chance with 2.5 % each (one tail), and
// so at most 5 % together.
func outcome(primary []PrimaryMetric, pairs int) Outcome {
	all := func(is func(PrimaryMetric) bool) bool {
		return !slices.ContainsFunc(primary, func(d PrimaryMetric) bool { return !is(d) })
	}
	decision := func(of effect.Decision) func(PrimaryMetric) bool {
		return func(d PrimaryMetric) bool { return d.Decision == of }
	}
	refutes := func(d PrimaryMetric) bool {
		return (isP99(d) || isWaitClass(d)) && (d.Decision == effect.Equivalent || d.Decision == effect.Changed && !d.Falls)
	}
	cause := slices.ContainsFunc(primary, isP99) && slices.ContainsFunc(primary, isWaitClass)
	switch {
	case all(decision(effect.Equivalent)):
		return Equivalent
	case cause && pairs >= leastPairs && all(func(d PrimaryMetric) bool { return d.Falls }):
		return Confirmed
	case cause && slices.ContainsFunc(primary, refutes):
		return NotConfirmed
	case !cause && all(decision(effect.Changed)):
		return Changed
	}
	return Undetermined
}

// isP99 and isWaitClass select the two metrics that name a cause.
func isP99(d PrimaryMetric) bool { return d.Metric == "transaction p99" }

func isWaitClass(d PrimaryMetric) bool { return strings.HasPrefix(d.Metric, spec.WaitMetric("")+" ") }

func (e Effect) sentence(a Parameters, variant string) string {
	var parts []string
	for _, d := range e.Primary {
		parts = append(parts, d.text())
	}
	pairs := len(e.Comparison.Pairing.Pairs)
	text := fmt.Sprintf("%s: with %s instead of %s, at %s %s, %s, over %s",
		e.Outcome, variant, a.Variants[0].Name, quantity.Value(a.Rate, ""), a.Unit, list(parts), quantity.Number(pairs, "pair"))
	if e.Outcome == Undetermined && pairs < effect.MinPairs(1) {
		text += fmt.Sprintf("; showing a change takes at least %d", effect.MinPairs(1))
	}
	if e.Outlier != nil {
		text += "; " + e.Outlier.sentence(e.Outcome, pairs-1)
	}
	if bottlenecks := e.Bottlenecks.text(a.Variants[0].Name, variant); bottlenecks != "" {
		text += "; " + bottlenecks
	}
	return text
}

func (d PrimaryMetric) text() string {
	if d.A == nil || d.B == nil {
		return d.Metric + " has no data"
	}
	unit := strings.ReplaceAll(d.Unit, "ms/tx", "ms per transaction")
	values := fmt.Sprintf("from %s to %s %s", quantity.Value(*d.A, ""), quantity.Value(*d.B, ""), unit)
	switch {
	case d.Decision == effect.Equivalent:
		return fmt.Sprintf("%s stayed the same (%s)", d.Metric, values)
	case d.Decision == effect.Undetermined:
		return fmt.Sprintf("%s is undetermined (%s)", d.Metric, values)
	case d.Ratio == nil:
		return fmt.Sprintf("%s fell %s", d.Metric, values)
	}
	verb, times := "rose", *d.Ratio
	if d.Falls {
		verb, times = "fell", 1 / *d.Ratio
	}
	return fmt.Sprintf("%s %s %s (%s times)", d.Metric, verb, values, quantity.Value(times, ""))
}

// sentence says what would be concluded without the outlier's pair.
func (o Outlier) sentence(outcome Outcome, pairs int) string {
	text := fmt.Sprintf("%s; without its pair %s", o.Text, o.Outcome)
	if o.Outcome == outcome {
		text = fmt.Sprintf("%s; without its pair %s all the same", o.Text, o.Outcome)
	}
	if least := effect.MinPairs(1); pairs < least {
		text += fmt.Sprintf(", as %s are too few", quantity.Number(pairs, "pair"))
	}
	var parts []string
	for _, d := range o.Primary {
		if d.Ratio != nil {
			parts = append(parts, fmt.Sprintf("%s %s times", d.Metric, quantity.OptionalValue(d.Ratio, "ratio")))
		}
	}
	if len(parts) > 0 {
		text += " (" + list(parts) + ")"
	}
	return text
}

func list(parts []string) string {
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	last := len(parts) - 1
	return strings.Join(parts[:last], ", ") + " and " + parts[last]
}

// Event is a wait event of database sessions, in the control (A) and the variant (B).
type Event struct {
	Event    string   `json:"event"`
	Class    string   `json:"class"`
	Inferred bool     `json:"inferred"`
	A        *float64 `json:"a"` // ms per transaction, median over runs; 0: never sampled
	B        *float64 `json:"b"`
}

const maxEvents = 8

// events are the wait events of the compared runs, the longest first.
func events(control, variant compare.Group, c compare.Comparison) []Event {
	type key struct {
		event, class string
		inferred     bool
	}
	values := map[key]*[2][]float64{}
	sampled := [2]int{}
	add := func(side int, g compare.Group, compared []compare.RunFact) {
		for _, r := range g.Runs {
			if !slices.ContainsFunc(compared, func(f compare.RunFact) bool { return f.Folder == r.Folder }) || r.Certificate.Waits == nil {
				continue
			}
			sampled[side]++
			for _, w := range r.Certificate.Waits {
				if w.Client != "" {
					continue // waits of a client other than the load
				}
				k := key{w.Event, w.Class, w.Inferred}
				if values[k] == nil {
					values[k] = &[2][]float64{}
				}
				if w.MsPerTransaction != nil {
					values[k][side] = append(values[k][side], *w.MsPerTransaction)
				}
			}
		}
	}
	add(0, control, c.A.Runs)
	add(1, variant, c.B.Runs)
	all := []Event{}
	for k, sides := range values {
		all = append(all, Event{k.event, k.class, k.inferred, medianOf(sides[0], sampled[0]), medianOf(sides[1], sampled[1])})
	}
	slices.SortFunc(all, func(x, y Event) int {
		return cmp.Or(cmp.Compare(y.longer(), x.longer()), cmp.Compare(x.Event, y.Event), cmp.Compare(x.Class, y.Class))
	})
	return all[:min(len(all), maxEvents)]
}

func (e Event) longer() float64 {
	return max(orZero(e.A), orZero(e.B))
}

// medianOf is the median over a number of runs, where missing values are 0; nil
// without runs.
func medianOf(values []float64, runs int) *float64 {
	if runs == 0 {
		return nil
	}
	all := append(make([]float64, max(0, runs-len(values))), values...)
	slices.Sort(all)
	return new(document.Round(effect.Median(all)))
}

// Bottlenecks are the components named by the diagnoses of the runs, the most
// frequent first.
type Bottlenecks struct {
	A []Component `json:"a"`
	B []Component `json:"b"`
}

// Component is a component, with the number of runs that name it.
type Component struct {
	Component string `json:"component"`
	Runs      int    `json:"runs" jsonschema:"minimum=1"`
}

func bottlenecks(control, variant compare.Group) Bottlenecks {
	return Bottlenecks{components(control), components(variant)}
}

func components(g compare.Group) []Component {
	all := []Component{}
	for _, r := range g.Runs {
		if b := r.Certificate.Bottleneck; b != nil {
			i := slices.IndexFunc(all, func(c Component) bool { return c.Component == b.Component })
			if i < 0 {
				i, all = len(all), append(all, Component{Component: b.Component})
			}
			all[i].Runs++
		}
	}
	slices.SortFunc(all, func(x, y Component) int {
		return cmp.Or(cmp.Compare(y.Runs, x.Runs), cmp.Compare(x.Component, y.Component))
	})
	return all
}

// text is a part of a sentence; empty if no run has a bottleneck.
func (n Bottlenecks) text(a, b string) string {
	if len(n.A)+len(n.B) == 0 {
		return ""
	}
	return fmt.Sprintf("the bottleneck with %s was %s, with %s %s", a, runsOf(n.A), b, runsOf(n.B))
}

func runsOf(all []Component) string {
	total := 0
	for _, c := range all {
		total += c.Runs
	}
	var parts []string
	for _, c := range all {
		parts = append(parts, fmt.Sprintf("%s in %d of %s", c.Component, c.Runs, quantity.Number(total, "run")))
	}
	if len(parts) == 0 {
		return "not known"
	}
	return list(parts)
}
