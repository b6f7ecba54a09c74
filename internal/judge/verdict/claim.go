// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"assay.dev/assay/internal/judge/stats"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/spec"
)

// claim is the verdict as one sentence that can be quoted alone: what was shown, the
// scope, and what shared the generator's host.
func claim(p *part, v Verdict, weighing []string) string {
	name, where := p.Plan.Profile.Name, conditions(p, weighing)
	unit := "transactions per second"
	if v.Rate.Unit == "rps" {
		unit = "requests per second"
	}
	load := fmt.Sprintf("%s %s for %d s", rateText(v.Rate.Lowest, v.Rate.Target), unit, p.plannedSeconds())
	if n := len(p.plan.Judged); n > 1 && len(p.flows) == 0 {
		load += fmt.Sprintf(" in %d windows", n)
	}
	if rest := p.plannedSeconds() - p.seconds; rest > 0 && len(p.recovered) > 0 && p.aborted == nil {
		load += fmt.Sprintf(" (%d s of them outside of recoveries)", p.seconds)
	}
	if len(p.flows) > 0 {
		load = flowsText(p)
	}
	text := ""
	switch v.Outcome {
	case Pass:
		return fmt.Sprintf("%s%s sustained %s within all %d SLOs, %s (%s).", countedFirst(p, v.SLOs), name, load, len(v.SLOs), bases(v.SLOs, p.seconds), where)
	case LostWrite:
		text = fmt.Sprintf("%s lost %d of %d acknowledged transactions: answered as done, never persisted", name, lostWrites(p.Run), p.Ledger.Acknowledged)
	case Fail:
		text = fmt.Sprintf("%s did not sustain %s: %s", name, load, failReason(p, v))
	case Inconclusive:
		text = fmt.Sprintf("This run does not show whether %s sustains %s: %s", name, load, undecidedReason(v))
	default:
		text = fmt.Sprintf("%s cannot be judged: %s", name, invalidReason(v.Rules))
	}
	return text + " (" + where + ")."
}

// rateText is "800", or "400 to 800" where the rate changes.
func rateText(lowest, target float64) string {
	if lowest < target {
		return number(lowest) + " to " + number(target)
	}
	return number(target)
}

// flowsText is the load of each flow: "2 flows (viewers 400 to 800/s, payments 50/s) for 65 s",
// or, if they are not judged for equally long, "2 flows (viewers 800/s for 60 s, ...)".
func flowsText(p *part) string {
	longest := p.plannedSeconds()
	alike := !slices.ContainsFunc(p.flows, func(f *part) bool { return f.plannedSeconds() != longest })
	var all []string
	for _, f := range p.flows {
		text := f.flow() + " " + rateText(f.plan.LowestJudged(), f.plan.Target) + "/s"
		if !alike {
			text += fmt.Sprintf(" for %d s", f.plannedSeconds())
		}
		all = append(all, text)
	}
	text := fmt.Sprintf("%d flows (%s)", len(all), strings.Join(all, ", "))
	if len(all) == 1 {
		text = "1 flow (" + all[0] + ")"
	}
	if alike {
		text += fmt.Sprintf(" for %d s", longest)
	}
	return text
}

// conditions are what limits the claim.
func conditions(p *part, weighing []string) string {
	text := p.Plan.Scope + " scope"
	if shared := p.Environment.CoLocation; len(shared) > 0 {
		text += "; " + neighbours(shared) + " on one host"
	}
	if faults := recoveryText(p, func(r Recovery) bool { return r.Metric == metric.RecoveryTime }); faults != "" {
		text += "; under faults: " + faults
	}
	if changes := recoveryText(p, func(r Recovery) bool { return r.Metric != metric.RecoveryTime && !r.immediate() }); changes != "" {
		text += "; " + changes
	}
	if len(weighing) > 0 {
		text += "; " + joinFirst(weighing, 3)
	}
	if notPassed(p.Facts.Earlier) > 0 {
		text += "; " + attemptText(p)
	}
	if of := p.Rejudged; of != nil {
		text += "; re-judged with " + of.Path
	}
	return text
}

// recoveryText says what the system recovered from, of some disturbances, and how fast;
// empty: there were none.
func recoveryText(p *part, of func(Recovery) bool) string {
	var texts []string
	for _, f := range p.perFlow() {
		for _, r := range f.recovered {
			if of(r) {
				texts = append(texts, f.inFlow(r.text()))
			}
		}
	}
	return joinFirst(texts, 4)
}

// failReason names the first failed SLO, of the flow with the most failed ones, by how much
// it failed, and counts the others. An abort is the reason of all that.
func failReason(p *part, v Verdict) string {
	if p.aborted != nil {
		return abortText(p.evidence)
	}
	if i := v.FlowWithMost(func(s SLO) bool { return s.Outcome == Fail }); i >= 0 {
		_, more := firstWith(v.SLOs, Fail)
		return p.flows[i].inFlow(sloReason(p.flows[i], more))
	}
	if first, more := firstWith(p.slos, Fail); first.Metric != "" {
		return sloReason(p, more)
	}
	for _, r := range v.Rules { // a validity rule failed instead
		if r.Outcome == Fail {
			return r.Detail
		}
	}
	return ""
}

// sloReason is failReason for a part of which one SLO failed, besides so many more.
// Uncompleted transactions come first: they break the latency SLOs too, which would suggest a
// slow system.
func sloReason(p *part, more int) string {
	first, _ := firstWith(p.slos, Fail)
	if last := p.slos[len(p.slos)-1]; last.Metric == ThroughputMetric && last.Outcome == Fail {
		return uncompletedText(p, last) + andMore(more, "SLO")
	}
	text := fmt.Sprintf("%s missed %s", first.Metric, first.Expression)
	if first.FailedWindow != nil { // the figures of all windows together may be within the limit
		return text + " in " + windowText(p.evidence, *first.FailedWindow) + andMore(more, "SLO")
	}
	if figures := first.figures(); len(figures) > 0 {
		text += ", " + strings.Join(figures, ", ")
	}
	if len(first.Seconds) > 0 && first.Metric == metric.Goodput {
		text += fmt.Sprintf(", too few in the %d s from %s UTC", first.Seconds[0].Seconds(), time.Unix(first.Seconds[0].From, 0).UTC().Format(time.TimeOnly))
	}
	return text + andMore(more, "SLO")
}

// uncompletedText says how many transactions were not completed, and why.
func uncompletedText(p *part, throughput SLO) string {
	var counts []string
	for _, outcome := range notCompleted {
		if n := p.ended[outcome].n; n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, strings.ReplaceAll(outcome, "_", " ")))
		}
	}
	if class := whyFailed(describeErrors(p.whole)); class != "" && p.ended[metric.Failed].n > 0 {
		if class == metric.ErrorScript {
			class += exception(p.evidence)
		}
		counts = append(counts, "most frequent error: "+class)
	}
	text := fmt.Sprintf("%d of %d transactions were not completed (%s)", *throughput.Violations, *throughput.Samples, strings.Join(counts, ", "))
	if throughput.FailedWindow != nil {
		text += ", too many in " + windowText(p.evidence, *throughput.FailedWindow)
	}
	return text
}

// figures say by how much an SLO failed. A failed transaction violates a latency SLO however
// fast it was: the observed latency may be within the limit.
func (s SLO) figures() (all []string) {
	unit := ""
	if s.Unit == "ms" {
		unit = " ms"
	}
	switch {
	case s.ObservedAtLeast != nil && s.ObservedAtMost != nil:
		all = append(all, fmt.Sprintf("%s to %s%s observed", number(*s.ObservedAtLeast), number(*s.ObservedAtMost), unit))
	case s.ObservedAtLeast != nil:
		all = append(all, "at least "+number(*s.ObservedAtLeast)+unit+" observed")
	case s.Observed != nil && (s.Unit != "ms" || *s.Observed >= s.Limit):
		all = append(all, number(*s.Observed)+unit+" observed")
	}
	if s.Violations != nil && s.Metric != metric.Ledger {
		count := fmt.Sprintf("%d of %d violate it", *s.Violations, *s.Samples)
		if s.Cleared != nil && *s.Cleared < *s.Violations {
			count += fmt.Sprintf(" (%d without the generator's own delay)", *s.Cleared)
		}
		if s.Allowed != nil {
			count += fmt.Sprintf(", %d allowed", *s.Allowed)
		}
		all = append(all, count)
	} else if s.AtLeast != nil {
		all = append(all, fmt.Sprintf("at least %d of %d violate it, %d allowed", *s.AtLeast, *s.Samples, *s.Allowed))
	}
	return all
}

// windowText names a judged window, counted from 1: "window 2 of 3 (15:57:27 to 15:58:07 UTC)".
func windowText(e *evidence, number int) string {
	var all record.Span
	for i, span := range e.spans {
		switch {
		case e.windowOf[i] != number-1:
		case all.To == 0:
			all = span
		default:
			all.To = span.To
		}
	}
	clock := func(second int64) string { return time.Unix(second, 0).UTC().Format(time.TimeOnly) }
	return fmt.Sprintf("window %d of %d (%s to %s UTC)", number, e.windowCount(), clock(all.From), clock(all.To))
}

// undecidedReason names the first SLO that the run leaves undecided, and why.
func undecidedReason(v Verdict) string {
	first, more := firstWith(v.SLOs, Inconclusive)
	if first.Metric == "" {
		for _, r := range v.Rules {
			if r.Outcome == Inconclusive {
				return r.Detail
			}
		}
	}
	text := first.Name() + " " + first.undecidedReason()
	if more > 0 {
		text += fmt.Sprintf("; %d more undecided", more)
	}
	return text
}

// undecidedReason says why an SLO is undecided; the SLO's name is the subject.
func (s SLO) undecidedReason() string {
	if s.Samples == nil {
		return "has no data"
	}
	if s.Doubt != "" {
		return "holds, but " + s.Doubt
	}
	if s.Effective != nil {
		if share, text := s.enough(); share < 1 {
			return "has " + text
		}
		if text := s.tooShort(); text != "" {
			return text
		}
	}
	text := ""
	switch {
	case s.Violations != nil:
		text = fmt.Sprintf("has %d violations of %d samples", *s.Violations, *s.Samples)
	case s.AtLeast != nil && s.AtMost != nil:
		text = fmt.Sprintf("has between %d and %d violations of %d samples", *s.AtLeast, *s.AtMost, *s.Samples)
	}
	if s.Allowed != nil {
		text += fmt.Sprintf(", %d allowed", *s.Allowed)
	}
	switch {
	case s.CloseWindow != nil:
		return text + fmt.Sprintf(", but too many in window %d", *s.CloseWindow)
	case s.Basis == spec.Counted:
		return text + ": too close to the limit to call"
	case s.DesignEffect != nil && *s.DesignEffect > 1:
		return text + fmt.Sprintf(": too close to the limit to call at a design effect of %s", number(*s.DesignEffect))
	}
	return text
}

// tooShort says why nothing can be inferred from the run, although its samples would be enough;
// empty: something can.
func (s SLO) tooShort() string {
	switch {
	case s.PlannedBasis != spec.Inferred || s.LongEnough:
		return ""
	case s.Lumped:
		return fmt.Sprintf("cannot be inferred: other senders report less often than every %d s", stats.MinBatch)
	case s.Correlation != nil:
		return fmt.Sprintf("cannot be inferred from so short a run: neighbouring samples are correlated over %s s", number(*s.Correlation))
	}
	return "cannot be inferred from so short a run"
}

// firstWith is the first SLO with an outcome, and the number of further ones. Its
// Metric is empty where there is none.
func firstWith(slos []SLO, o Outcome) (first SLO, more int) {
	more = -1
	for _, s := range slos {
		if s.Outcome == o {
			if more++; more == 0 {
				first = s
			}
		}
	}
	return first, max(more, 0)
}

// invalidReason names the first broken rule and counts the others.
func invalidReason(rules []Rule) string {
	text, more := "", -1
	for _, r := range rules {
		if r.Outcome == Invalid {
			if more++; more == 0 {
				text = r.Detail
			}
		}
	}
	return text + andMore(more, "rule")
}

func andMore(n int, noun string) string {
	switch {
	case n <= 0:
		return ""
	case n == 1:
		return "; 1 more " + noun + " is broken"
	}
	return fmt.Sprintf("; %d more %ss are broken", n, noun)
}
