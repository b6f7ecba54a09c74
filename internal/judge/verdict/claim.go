// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/spec"
)

// claim is the verdict as one sentence that can be quoted alone: what was shown, the
// scope, and what shared the generator's host.
func claim(e *evidence, v Verdict) string {
	name := e.Plan.Profile.Name
	rate := number(v.Rate.Target)
	if v.Rate.Lowest < v.Rate.Target {
		rate = number(v.Rate.Lowest) + " to " + rate
	}
	load := fmt.Sprintf("%s %s for %d s", rate, rateUnit(v.Rate.Unit), e.plannedSeconds())
	if n := len(e.plan.Judged); n > 1 && len(e.flows) == 0 {
		load += fmt.Sprintf(" in %d windows", n)
	}
	if rest := e.plannedSeconds() - e.seconds; rest > 0 && len(e.recovered) > 0 && e.aborted == nil {
		load += fmt.Sprintf(" (%d s of them outside of recoveries)", e.seconds)
	}
	if len(e.flows) > 0 {
		load = e.flowsText()
	}
	where := conditions(e)
	switch v.Outcome {
	case Pass:
		return fmt.Sprintf("%s sustained %s within all %d SLOs, %s (%s).", name, load, len(v.SLOs), bases(v.SLOs), where)
	case LostWrite:
		return fmt.Sprintf("%s lost %d of %d acknowledged transactions: answered as done, never persisted (%s).",
			name, e.Ledger.Missing, e.Ledger.Acknowledged, where)
	case Fail:
		if e.aborted != nil {
			return fmt.Sprintf("%s did not sustain %s: %s (%s).", name, load, e.abortText(), where)
		}
		return fmt.Sprintf("%s did not sustain %s: %s (%s).", name, load, failReason(e, v), where)
	case Inconclusive:
		return fmt.Sprintf("This run does not show whether %s sustains %s: %s (%s).", name, load, undecidedReason(v), where)
	default:
		return fmt.Sprintf("%s cannot be judged: %s (%s).", name, invalidReason(v.Rules), where)
	}
}

// flowsText is the load of each flow: "2 flows (viewers 400 to 800/s, payments 50/s) for 65 s",
// or, if they are not judged for equally long, "2 flows (viewers 800/s for 60 s, ...)".
func (e *evidence) flowsText() string {
	longest := e.plannedSeconds()
	alike := !slices.ContainsFunc(e.flows, func(f *evidence) bool { return f.plannedSeconds() != longest })
	var all []string
	for _, f := range e.flows {
		rate := number(f.plan.Target)
		if lowest := f.plan.LowestJudged(); lowest < f.plan.Target {
			rate = number(lowest) + " to " + rate
		}
		text := f.flow() + " " + rate + "/s"
		if !alike {
			text += fmt.Sprintf(" for %d s", f.plannedSeconds())
		}
		all = append(all, text)
	}
	flows := fmt.Sprintf("%d flows", len(all))
	if len(all) == 1 {
		flows = "1 flow"
	}
	flows += " (" + strings.Join(all, ", ") + ")"
	if alike {
		flows += fmt.Sprintf(" for %d s", longest)
	}
	return flows
}

func rateUnit(unit string) string {
	if unit == "rps" {
		return "requests per second"
	}
	return "transactions per second"
}

// conditions are what limits the claim.
func conditions(e *evidence) string {
	text := e.Plan.Scope + " scope"
	if shared := e.Environment.CoLocation; len(shared) > 0 {
		text += "; " + neighbours(shared) + " on one host"
	}
	if faults := e.recoveryText(func(r Recovery) bool { return r.Metric == metric.RecoveryTime }); faults != "" {
		text += "; under faults: " + faults
	}
	if changes := e.recoveryText(func(r Recovery) bool { return r.Metric != metric.RecoveryTime && !r.immediate() }); changes != "" {
		text += "; " + changes
	}
	if of := e.Rejudged; of != nil {
		text += "; re-judged with " + of.Path
	}
	return text
}

// failReason names the first failed SLO, of the flow with the most failed ones, by how much
// it failed, and counts the others. Uncompleted transactions come first: they break the latency SLOs too, which
// would suggest a slow system.
func failReason(e *evidence, v Verdict) string {
	if i := v.FlowWithMost(func(s SLO) bool { return s.Outcome == Fail }); i >= 0 {
		_, more := firstWith(v.SLOs, Fail)
		return e.flows[i].inFlow(e.flows[i].sloReason(e.flows[i].slos, more))
	}
	if first, more := firstWith(e.slos, Fail); first.Metric != "" {
		return e.sloReason(e.slos, more)
	}
	for _, r := range v.Rules { // a validity rule failed instead
		if r.Outcome == Fail {
			return r.Detail
		}
	}
	return ""
}

// sloReason is failReason for SLOs of which one failed, besides so many more.
func (e *evidence) sloReason(slos []SLO, more int) string {
	first, _ := firstWith(slos, Fail)
	if last := slos[len(slos)-1]; last.Metric == ThroughputMetric && last.Outcome == Fail {
		var counts []string
		for _, outcome := range []string{metric.Failed, metric.TimedOut, metric.Dropped} {
			if n := e.ended[outcome].n; n > 0 {
				counts = append(counts, fmt.Sprintf("%d %s", n, strings.ReplaceAll(outcome, "_", " ")))
			}
		}
		if class := whyFailed(e.whole.errors()); class != "" && e.ended[metric.Failed].n > 0 {
			counts = append(counts, "most frequent error: "+class)
		}
		return fmt.Sprintf("%d of %d transactions were not completed (%s)%s%s",
			*last.Violations, *last.Samples, strings.Join(counts, ", "), e.inWindow(last), andMore(more, "SLO"))
	}
	text := fmt.Sprintf("%s missed %s", first.Metric, first.Expression)
	if first.FailedWindow != nil { // the figures of all windows together may be within the limit
		return text + " in " + e.windowText(*first.FailedWindow) + andMore(more, "SLO")
	}
	var figures []string
	// A failed transaction violates a latency SLO however fast it was: the observed
	// latency may be within the limit.
	switch {
	case first.ObservedAtLeast != nil && first.ObservedAtMost != nil:
		figures = append(figures, fmt.Sprintf("%s to %s%s observed", number(*first.ObservedAtLeast), number(*first.ObservedAtMost), unitSuffix(first.Unit)))
	case first.ObservedAtLeast != nil:
		figures = append(figures, "at least "+number(*first.ObservedAtLeast)+unitSuffix(first.Unit)+" observed")
	case first.Observed != nil && (first.Unit != "ms" || *first.Observed >= first.Limit):
		figures = append(figures, number(*first.Observed)+unitSuffix(first.Unit)+" observed")
	}
	if first.Violations != nil && first.Metric != metric.Ledger {
		count := fmt.Sprintf("%d of %d violate it", *first.Violations, *first.Samples)
		if first.Cleared != nil && *first.Cleared < *first.Violations {
			count += fmt.Sprintf(" (%d without the generator's own delay)", *first.Cleared)
		}
		if first.Allowed != nil {
			count += fmt.Sprintf(", %d allowed", *first.Allowed)
		}
		figures = append(figures, count)
	} else if first.AtLeast != nil {
		figures = append(figures, fmt.Sprintf("at least %d of %d violate it, %d allowed", *first.AtLeast, *first.Samples, *first.Allowed))
	}
	if len(figures) > 0 {
		text += ", " + strings.Join(figures, ", ")
	}
	return text + andMore(more, "SLO")
}

// inWindow names the window that failed by itself.
func (e *evidence) inWindow(s SLO) string {
	if s.FailedWindow == nil {
		return ""
	}
	return ", too many in " + e.windowText(*s.FailedWindow)
}

// windowText names a judged window, counted from 1: "window 2 of 3 (15:57:27 to 15:58:07 UTC)".
func (e *evidence) windowText(number int) string {
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
	}
	text := fmt.Sprintf("has between %d and %d violations of %d samples", valueOrZero(s.AtLeast), valueOrZero(s.AtMost), *s.Samples)
	if s.Violations != nil {
		text = fmt.Sprintf("has %d violations of %d samples", *s.Violations, *s.Samples)
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

func valueOrZero(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
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
