package k6

import (
	"slices"
	"time"

	"assay.dev/assay/internal/load/arrivals"
	"assay.dev/assay/internal/load/mark"
	"assay.dev/assay/internal/observe/metric"
)

// examples chooses the transactions that become exemplars, so that they can be looked up
// in the system under test by their trace. Of each frame and scenario these are the
// slowest one and the slowest whose trace is sampled, and one for each reason for which an
// example is due. Their number does not grow with the load, and however many transactions
// fail, a worker holds those of the current frames only.
type examples struct {
	given map[reason]*given
}

// reason is why a transaction is worth looking up.
type reason struct {
	series  int // series of the durations of the scenario's transactions
	outcome arrivals.Outcome
	kind    reasonKind
	number  int // the SLO, or the series of the class
}

type reasonKind uint8

const (
	byOutcome reasonKind = iota // it did not complete
	bySLO                       // it, or one of its requests, violates an SLO
	byClass                     // its first error is of a class
)

// given are the examples of a reason so far.
type given struct {
	number int
	next   time.Duration // when the next one is due, since t0
}

// firstGiven is how many examples of a reason there are before they become rarer.
const firstGiven = 8

// due reports whether an example of a reason is due: the first ones after a second each,
// then four after twice as long, and so on. There are about 20 in a minute and 45 in an
// hour, spread over the time in which the reason occurs.
func (e *examples) due(r reason, now time.Duration) bool {
	g := e.given[r]
	return g == nil || now >= g.next
}

// give notes an example of a reason.
func (e *examples) give(r reason, now time.Duration) {
	g := e.given[r]
	if g == nil {
		g = &given{}
		e.given[r] = g
	}
	g.number++
	const doubledAfter, most = 4, 20
	doubled := max(0, (g.number-firstGiven)/doubledAfter)
	g.next = now + time.Second<<min(doubled, most)
}

// kept are the exemplars of one series in one second, so far.
type kept struct {
	slowest, sampled metric.Exemplar   // without a trace: none
	due              []metric.Exemplar // at most mostDue
}

// mostDue bounds the examples of a frame and scenario, where a script names a class for
// each error.
const mostDue = 50

// all lists them, each once.
func (k *kept) all() (all []metric.Exemplar) {
	if k == nil {
		return nil
	}
	for _, e := range append([]metric.Exemplar{k.slowest, k.sampled}, k.due...) {
		known := slices.ContainsFunc(all, func(o metric.Exemplar) bool { return o.TraceID == e.TraceID && o.Nanos == e.Nanos })
		if !known && e.TraceID != (mark.TraceID{}) {
			all = append(all, e)
		}
	}
	return all
}

// example keeps a transaction in its bucket, if it is worth it: its duration is of the
// series.
func (a *aggregate) example(b *bucket, series int, t *arrivals.Transaction, outcome arrivals.Outcome, v *vu) {
	trace, traced := t.Trace.Trace()
	if !traced {
		return // it cannot be looked up
	}
	k := b.examples[series]
	if k == nil {
		k = &kept{}
		if b.examples == nil {
			b.examples = map[int]*kept{}
		}
		b.examples[series] = k
	}
	class := -1
	if v.erred {
		class = v.class
	}
	latency := milliseconds(t.Latency)
	slowest := k.slowest.TraceID == (mark.TraceID{}) || latency > k.slowest.Value
	sampled := trace.Sampled && (k.sampled.TraceID == (mark.TraceID{}) || latency > k.sampled.Value)
	reasons := a.reasons(series, outcome, v, class)
	due := len(k.due) < mostDue && slices.ContainsFunc(reasons, func(r reason) bool { return a.examples.due(r, a.now) })
	if !slowest && !sampled && !due {
		return
	}
	e := metric.Exemplar{
		TraceID: trace.ID, Nanos: a.common.Add(t.Due).UnixNano(), Value: latency,
		Labels: a.describe(outcome, trace.Sampled, v, class),
	}
	if slowest {
		k.slowest = e
	}
	if sampled {
		k.sampled = e
	}
	if due {
		k.due = append(k.due, e)
		for _, r := range reasons {
			a.examples.give(r, a.now)
		}
	}
}

// reasons are those of a transaction with an error of this class, or none: -1. They are
// valid until the next call.
func (a *aggregate) reasons(series int, outcome arrivals.Outcome, v *vu, class int) []reason {
	all := a.scratch[:0]
	if outcome != arrivals.Completed {
		all = append(all, reason{series, outcome, byOutcome, 0})
	}
	for _, i := range v.violated {
		all = append(all, reason{series, outcome, bySLO, i})
	}
	if class >= 0 {
		all = append(all, reason{series, outcome, byClass, class})
	}
	a.scratch = all
	return all
}

func (a *aggregate) describe(outcome arrivals.Outcome, sampled bool, v *vu, class int) []metric.Label {
	var labels []metric.Label
	if outcome != arrivals.Completed {
		labels = append(labels, metric.Label{Key: metric.ExemplarOutcome, Value: metric.Outcomes[outcome]})
	}
	if class >= 0 {
		labels = append(labels, metric.Label{Key: metric.ExemplarError, Value: a.index.series[class].Label("class")})
	}
	if sampled {
		labels = append(labels, metric.Label{Key: metric.ExemplarSampled, Value: "true"})
	}
	var ids []string
	for _, i := range v.violated {
		ids = append(ids, a.index.slos[i].ID())
	}
	return append(labels, metric.ViolatesLabels(ids)...)
}

// noteViolation notes that the VU's transaction violates an SLO.
func (v *vu) noteViolation(slo int) {
	if !slices.Contains(v.violated, slo) {
		v.violated = append(v.violated, slo)
	}
}

// noteError notes the class of an error, by its series; the first one counts.
func (v *vu) noteError(class int) {
	if !v.erred {
		v.erred, v.class = true, class
	}
}
