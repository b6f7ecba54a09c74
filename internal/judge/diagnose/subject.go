// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"fmt"
	"math"
	"slices"
	"time"

	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
)

// subject is what is diagnosed: a run, or the flow of which the most SLOs are broken. What service
// and database measured is of all flows together, and so is the time per transaction; the
// SLOs, the windows and the baseline are those of the flow.
type subject struct {
	run     record.Run // with the frames of all flows
	traffic *record.Timeline
	verdict verdict.Verdict
	flow    string // empty: the whole run
}

func subjectOf(r record.Run, v verdict.Verdict) subject {
	i := v.FlowWithMost(broken)
	if i < 0 {
		return subject{run: r, traffic: r.Timeline, verdict: v}
	}
	f, of := v.Flows[i], r.PerFlow()[i]
	s := subject{traffic: of.Timeline, flow: f.Name, verdict: v}
	of.Timeline = r.Timeline
	s.run, s.verdict.Outcomes = of, f.Outcomes
	s.verdict.SLOs = slices.DeleteFunc(slices.Clone(v.SLOs), func(s verdict.SLO) bool { return s.Flow != f.Name })
	s.verdict.Judged, s.verdict.WindowOf = f.Judged, f.WindowOf
	s.verdict.Judged = withoutLateEnds(of, s.verdict)
	return s
}

// minShift is the change of a flow's share of all transactions, relative to the smaller one,
// from which on the mix counts as shifted (ours).
const minShift = 0.25

// mixEvidence says that the mix of flows differs between the baseline and the windows, which
// changes the mean time per transaction without any cause in the system.
func (s subject) mixEvidence() []string {
	share := func(spans []record.Span) float64 {
		return sumOver(s.traffic, metric.TransactionsScheduled, nil, spans) / sumOver(s.run.Timeline, metric.TransactionsScheduled, nil, spans)
	}
	before, now := share(baseline(s.run)), share(s.verdict.Judged)
	if math.IsNaN(before) || math.IsNaN(now) || math.Abs(now-before) < minShift*min(now, before) {
		return nil
	}
	return []string{fmt.Sprintf("The mix of flows shifted: %s is %s of the transactions, and was %s at the baseline; times are means over all flows.", s.flow, percent(now), percent(before))}
}

// withoutLateEnds are the judged spans without the first seconds after a recovery from a
// fault. Most times are counted in the second in which they end: transactions that arrived
// during the outage end there, with times that are none of the rest. They end within the
// timeout. A span that would have fewer than minSeconds left stays as it is.
func withoutLateEnds(r record.Run, v verdict.Verdict) []record.Span {
	spans := slices.Clone(v.Judged)
	late := int64(math.Ceil(float64(r.Plan.Load.Longest()) / float64(time.Second)))
	for i := 1; i < len(spans); i++ {
		if v.WindowOf[i] == v.WindowOf[i-1] && v.Judged[i].From > v.Judged[i-1].To && spans[i].Seconds() >= late+minSeconds {
			spans[i].From += late
		}
	}
	return spans
}
