// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"math"
	"slices"
	"time"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/spec"
)

// The queries of this file are about what the plan wanted, and how far the run came.

// judgedSpans are the judged windows. Those of an aborted run end at the abort; a run that
// was aborted before its first window is judged from its start.
func judgedSpans(e *evidence) (spans []record.Span) {
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
func sinceFirstWindow(e *evidence) record.Span {
	from := record.All
	for _, span := range e.spans {
		if from.From == record.All.From || span.From < from.From {
			from.From = span.From
		}
	}
	return from
}

// plannedSeconds is the length of the planned judged windows.
func (e *evidence) plannedSeconds() (n int64) {
	for _, w := range e.plan.Judged {
		n += max(0, record.SpanOf(e.Facts.T0, w).Seconds())
	}
	return n
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

// wholeLoad is the time from the start of the load to the end of the schedule.
func wholeLoad(e *evidence) record.Span {
	return record.SpanOf(e.Facts.T0, plan.Window{End: e.plan.Duration()})
}

// judgedEnd is the planned end of the last judged window, from T0.
func judgedEnd(e *evidence) time.Duration {
	end := time.Duration(0)
	for _, w := range e.plan.Judged {
		end = max(end, w.End)
	}
	return end
}

// neededEnd is the planned end of all that the SLOs judge, from T0: of the judged windows, of
// the overloads that goodput judges, and of the time until which the system must have recovered
// from each change in load, or from a fault, and stay so.
func neededEnd(e *evidence) time.Duration {
	end := judgedEnd(e)
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
			end = max(end, c.until)
		}
		if _, ok := alone.Limit(metric.RecoveryTime); ok && len(alone.Faults) > 0 {
			end = max(end, plans[i].Duration())
		}
	}
	return end
}

// beyondWindows says what remains to be judged when the judged windows have ended.
func beyondWindows(e *evidence) string {
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

// loadEnd is the unix second in which the load ended.
func loadEnd(e *evidence) int64 {
	end := e.Facts.T0.Add(e.plan.Duration()).Unix()
	if a := e.Facts.Aborted; a != nil {
		end = min(end, a.To)
	}
	if e.stoppedEarly() && !e.Facts.Ended.IsZero() {
		end = min(end, e.Facts.Ended.Unix())
	}
	return end
}

// overloads are the seconds of the overload stages that the run had; whole reports whether
// it had each of them to its end.
func overloads(e *evidence) (spans []record.Span, whole bool) {
	whole = true
	for _, s := range e.plan.Stages {
		if s.Name != plan.Overload {
			continue
		}
		span := record.SpanOf(e.Facts.T0, plan.Window{Start: s.Start, End: s.End()})
		planned := span.To
		span.To = min(span.To, loadEnd(e))
		whole = whole && span.To == planned
		if span.Seconds() > 0 {
			spans = append(spans, span)
		}
	}
	return spans, whole
}

// loadChange is a change in load from which the system has to recover.
type loadChange struct {
	metric    string        // settle_time or time_to_scale, which judges it
	stage     int           // index of the overload that ends, or of the hold that begins
	rate      float64       // rate of the step, or the highest rate of the overload, per second
	at, until time.Duration // since t0; the load rises again, or ends
}

// changesIn are the changes in the load of a flow that an SLO of it judges. Overload stages
// that follow each other are one overload. A step up is a judged window that follows a lower
// rate; a ramp to it ends where the window starts.
func changesIn(of plan.Plan, p spec.Profile) (all []loadChange) {
	_, settles := p.Limit(metric.SettleTime)
	_, scales := p.Limit(metric.TimeToScale)
	before := 0.0 // rate of the last stage that was no ramp
	overload := 0.0
	for i, s := range of.Stages {
		if s.Name == plan.Ramp {
			continue
		}
		switch {
		case s.Name == plan.Overload:
			if overload = max(overload, s.To); settles && !overloadFollows(of.Stages[i+1:]) {
				all = append(all, loadChange{metric.SettleTime, i, overload, s.End(), nextRise(of, i)})
				overload = 0
			}
		case s.Name == plan.Hold && scales && before > 0 && s.From > before:
			all = append(all, loadChange{metric.TimeToScale, i, s.To, s.Start, nextRise(of, i)})
		}
		before = s.To
	}
	return all
}

// overloadFollows reports whether the first of the stages that is no ramp is an overload.
func overloadFollows(stages []plan.Stage) bool {
	for _, s := range stages {
		if s.Name != plan.Ramp {
			return s.Name == plan.Overload
		}
	}
	return false
}

// nextRise is when, after a stage, the rate rises, from its start with a ramp; the end of
// the load if it does not.
func nextRise(of plan.Plan, stage int) time.Duration {
	rate := of.Stages[stage].To
	for _, s := range of.Stages[stage+1:] {
		if s.From > rate || s.To > s.From {
			return s.Start
		}
		rate = s.To
	}
	return of.Duration()
}
