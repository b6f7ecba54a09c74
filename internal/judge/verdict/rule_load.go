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
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/rulebook"
	"assay.dev/assay/internal/spec"
)

// minWindow is the shortest hold of a certificate, in seconds.
const minWindow = int64(rulebook.CertificateHold / time.Second)

// removeStop is the advice on a run that was stopped.
const removeStop = "Remove what stopped it, then run again."

// complete: the judged windows ran to their end, and all else that the SLOs judge.
func complete(p *part) Rule {
	ran, planned := p.Facts.Ended.Sub(p.Facts.T0), p.whole.seconds
	judged := time.Duration(0)
	for _, w := range p.plan.Judged {
		judged += max(0, min(w.End, ran)-w.Start)
	}
	r := Rule{Rule: certificate.Rule{
		Observed: new(judged.Seconds()),
		Limit:    new(float64(planned)),
		Detail:   "the judged windows ran to their end",
	}}
	why, advice := p.stopReason(), removeStop
	if worker := stopper(p.evidence); isLost(p.evidence, worker) {
		why, advice = worker+" was lost", rulebook.See(rulebook.WorkerLost)
	}
	if p.aborted != nil {
		r.Detail = "the run was " + abortText(p.evidence)
		r.Advice = "Find out why the system fails under this load, then run again."
		if abortGuards(p.evidence) {
			r.Advice = "Find out how this load harms what the condition protects, then run again."
		}
		r.Limitation = r.Detail
		return r
	}
	problem := ""
	switch {
	case p.Facts.T0.IsZero():
		r.Observed, problem = nil, "the load never started"
	case planned == 0:
		problem = "the plan judges no window"
	case ran < judgedEnd(p.evidence):
		problem = fmt.Sprintf("the run ended after %s of the %d judged seconds", number(judged.Seconds()), planned)
	case ran < neededEnd(p.evidence):
		problem = fmt.Sprintf("the run ended %s s after its start, %s", number(ran.Seconds()), beyondWindows(p.evidence))
	default:
		afterWindows(p.evidence, &r)
	}
	if problem != "" {
		r.Outcome, r.Detail, r.Advice = Invalid, problem, "Run again, to the end of the hold window."
		if why != "" {
			r.Detail, r.Advice = problem+": "+why, advice
		}
	}
	return r
}

// openLoop: every slot of the schedule occurred, and latencies count from the
// schedule, for which there is one lag observation per slot.
func openLoop(p *part) Rule {
	e := p.whole
	planned, lags := e.plan.JudgedArrivals(), int64(e.lag.Count())
	if e.aborted != nil {
		planned = e.scheduled.n // in a truncated window only the lag observations can be checked
	}
	r := Rule{Outcome: passOrInvalid(e.scheduled.found && e.scheduled.n == planned && lags == planned), Rule: certificate.Rule{
		Observed: toFloat(e.scheduled.pointer()),
		Limit:    new(float64(planned)),
		Detail:   fmt.Sprintf("%d of %d planned arrivals occurred, %d with a measured lag", e.scheduled.n, planned, lags),
	}}
	switch {
	case e.plan.Closed:
		r.Outcome, r.Detail = Invalid, "in the closed model transactions wait for others to end, so that latencies omit a system's stalls"
		r.Advice = "Certify with a rate: assay certify " + e.Plan.Profile.Name + "."
	case !e.scheduled.found:
		r.Detail = "no worker reported its schedule"
	}
	return r
}

// windowLength: a certificate holds its target for 600 s; a shorter run is a smoke. Time at a
// lower rate does not count, nor do the seconds of recoveries, which the other SLOs do not judge.
// A higher rate is judged too, or is an overload. What failed in a shorter time is a failure.
func windowLength(p *part) Rule {
	held, planned := p.heldTarget(), int64(p.plan.AtTarget()/time.Second)
	r := Rule{Rule: certificate.Rule{
		Observed: new(float64(held)),
		Limit:    new(float64(minWindow)),
		Detail:   fmt.Sprintf("%d s judged", p.seconds),
	}}
	if held != p.seconds {
		r.Detail += fmt.Sprintf(", %d s of it at the target rate", held)
	}
	if held < planned && p.aborted == nil {
		r.Detail += fmt.Sprintf(", without %d s of recoveries", planned-held)
	}
	peak := p.total.UnjudgedPeak()
	switch {
	case peak >= 0 && !failed(p):
		r.Outcome, r.Detail = Invalid, stageName(p.total, peak)+" is above every judged rate, and nothing judges it"
		r.Advice = `Judge the stage ("judge": true), or declare it as an overload ("overload": true) with an SLO on goodput or settle_time.`
	case p.Plan.Scope != spec.ScopeCertificate && held >= min(minHold, planned):
		if held < minWindow {
			r.Limit = nil
			r.Limitation = fmt.Sprintf("%s scope: %s, a certificate needs %d s", p.Plan.Scope, r.Detail, minWindow)
			r.Detail += ": a " + p.Plan.Scope + ", too short to certify"
		}
	case p.Plan.Scope != spec.ScopeCertificate:
		r.Limit = new(float64(minHold))
		r.tooShort(p, "for any verdict", minHold+planned-held)
	case held < minWindow:
		r.tooShort(p, "for a certificate", minWindow+planned-held)
	}
	return r
}

// minHold is the shortest time that can be judged at all, in seconds.
const minHold = int64(spec.MinHold / time.Second)

// tooShort makes a run INVALID that is too short, unless it failed: it would have to hold its target
// for so many seconds.
func (r *Rule) tooShort(p *part, of string, needed int64) {
	if r.Detail += ", too short " + of; p.aborted != nil || failed(p) {
		r.Limitation = r.Detail
		return
	}
	r.Outcome = Invalid
	if p.whole.seconds > p.seconds {
		r.Advice = fmt.Sprintf("Hold the target for at least %d s, so that enough of them are judged besides the recoveries.", needed)
	}
}

// heldTarget is for how many of the judged seconds the plan holds the target.
func (p *part) heldTarget() (seconds int64) {
	if p.aborted != nil {
		return int64(p.plan.AtTarget() / time.Second) // what it would have held
	}
	for _, s := range p.plan.Stages {
		if s.From != p.plan.Target || s.To != p.plan.Target {
			continue
		}
		stage := record.SpanOf(p.Facts.T0, plan.Window{Start: s.Start, End: s.End()})
		for _, span := range p.spans {
			seconds += max(0, min(span.To, stage.To)-max(span.From, stage.From))
		}
	}
	return seconds
}

// warmUp: the time before the first judged window is excluded, and shown.
func warmUp(p *part) Rule {
	warm := 0.0
	for _, s := range p.plan.Stages {
		if s.Name == plan.Warmup {
			warm = max(warm, s.End().Seconds())
		}
	}
	r := Rule{Rule: certificate.Rule{Limit: &warm}}
	if len(p.plan.Judged) == 0 {
		r.Outcome, r.Detail = Invalid, "the plan judges no window"
		return r
	}
	first := math.Inf(1)
	for _, w := range p.plan.Judged {
		first = min(first, w.Start.Seconds())
	}
	r.Observed = &first
	r.Detail = fmt.Sprintf("the first %s s are excluded, including %s s of warm-up", number(first), number(warm))
	if first < warm {
		r.Outcome = Invalid
		r.Detail = fmt.Sprintf("the judged window starts at %s s, within the warm-up of %s s", number(first), number(warm))
	}
	if first == 0 {
		r.Limitation = "no warm-up: the judged window includes the cold start"
	}
	return r
}

// accounted: every scheduled transaction has exactly one outcome, in each second of
// the whole run, and the SLOs of the transaction count all of them.
func accounted(p *part) Rule {
	scheduled := p.Timeline.BySecond(metric.TransactionsScheduled, nil)
	ended := p.Timeline.BySecond(metric.Transactions, nil)
	if len(scheduled) == 0 {
		return Rule{Outcome: Invalid, Rule: certificate.Rule{
			Limit:  new(0.0),
			Detail: "no transaction was scheduled",
		}}
	}
	total, off, seconds := 0.0, 0.0, 0
	all := maps.Clone(scheduled)
	maps.Copy(all, ended)
	for _, second := range slices.Sorted(maps.Keys(all)) {
		total += scheduled[second]
		if diff := math.Abs(scheduled[second] - ended[second]); diff > 0 {
			off += diff
			seconds++
		}
	}
	// An earlier look than the last may have decided the run, when the hold had already gone
	// on towards the next look.
	planned, atLook := p.plan.Arrivals(), p.Facts.Look > 0 && p.Facts.Look < len(p.plan.Looks)
	detail := ""
	switch {
	case off > 0:
		detail = fmt.Sprintf("%s transactions in %d seconds have no outcome or more than one", number(off), seconds)
	case !p.plan.Closed && !p.stoppedEarly() && !atLook && int64(total) != planned, atLook && int64(total) < planned:
		off = math.Abs(total - float64(planned))
		detail = fmt.Sprintf("%s transactions were scheduled, the plan has %d", number(total), planned)
	default:
		off, detail = uncounted(p.evidence)
	}
	if off == 0 {
		detail = fmt.Sprintf("each of %s scheduled transactions has one outcome", number(total))
	}
	return Rule{Outcome: passOrInvalid(off == 0), Rule: certificate.Rule{
		Observed: &off,
		Limit:    new(0.0),
		Detail:   detail,
	}}
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
