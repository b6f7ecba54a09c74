// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/rulebook"
	"assay.dev/assay/internal/spec"
)

// minWindow is the shortest hold of a certificate, in seconds.
const minWindow = int64(rulebook.CertificateHold / time.Second)

// removeStop is the advice on a run that was stopped.
const removeStop = "Remove what stopped it, then run again."

// complete: the judged windows ran to their end, and all else that the SLOs judge.
func complete(e *evidence) Rule {
	ran, planned := e.Facts.Ended.Sub(e.Facts.T0), e.whole.seconds
	judged := time.Duration(0)
	for _, w := range e.plan.Judged {
		judged += max(0, min(w.End, ran)-w.Start)
	}
	r := Rule{Outcome: Pass, Rule: certificate.Rule{
		Observed: pointer(judged.Seconds()),
		Limit:    pointer(float64(planned)),
		Detail:   "the judged windows ran to their end",
	}}
	why, advice := e.stopReason(), removeStop
	if worker := e.stopper(); e.isLost(worker) {
		why, advice = worker+" was lost", rulebook.See(rulebook.WorkerLost)
	}
	if e.aborted != nil {
		r.Detail = "the run was " + e.abortText()
		r.Advice = "Find out why the system fails under this load, then run again."
		if e.guarded() {
			r.Advice = "Find out how this load harms what the condition protects, then run again."
		}
		r.Limitation = r.Detail
		return r
	}
	switch {
	case e.Facts.T0.IsZero():
		r.Observed, r.Outcome, r.Detail = nil, Invalid, "the load never started"
	case planned == 0:
		r.Outcome, r.Detail = Invalid, "the plan judges no window"
	case ran < e.judgedEnd():
		r.Outcome = Invalid
		r.Detail = fmt.Sprintf("the run ended after %s of the %d judged seconds", number(judged.Seconds()), planned)
	case ran < e.neededEnd():
		r.Outcome = Invalid
		r.Detail = fmt.Sprintf("the run ended %s s after its start, %s", number(ran.Seconds()), e.beyondWindows())
	case e.stoppedEarly():
		r.Detail = "the run was stopped after its judged windows"
		if e.Facts.Aborted != nil {
			r.Detail += ": " + why
			r.Limitation = r.Detail
		}
	}
	if r.Outcome == Invalid {
		r.Advice = "Run again, to the end of the hold window."
		if why != "" {
			r.Detail += ": " + why
			r.Advice = advice
		}
	}
	return r
}

// openLoop: every slot of the schedule occurred, and latencies count from the
// schedule, for which there is one lag observation per slot.
func openLoop(e *evidence) Rule {
	e = e.whole
	planned, lags := e.plan.JudgedArrivals(), int64(e.lag.Count())
	if e.aborted != nil {
		planned = e.scheduled.n // in a truncated window only the lag observations can be checked
	}
	r := Rule{Outcome: passOrInvalid(e.scheduled.found && e.scheduled.n == planned && lags == planned), Rule: certificate.Rule{
		Observed: toFloat(e.scheduled.pointer()),
		Limit:    pointer(float64(planned)),
	}}
	if e.plan.Closed {
		r.Outcome, r.Detail = Invalid, "in the closed model transactions wait for others to end, so that latencies omit a system's stalls"
		r.Advice = "Certify with a rate: assay certify " + e.Plan.Profile.Name + "."
		return r
	}
	if !e.scheduled.found {
		r.Detail = "no worker reported its schedule"
		return r
	}
	r.Detail = fmt.Sprintf("%d of %d planned arrivals occurred, %d with a measured lag", e.scheduled.n, planned, lags)
	return r
}

// windowLength: a certificate holds its target for 600 s; a shorter run is a smoke.
// Time at a lower rate does not count.
func windowLength(e *evidence) Rule {
	held := int64(e.plan.AtTarget() / time.Second)
	r := Rule{Outcome: Pass, Rule: certificate.Rule{
		Observed: pointer(float64(held)),
		Limit:    pointer(float64(minWindow)),
		Detail:   fmt.Sprintf("%d s judged", e.seconds),
	}}
	if held != e.plannedSeconds() {
		r.Detail += fmt.Sprintf(", %d s of it at the target rate", held)
	}
	switch {
	case held >= minWindow:
	case e.Plan.Scope != spec.ScopeCertificate:
		r.Limit = nil
		r.Limitation = fmt.Sprintf("%s scope: %s, a certificate needs %d s", e.Plan.Scope, r.Detail, minWindow)
		r.Detail += ": a " + e.Plan.Scope + ", too short to certify"
	default:
		r.Outcome = Invalid
		r.Detail += ", too short for a certificate"
	}
	return r
}

// warmUp: the time before the first judged window is excluded, and shown.
func warmUp(e *evidence) Rule {
	first := time.Duration(math.MaxInt64)
	for _, w := range e.plan.Judged {
		first = min(first, w.Start)
	}
	warm := time.Duration(0)
	for _, s := range e.plan.Stages {
		if s.Name == plan.Warmup {
			warm = max(warm, s.End())
		}
	}
	r := Rule{Outcome: Pass, Rule: certificate.Rule{Limit: pointer(warm.Seconds())}}
	if len(e.plan.Judged) == 0 {
		r.Outcome, r.Detail = Invalid, "the plan judges no window"
		return r
	}
	r.Observed = pointer(first.Seconds())
	r.Detail = fmt.Sprintf("the first %s s are excluded, including %s s of warm-up", number(first.Seconds()), number(warm.Seconds()))
	if first < warm {
		r.Outcome = Invalid
		r.Detail = fmt.Sprintf("the judged window starts at %s s, within the warm-up of %s s", number(first.Seconds()), number(warm.Seconds()))
	}
	if first == 0 {
		r.Limitation = "no warm-up: the judged window includes the cold start"
	}
	return r
}

// accounted: every scheduled transaction has exactly one outcome, in each second of
// the whole run, and the SLOs of the transaction count all of them.
func accounted(e *evidence) Rule {
	r := Rule{Outcome: Invalid, Rule: certificate.Rule{Limit: pointer(0.0)}}
	scheduled := e.Timeline.BySecond(metric.TransactionsScheduled, nil)
	ended := e.Timeline.BySecond(metric.Transactions, nil)
	if len(scheduled) == 0 {
		r.Detail = "no transaction was scheduled"
		return r
	}
	total, off, seconds := 0.0, 0.0, 0
	for _, second := range allSeconds(scheduled, ended) {
		total += scheduled[second]
		if diff := math.Abs(scheduled[second] - ended[second]); diff > 0 {
			off += diff
			seconds++
		}
	}
	switch {
	case off > 0:
		r.Detail = fmt.Sprintf("%s transactions in %d seconds have no outcome or more than one", number(off), seconds)
	case !e.plan.Closed && !e.stoppedEarly() && !e.endedAtLook() && int64(total) != e.plan.Arrivals(), e.endedAtLook() && int64(total) < e.plan.Arrivals():
		off = math.Abs(total - float64(e.plan.Arrivals()))
		r.Detail = fmt.Sprintf("%s transactions were scheduled, the plan has %d", number(total), e.plan.Arrivals())
	default:
		off, r.Detail = uncounted(e)
	}
	r.Observed, r.Outcome = &off, passOrInvalid(off == 0)
	if off == 0 {
		r.Detail = fmt.Sprintf("each of %s scheduled transactions has one outcome", number(total))
	}
	return r
}

func allSeconds(maps1, maps2 map[int64]float64) []int64 {
	all := maps.Clone(maps1)
	maps.Copy(all, maps2)
	return slices.Sorted(maps.Keys(all))
}

// uncounted compares the number of samples of the transaction's latency with the
// schedule: a failed or dropped transaction without a sample would not count as a
// violation.
func uncounted(e *evidence) (off float64, detail string) {
	if n := int64(e.distribution(metric.TransactionDuration, nil).all.Count()); n != e.scheduled.n {
		return math.Abs(float64(n - e.scheduled.n)),
			fmt.Sprintf("%d transactions of the judged windows have a latency, %d were scheduled", n, e.scheduled.n)
	}
	for _, s := range e.Plan.Profile.WholeSLOs() {
		if !s.OfTransactions() || s.Aggregate == spec.Rate {
			continue
		}
		if n := e.tally(metric.Judged, label("slo", s.ID())); n.found && n.n != e.scheduled.n {
			return math.Abs(float64(n.n - e.scheduled.n)),
				fmt.Sprintf("%s counts %d transactions, %d were scheduled", s.ID(), n.n, e.scheduled.n)
		}
	}
	return 0, ""
}
