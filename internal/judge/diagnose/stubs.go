// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"fmt"
	"time"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/spec"
)

// minRetries is how many times as many calls per transaction as at the baseline show that
// calls are repeated, and minQueued how many must wait in the stub for them to be a cause of
// its overload, rather than a consequence of its latency (ours).
const (
	minRetries = 1.5
	minQueued  = 1
)

// callsPerTransaction is the number of calls to other services per transaction of a window, as
// stubs count them or, without stubs, as the service does.
func (a *analysis) callsPerTransaction(w window) float64 {
	calls := downstreamCalls
	if a.known[stubCalls] {
		calls = stubCalls
	}
	if w.parts == nil {
		return 0
	}
	return w.sum[calls] / a.ended(w.sum)
}

// repeated reports whether calls are repeated in a window, which is about spans: they grew
// more than a shift of the mix of flows explains.
func (a *analysis) repeated(w window, spans []record.Span) bool {
	before := a.callsPerTransaction(a.base)
	return before > 0 && a.callsPerTransaction(w) >= minRetries*a.mixGrowth(spans)*before
}

// mixGrowth is the largest growth of a flow's share of all transactions since the baseline. The
// mean of all flows grows by no more through the mix alone.
func (a *analysis) mixGrowth(spans []record.Span) float64 {
	share := func(scenario []metric.Label, spans []record.Span) float64 {
		line := a.run.Timeline
		return sumOver(line, metric.TransactionsScheduled, scenario, spans) / sumOver(line, metric.TransactionsScheduled, nil, spans)
	}
	largest := 1.0
	for _, s := range a.run.Timeline.Series(metric.TransactionsScheduled) {
		scenario := []metric.Label{{Key: "scenario", Value: s.Label("scenario")}}
		if growth := share(scenario, spans) / share(scenario, baseline(a.run)); growth > largest {
			largest = growth
		}
	}
	return largest
}

// retriedIn reports whether in a window, which is about spans, calls are repeated, and a queue
// of them waits in the stub, more than at the baseline: each repeated call takes a place in
// the queue, for which the next one is repeated.
func (a *analysis) retriedIn(w window, spans []record.Span) bool {
	return a.repeated(w, spans) && w.perSecond(stubQueue) >= max(minQueued, 2*a.base.perSecond(stubQueue))
}

// retriesSentence says so, and whether it outlasted what began it.
func (a *analysis) retriesSentence() string {
	text := fmt.Sprintf("retries keep it overloaded, with %s calls per transaction, against %s at the baseline, and %s calls in its queue, against %s",
		number(a.callsPerTransaction(a.hold)), number(a.callsPerTransaction(a.base)), number(a.hold.perSecond(stubQueue)), number(a.base.perSecond(stubQueue)))
	if phase, after := a.outlasted(); phase != "" {
		text += fmt.Sprintf("; it has not recovered in the %d s after its phase %s", after, phase)
	}
	return text
}

// outlasted is the last phase of a stub that ended within or before the judged seconds, of
// which enough are left to see that calls are still repeated and queued after it, and how
// many are left; empty: none. Such an overload is metastable: what began it is over.
func (a *analysis) outlasted() (phase string, after int64) {
	last := int64(0)
	for _, s := range a.run.Facts.Stubs {
		for _, p := range s.Phases {
			if p.For == 0 {
				continue
			}
			end := a.at(p.End())
			var rest []record.Span
			left := int64(0)
			for _, span := range a.spans {
				if span.From = max(span.From, end); span.Seconds() > 0 {
					rest, left = append(rest, span), left+span.Seconds()
				}
			}
			if left >= minSeconds && end > last && a.retriedIn(a.window(a.sum(a.rows(a.run.Timeline, rest))), rest) {
				phase, after, last = p.Name, left, end
			}
		}
	}
	return phase, after
}

// at is the second at a time since the start of the load.
func (a *analysis) at(since time.Duration) int64 {
	return a.run.Facts.T0.Unix() + int64(since/time.Second)
}

// stubEvidence is what stubs measured of the calls for which transactions waited.
func (a *analysis) stubEvidence() (all []string) {
	base := baseline(a.run)
	for _, s := range a.run.Timeline.Series(metric.StubCallTime) {
		if s.Label("background") != "false" {
			continue
		}
		of := endpoint{a.run.Timeline, s.Label("stub"), s.Label("endpoint")}
		now, calls := of.mean(a.spans)
		if calls == 0 {
			continue
		}
		text := fmt.Sprintf("The stub %s took %s per call of %s", of.stub, ms(now), of.name)
		if before, n := of.mean(base); n > 0 {
			text += fmt.Sprintf(", against %s at the baseline", ms(before))
		}
		all = append(all, text+".")
		for _, p := range a.phasesOf(of) {
			all = append(all, a.phaseEvidence(of, p)...)
		}
	}
	if a.repeated(a.hold, a.spans) {
		all = append(all, fmt.Sprintf("The service made %s calls to other services per transaction, against %s at the baseline: it repeats calls.",
			number(a.callsPerTransaction(a.hold)), number(a.callsPerTransaction(a.base))))
	}
	if queued := a.hold.perSecond(stubQueue); queued >= minQueued {
		text := fmt.Sprintf("On average %s calls waited in the queue of a stub", number(queued))
		if a.base.parts != nil {
			text += fmt.Sprintf(", against %s at the baseline", number(a.base.perSecond(stubQueue)))
		}
		if left, all := a.work("left"), a.work(""); left > 0 {
			text += fmt.Sprintf("; %s of its work was for callers that had left", percent(left/all))
		}
		all = append(all, text+".")
	}
	return all
}

// work is the time that stubs worked on calls in the judged seconds, in ms; caller "left": on
// those whose callers had left.
func (a *analysis) work(caller string) float64 {
	selected := []metric.Label{{Key: "background", Value: "false"}}
	if caller != "" {
		selected = append(selected, metric.Label{Key: "caller", Value: caller})
	}
	return sumOver(a.run.Timeline, metric.StubWorkTime, selected, a.spans)
}

// endpoint is an endpoint of a stub.
type endpoint struct {
	line       *record.Timeline
	stub, name string
}

// mean is the mean time of its calls within spans, in ms, and their number.
func (e endpoint) mean(spans []record.Span) (ms, calls float64) {
	selected := []metric.Label{{Key: "stub", Value: e.stub}, {Key: "endpoint", Value: e.name}}
	if calls = sumOver(e.line, metric.StubCalls, selected, spans); calls == 0 {
		return 0, 0
	}
	return sumOver(e.line, metric.StubCallTime, selected, spans) / calls, calls
}

// phasesOf are the phases that change an endpoint.
func (a *analysis) phasesOf(e endpoint) (all []spec.StubPhase) {
	for _, s := range a.run.Facts.Stubs {
		for _, p := range s.Phases {
			if s.Name == e.stub && p.Concerns(e.name) {
				all = append(all, p)
			}
		}
	}
	return all
}

// phaseEvidence compares the judged seconds in a phase with the others; none if the phase
// has no part in them.
func (a *analysis) phaseEvidence(e endpoint, p spec.StubPhase) []string {
	from, to := a.at(p.From), int64(1)<<62
	if p.For > 0 {
		to = a.at(p.End())
	}
	var in, out []record.Span
	for _, span := range a.spans {
		in = append(in, record.Span{From: max(span.From, from), To: min(span.To, to)})
		out = append(out, record.Span{From: span.From, To: min(span.To, from)}, record.Span{From: max(span.From, to), To: span.To})
	}
	during, calls := e.mean(in)
	if calls == 0 {
		return nil
	}
	clock := func(second int64) string { return time.Unix(second, 0).UTC().Format(time.TimeOnly) }
	text := fmt.Sprintf("Its phase %s began at %s UTC, %.0f s after the start of the load", p.Name, clock(from), p.From.Seconds())
	if p.For > 0 {
		text += fmt.Sprintf(", and lasted until %s", clock(to))
	}
	text += fmt.Sprintf(": %s per call in it", ms(during))
	if others, n := e.mean(out); n > 0 {
		text += fmt.Sprintf(", %s in the other judged seconds", ms(others))
	}
	return []string{text + "."}
}
