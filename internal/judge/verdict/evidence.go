// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"math"
	"slices"
	"time"

	"assay.dev/assay/internal/judge/stats"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/spec"
)

// evidence is a record, with the sums over its judged windows that several rules and
// SLOs use.
type evidence struct {
	record.Run
	plan     plan.Plan
	limits   spec.Rules    // the profile's, else the rulebook's; none is nil
	spans    []record.Span // judged windows, or what is left of them without recoveries from faults
	windowOf []int         // judged window of each span, from 0
	seconds  int64         // of all spans

	// Transactions scheduled within the spans.
	scheduled tally
	ended     map[string]tally // by outcome
	lag       *metric.Hist     // generator lag, one observation a slot

	windows       []int // index of the judged window of each judged second
	distributions map[string]*distribution

	ownOnly bool      // without the samples of other senders than the workers
	own     *evidence // the same, ownOnly, once it was needed

	aborted *record.Abort // the abort that cut short what is judged (neededEnd); nil: none

	flows     []*evidence // of a profile that has some; nil otherwise
	total     plan.Plan   // of all flows together: what the system carries
	recovered []Recovery  // from each fault of the profile, and from its end; from changes in load
	whole     *evidence   // on all judged windows, with the seconds of recoveries; itself if none were cut out

	streams map[string]record.Source
	losses  []loss          // workers that did not end by themselves, earliest first
	slos    []SLO           // set once judged
	classes []class         // set once judged: single endpoints of SLOs on several
	checked map[string]Rule // set once judged: the rules about a flow, by id; nil: of a run that has flows
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

func gather(r record.Run) *evidence {
	if r.Timeline == nil {
		r.Timeline = record.NewTimeline()
	}
	e := &evidence{Run: r, plan: r.Plan.Load, total: r.Plan.Load, limits: r.Plan.Profile.Limits(), streams: map[string]record.Source{}}
	if a := r.Facts.Aborted; a != nil && a.To < r.Facts.T0.Add(e.neededEnd()).Unix() {
		e.aborted = a
	}
	for _, s := range r.Timeline.Sources() {
		e.streams[s.Name] = s
	}
	e.losses = e.findLosses()
	e.restrict(e.judged(), nil)
	e.whole = e
	if r.Plan.Profile.Named() { // each of them recovers by itself
		for _, of := range r.PerFlow() {
			f := gather(of)
			f.total, f.whole.total = e.total, e.total
			e.flows = append(e.flows, f)
		}
		return e
	}
	var cuts []recovering
	e.recovered, cuts = e.recoveries()
	if len(cuts) > 0 {
		whole := *e
		e.whole = &whole
		e.restrict(e.withoutRecovery(e.spans, cuts))
	}
	return e
}

// perFlow is the evidence on each flow; on the whole run if it has none.
func (e *evidence) perFlow() []*evidence {
	if len(e.flows) == 0 {
		return []*evidence{e}
	}
	return e.flows
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

// windowCount is the number of judged windows.
func (e *evidence) windowCount() int {
	if len(e.windowOf) == 0 {
		return 0
	}
	return slices.Max(e.windowOf) + 1
}

// judged are the judged windows. Those of an aborted run end at the abort; a run that
// was aborted before its first window is judged from its start.
func (e *evidence) judged() (spans []record.Span) {
	end := int64(math.MaxInt64)
	if a := e.aborted; a != nil {
		end = a.To
	}
	for _, w := range e.plan.Judged {
		span := record.SpanOf(e.Facts.T0, w)
		if span.To = min(span.To, end); span.To > span.From || end == math.MaxInt64 {
			spans = append(spans, span)
		}
	}
	if len(spans) == 0 && e.aborted != nil {
		spans = append(spans, record.Span{From: e.Facts.T0.Unix(), To: end})
	}
	return spans
}

// sinceFirstWindow is the time from the first judged window on.
func (e *evidence) sinceFirstWindow() record.Span {
	from := record.All
	for _, span := range e.spans {
		if from.From == record.All.From || span.From < from.From {
			from.From = span.From
		}
	}
	return from
}

// alpha is the level of the inferred test at this look.
func (e *evidence) alpha() float64 {
	return stats.Looks(max(1, len(e.plan.Looks))).Alpha(max(1, e.Facts.Look))
}

// plannedSeconds is the length of the planned judged windows.
func (e *evidence) plannedSeconds() (n int64) {
	for _, w := range e.plan.Judged {
		n += max(0, record.SpanOf(e.Facts.T0, w).Seconds())
	}
	return n
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

// tally is sum for a counter of events.
func (e *evidence) tally(name string, selector []metric.Label) tally {
	v, found := e.sum(name, selector)
	if !finite(v) {
		return tally{} // the rule frames reports it
	}
	return tally{n: int64(math.Round(v)), found: found}
}

// notCompleted counts failed, timed out and dropped transactions. Each violates every
// latency SLO of the transaction.
func (e *evidence) notCompleted() int64 {
	return e.ended[metric.Failed].n + e.ended[metric.TimedOut].n + e.ended[metric.Dropped].n
}

// notCompletedBySecond is notCompleted for each judged second.
func (e *evidence) notCompletedBySecond() []float64 {
	all := make([]float64, len(e.windows))
	for _, outcome := range []string{metric.Failed, metric.TimedOut, metric.Dropped} {
		for i, n := range e.counts(metric.Transactions, label("outcome", outcome)) {
			all[i] += n
		}
	}
	return all
}

// workers are the names of the streams of the plan's workers.
func (e *evidence) workers() []string {
	names := make([]string, len(e.plan.Workers))
	for i := range names {
		names[i] = metric.WorkerSource(i)
	}
	return names
}

// stopReason is why the run ended before its plan did; empty: it did not.
func (e *evidence) stopReason() string {
	if e.Facts.Stopped == "" && e.Facts.Interrupted {
		return "interrupted"
	}
	return e.Facts.Stopped
}

// stoppedEarly reports whether the run ended before its plan did.
func (e *evidence) stoppedEarly() bool { return e.stopReason() != "" }

// endedAtLook reports whether an earlier look than the last decided the run, when the
// hold had already gone on towards the next look.
func (e *evidence) endedAtLook() bool { return e.Facts.Look > 0 && e.Facts.Look < len(e.plan.Looks) }

// judgedEnd is the planned end of the last judged window, from T0.
func (e *evidence) judgedEnd() time.Duration {
	end := time.Duration(0)
	for _, w := range e.plan.Judged {
		end = max(end, w.End)
	}
	return end
}

// neededEnd is the planned end of all that the SLOs judge, from T0: of the judged windows, of
// the overloads that goodput judges, and of the time in which the system must have recovered
// from each change in load, with that for which the SLOs must then hold.
func (e *evidence) neededEnd() time.Duration {
	end := e.judgedEnd()
	plans := e.plan.PerFlow()
	for i, f := range e.Plan.Profile.Flows {
		if slices.ContainsFunc(f.SLOs, func(s spec.SLO) bool { return s.Metric == metric.Goodput }) {
			for _, s := range plans[i].Stages {
				if s.Name == plan.Overload {
					end = max(end, s.End())
				}
			}
		}
		alone := e.Plan.Profile.Alone(f)
		for _, c := range changesIn(plans[i], alone) {
			limit, _ := alone.Limit(c.metric)
			end = max(end, min(c.at+limit+spec.Held, c.until))
		}
	}
	return end
}

// beyondWindows says what remains to be judged when the judged windows have ended.
func (e *evidence) beyondWindows() string {
	var names []string
	for _, s := range e.Plan.Profile.AllSLOs() {
		if s.OfStages() && !slices.Contains(names, s.Metric) {
			names = append(names, s.Metric)
		}
	}
	if len(names) == 0 {
		return "after its judged windows"
	}
	return "after its judged windows but before the end of what is judged by " + joinAnd(names)
}

func pointer[T any](v T) *T { return &v }

// ratio is a over b; nil where b is 0 or there is no data.
func ratio(a, b tally) *float64 {
	if !a.found || !b.found || b.n == 0 {
		return nil
	}
	return pointer(float64(a.n) / float64(b.n))
}
