// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"math"
	"slices"

	"assay.dev/assay/internal/judge/stats"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/spec"
)

// evidence is a record in some of its seconds: what arrived, was counted and was sampled.
type evidence struct {
	record.Run
	plan    plan.Plan
	limits  spec.Rules    // the profile's, else the rulebook's; none is nil
	aborted *record.Abort // the abort that cut short what is judged (neededEnd); nil: none

	spans    []record.Span // judged windows, or what is left of them without recoveries from faults
	windowOf []int         // judged window of each span, from 0
	seconds  int64         // length of all spans
	windows  []int         // index of the judged window of each judged second

	// Transactions scheduled within the spans.
	scheduled tally
	ended     map[string]tally // by outcome
	lag       *metric.Hist     // generator lag, one observation a slot

	distributions map[string]*distribution // those that were read, by series

	ownOnly bool // without the samples of other senders than the workers
}

// part is what is judged by itself, a flow or the whole run, and what was concluded of it.
type part struct {
	*evidence
	whole     *evidence       // on all judged windows, with the seconds of recoveries
	total     plan.Plan       // plan of all flows together: what the system carries
	flows     []*part         // flows of a profile that has some; nil otherwise
	common    []spec.SLO      // of a flow: those of the whole run, which judge it too
	recovered []Recovery      // from each fault of the profile, and from its end; from changes in load
	slos      []SLO           // SLOs of the part alone
	classes   []class         // classes of the samples of SLOs on several
	checked   map[string]Rule // the rules about a flow, by id; nil: of a run that has flows
}

// tally is a sum that may have no data. A counter that stayed at 0 may be missing from
// the frames. Where its companion has data (samples for violations, scheduled slots
// for late ones) it is 0 rather than missing, because the rule frames detects lost
// frames.
type tally struct {
	n     int64
	found bool
}

// pointer is nil where there is no data.
func (t tally) pointer() *int64 {
	if !t.found {
		return nil
	}
	return &t.n
}

// withCompanion is t, or 0 where t has no data and its companion has.
func (t tally) withCompanion(companion tally) tally {
	return tally{n: t.n, found: t.found || companion.found}
}

func newEvidence(r record.Run) *evidence {
	if r.Timeline == nil {
		r.Timeline = record.NewTimeline()
	}
	e := &evidence{Run: r, plan: r.Plan.Load, limits: r.Plan.Profile.Limits()}
	if a := r.Facts.Aborted; a != nil && a.To < r.Facts.T0.Add(neededEnd(e)).Unix() {
		e.aborted = a
	}
	e.restrict(judgedSpans(e), nil)
	return e
}

// gather collects the evidence on a run, and on each of its flows, which recover each by
// themselves. total is the load of all flows together.
func gather(r record.Run, total plan.Plan) *part {
	e := newEvidence(r)
	p := &part{evidence: e, whole: e, total: total}
	if r.Plan.Profile.Named() {
		for _, of := range r.PerFlow() {
			flow := gather(of, total)
			flow.common = r.Plan.Profile.WholeSLOs()
			p.flows = append(p.flows, flow)
		}
		return p
	}
	var cuts []recovering
	if p.recovered, cuts = recoveries(e); len(cuts) > 0 {
		rest := *e
		p.evidence = &rest
		rest.restrict(withoutRecovery(e, e.spans, cuts))
	}
	return p
}

// perFlow are the parts that have recoveries and a throughput of their own.
func (p *part) perFlow() []*part {
	if len(p.flows) == 0 {
		return []*part{p}
	}
	return p.flows
}

// inFlow is a text about the flow that the evidence is on.
func (e *evidence) inFlow(text string) string { return spec.NameOf(e.flow(), text) }

// flow names the flow that the evidence is on; empty: on the whole run.
func (e *evidence) flow() string { return e.Flow }

// restrict sets the seconds that the evidence is about. windowOf is the judged window of
// each span; nil: each is a window.
func (e *evidence) restrict(spans []record.Span, windowOf []int) {
	e.spans, e.windowOf, e.seconds, e.windows, e.distributions = spans, nil, 0, nil, map[string]*distribution{}
	for i, span := range spans {
		window := i
		if windowOf != nil {
			window = windowOf[i]
		}
		e.windowOf = append(e.windowOf, window)
		e.seconds += max(0, span.Seconds())
		for range span.Seconds() {
			e.windows = append(e.windows, window)
		}
	}
	e.scheduled = e.tally(metric.TransactionsScheduled, nil)
	reported := e.tally(metric.Transactions, nil)
	e.ended = map[string]tally{}
	for _, outcome := range metric.Outcomes {
		e.ended[outcome] = e.tally(metric.Transactions, label("outcome", outcome)).withCompanion(reported)
	}
	e.lag = e.distribution(metric.GeneratorLag, nil).all
}

// at is the i-th of the seconds that the evidence is about.
func (e *evidence) at(i int) record.Span {
	for _, span := range e.spans {
		if n := int(max(0, span.Seconds())); i >= n {
			i -= n
			continue
		}
		return record.Span{From: span.From + int64(i), To: span.From + int64(i) + 1}
	}
	return record.Span{}
}

// windowCount is the number of judged windows.
func (e *evidence) windowCount() int {
	if len(e.windowOf) == 0 {
		return 0
	}
	return slices.Max(e.windowOf) + 1
}

// alpha is the level of the inferred test at this look.
func alpha(e *evidence) float64 {
	return stats.Looks(max(1, len(e.plan.Looks))).Alpha(max(1, e.Facts.Look))
}

func label(key, value string) []metric.Label { return []metric.Label{{Key: key, Value: value}} }

// sum adds up a counter over the judged windows.
func (e *evidence) sum(name string, selector []metric.Label) (total float64, found bool) {
	for _, span := range e.spans {
		v, ok := e.Timeline.Sum(name, selector, span)
		total, found = total+v, found || ok
	}
	return total, found
}

// sumOf is sum for one source.
func (e *evidence) sumOf(source, name string, selector []metric.Label) (total float64, found bool) {
	for _, span := range e.spans {
		v, ok := e.Timeline.SumOf(source, name, selector, span)
		total, found = total+v, found || ok
	}
	return total, found
}

// gaugeValues are the readings of a source's gauge in the spans, in order.
func gaugeValues(line *record.Timeline, source, name string, spans ...record.Span) (all []float64) {
	for _, span := range spans {
		values, ok := line.Gauge(name, nil, source, span)
		for i, v := range values {
			if ok[i] {
				all = append(all, v)
			}
		}
	}
	return all
}

// tally is sum for a counter of events.
func (e *evidence) tally(name string, selector []metric.Label) tally {
	v, found := e.sum(name, selector)
	if !finite(v) {
		return tally{} // the rule frames reports it
	}
	return tally{n: int64(math.Round(v)), found: found}
}

// notCompleted are the outcomes other than completed. Each violates every latency SLO of the
// transaction.
var notCompleted = []string{metric.Failed, metric.TimedOut, metric.Dropped}

// notCompleted counts the transactions that were not completed.
func (e *evidence) notCompleted() (n int64) {
	for _, outcome := range notCompleted {
		n += e.ended[outcome].n
	}
	return n
}

// notCompletedBySecond is notCompleted for each judged second, of some transactions.
func (e *evidence) notCompletedBySecond(selector []metric.Label) []float64 {
	all := make([]float64, len(e.windows))
	for _, outcome := range notCompleted {
		for i, n := range e.counts(metric.Transactions, append(label("outcome", outcome), selector...)) {
			all[i] += n
		}
	}
	return all
}

// streams are what each source sent, by its name.
func (e *evidence) streams() map[string]record.Source {
	all := map[string]record.Source{}
	for _, s := range e.Timeline.Sources() {
		all[s.Name] = s
	}
	return all
}

// ratio is a over b; nil where b is 0 or there is no data.
func ratio(a, b tally) *float64 {
	if !a.found || !b.found || b.n == 0 {
		return nil
	}
	return new(float64(a.n) / float64(b.n))
}
