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

// calls answers what stubs, and the service, measured of calls to other services, and whether
// they are repeated.
type calls struct {
	comparison
	run   record.Run
	spans []record.Span
}

func (a *analysis) calls() calls { return calls{a.comparison, a.run, a.spans} }

// callsPerTransaction is the number of calls to other services per transaction of a window, as
// stubs count them or, without stubs, as the service does.
func (c calls) callsPerTransaction(w window) float64 {
	calls := downstreamCalls
	if c.known[stubCalls] {
		calls = stubCalls
	}
	if w.parts == nil {
		return 0
	}
	return w.sum[calls] / c.ended(w.sum)
}

// repeated reports whether calls are repeated in a window, which is about spans: they grew
// more than a shift of the mix of flows explains.
func (c calls) repeated(w window, spans []record.Span) bool {
	before := c.callsPerTransaction(c.base)
	return before > 0 && c.callsPerTransaction(w) >= minRetries*c.mixGrowth(spans)*before
}

// mixGrowth is the largest growth of a flow's share of all transactions since the baseline. The
// mean of all flows grows by no more through the mix alone.
func (c calls) mixGrowth(spans []record.Span) float64 {
	share := func(scenario []metric.Label, spans []record.Span) float64 {
		of, all := 0.0, 0.0
		for _, span := range spans {
			n, _ := c.run.Timeline.Sum(metric.TransactionsScheduled, scenario, span)
			of += n
			n, _ = c.run.Timeline.Sum(metric.TransactionsScheduled, nil, span)
			all += n
		}
		return of / all
	}
	largest := 1.0
	for _, s := range c.run.Timeline.Series(metric.TransactionsScheduled) {
		scenario := []metric.Label{{Key: "scenario", Value: s.Label("scenario")}}
		if growth := share(scenario, spans) / share(scenario, baseline(c.run)); growth > largest {
			largest = growth
		}
	}
	return largest
}

// retriedIn reports whether in a window, which is about spans, calls are repeated, and a queue
// of them waits in the stub, more than at the baseline.
func (c calls) retriedIn(w window, spans []record.Span) bool {
	return c.repeated(w, spans) && w.perSecond(stubQueue) >= max(minQueued, 2*c.base.perSecond(stubQueue))
}

// retried reports whether calls per transaction grew with the stub's queue: each repeated
// call takes a place in the queue, for which the next one is repeated.
func (c calls) retried() bool { return c.retriedIn(c.hold, c.spans) }

// retriesSentence says so, and whether it outlasted what began it.
func (c calls) retriesSentence() string {
	text := fmt.Sprintf("retries keep it overloaded, with %s calls per transaction, against %s at the baseline, and %s calls in its queue, against %s",
		number(c.callsPerTransaction(c.hold)), number(c.callsPerTransaction(c.base)), number(c.hold.perSecond(stubQueue)), number(c.base.perSecond(stubQueue)))
	if phase, after := c.outlasted(); phase != "" {
		text += fmt.Sprintf("; it has not recovered in the %d s after its phase %s", after, phase)
	}
	return text
}

// outlasted is the last phase of a stub that ended within or before the judged seconds, of
// which enough are left to see that calls are still repeated and queued after it, and how
// many are left; empty: none. Such an overload is metastable: what began it is over.
func (c calls) outlasted() (phase string, after int64) {
	last := int64(0)
	for _, s := range c.run.Facts.Stubs {
		for _, p := range s.Phases {
			if p.For == 0 {
				continue
			}
			end := c.at(p.End())
			var rest []record.Span
			left := int64(0)
			for _, span := range c.spans {
				if span.From = max(span.From, end); span.Seconds() > 0 {
					rest, left = append(rest, span), left+span.Seconds()
				}
			}
			if left >= minSeconds && end > last && c.retriedIn(c.window(c.sum(c.rows(c.run.Timeline, rest))), rest) {
				phase, after, last = p.Name, left, end
			}
		}
	}
	return phase, after
}

// at is the second at a time since the start of the load.
func (c calls) at(since time.Duration) int64 {
	return c.run.Facts.T0.Unix() + int64(since/time.Second)
}

// stubEvidence is what stubs measured of the calls for which transactions waited.
func (c calls) stubEvidence() (all []string) {
	base := baseline(c.run)
	for _, s := range c.run.Timeline.Series(metric.StubCallTime) {
		if s.Label("background") != "false" {
			continue
		}
		of := endpoint{c.run.Timeline, s.Label("stub"), s.Label("endpoint")}
		now, calls := of.mean(c.spans)
		if calls == 0 {
			continue
		}
		text := fmt.Sprintf("The stub %s took %s per call of %s", of.stub, ms(now), of.name)
		if before, n := of.mean(base); n > 0 {
			text += fmt.Sprintf(", against %s at the baseline", ms(before))
		}
		all = append(all, text+".")
		for _, p := range c.phasesOf(of) {
			all = append(all, c.phaseEvidence(of, p)...)
		}
	}
	if c.repeated(c.hold, c.spans) {
		all = append(all, fmt.Sprintf("The service made %s calls to other services per transaction, against %s at the baseline: it repeats calls.",
			number(c.callsPerTransaction(c.hold)), number(c.callsPerTransaction(c.base))))
	}
	if queued := c.hold.perSecond(stubQueue); queued >= minQueued {
		text := fmt.Sprintf("On average %s calls waited in the queue of a stub", number(queued))
		if c.base.parts != nil {
			text += fmt.Sprintf(", against %s at the baseline", number(c.base.perSecond(stubQueue)))
		}
		if left, all := c.work("left"), c.work(""); left > 0 {
			text += fmt.Sprintf("; %s of its work was for callers that had left", percent(left/all))
		}
		all = append(all, text+".")
	}
	return all
}

// work is the time that stubs worked on calls in the judged seconds, in ms; caller "left": on
// those whose callers had left.
func (c calls) work(caller string) (ms float64) {
	selected := []metric.Label{{Key: "background", Value: "false"}}
	if caller != "" {
		selected = append(selected, metric.Label{Key: "caller", Value: caller})
	}
	for _, span := range c.spans {
		n, _ := c.run.Timeline.Sum(metric.StubWorkTime, selected, span)
		ms += n
	}
	return ms
}

// endpoint is an endpoint of a stub.
type endpoint struct {
	line       *record.Timeline
	stub, name string
}

// mean is the mean time of its calls within spans, in ms, and their number.
func (e endpoint) mean(spans []record.Span) (ms, calls float64) {
	selected := []metric.Label{{Key: "stub", Value: e.stub}, {Key: "endpoint", Value: e.name}}
	for _, span := range spans {
		took, _ := e.line.Sum(metric.StubCallTime, selected, span)
		n, _ := e.line.Sum(metric.StubCalls, selected, span)
		ms, calls = ms+took, calls+n
	}
	if calls == 0 {
		return 0, 0
	}
	return ms / calls, calls
}

// phasesOf are the phases that change an endpoint.
func (c calls) phasesOf(e endpoint) (all []spec.StubPhase) {
	for _, s := range c.run.Facts.Stubs {
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
func (c calls) phaseEvidence(e endpoint, p spec.StubPhase) []string {
	from, to := c.at(p.From), int64(1)<<62
	if p.For > 0 {
		to = c.at(p.End())
	}
	var in, out []record.Span
	for _, span := range c.spans {
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
