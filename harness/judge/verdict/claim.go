package verdict

import (
	"fmt"
	"strings"

	"assay/harness/judge/stats"
	"assay/harness/observe/metric"
	"assay/harness/spec"
)

// claim is the verdict as one sentence that may stand alone: what was shown,
// on what scope, and what stood beside the generator.
func claim(e *evidence, v Verdict) string {
	name := e.Plan.Profile.Name
	rate := number(v.Rate.Target)
	if v.Rate.Lowest < v.Rate.Target {
		rate = number(v.Rate.Lowest) + " to " + rate
	}
	load := fmt.Sprintf("%s %s for %d s", rate, rateUnit(v.Rate.Unit), e.plannedSeconds())
	if n := len(e.plan.Judged); n > 1 {
		load += fmt.Sprintf(" in %d windows", n)
	}
	where := conditions(e)
	switch v.Outcome {
	case Pass:
		return fmt.Sprintf("%s sustained %s within all %d SLOs%s (%s).", name, load, len(v.SLOs), e.confidence(v.SLOs), where)
	case LostWrite:
		return fmt.Sprintf("%s lost %d of %d acknowledged transactions: answered as done, never persisted (%s).",
			name, e.Ledger.Missing, e.Ledger.Acknowledged, where)
	case Fail:
		if e.aborted != nil {
			return fmt.Sprintf("%s did not sustain %s: %s (%s).", name, load, e.abortText(), where)
		}
		return fmt.Sprintf("%s did not sustain %s: %s (%s).", name, load, broken(e, v), where)
	case Inconclusive:
		return fmt.Sprintf("This run cannot tell whether %s sustains %s: %s (%s).", name, load, undecided(v), where)
	default:
		return fmt.Sprintf("%s may not be judged: %s (%s).", name, invalidity(v.Rules), where)
	}
}

func rateUnit(unit string) string {
	if unit == "rps" {
		return "requests a second"
	}
	return "transactions a second"
}

// conditions limit the claim.
func conditions(e *evidence) string {
	text := e.Plan.Scope + " scope"
	if shared := e.Environment.CoLocation; len(shared) > 0 {
		text += "; " + neighbours(shared) + " on one host"
	}
	if of := e.Rejudged; of != nil {
		text += "; re-judged with " + of.Path
	}
	return text
}

// broken names the first SLO that failed and by how much, and counts the rest.
// Where transactions were left undone that comes first: it breaks the latency
// SLOs too, whose names would mislead.
func broken(e *evidence, v Verdict) string {
	slos := v.SLOs
	first, more := pick(slos, Fail)
	if first.Metric == "" { // a rule that the system broke
		for _, r := range v.Rules {
			if r.Outcome == Fail {
				return r.Detail
			}
		}
	}
	if last := slos[len(slos)-1]; last.Metric == ThroughputMetric && last.Outcome == Fail {
		var how []string
		for _, outcome := range []string{metric.Failed, metric.TimedOut, metric.Dropped} {
			if n := e.ended[outcome].n; n > 0 {
				how = append(how, fmt.Sprintf("%d %s", n, strings.ReplaceAll(outcome, "_", " ")))
			}
		}
		return fmt.Sprintf("%d of %d transactions were not completed (%s)%s%s",
			*last.Violations, *last.Samples, strings.Join(how, ", "), e.inWindow(last), andMore(more, "SLO"))
	}
	text := fmt.Sprintf("%s missed %s", first.Metric, first.Expression)
	if first.FailedWindow != nil { // what was seen of all windows together would only mislead
		return fmt.Sprintf("%s in window %d of %d%s", text, *first.FailedWindow, len(e.spans), andMore(more, "SLO"))
	}
	var by []string
	// A fast failure breaks a latency SLO too; its time would only mislead.
	if first.Observed != nil && (first.Unit != "ms" || *first.Observed >= first.Limit) {
		by = append(by, number(*first.Observed)+unitSuffix(first.Unit)+" observed")
	}
	if first.Violations != nil && first.Metric != spec.LedgerMetric {
		count := fmt.Sprintf("%d of %d violate it", *first.Violations, *first.Samples)
		if first.Allowed != nil {
			count += fmt.Sprintf(", %d may", *first.Allowed)
		}
		by = append(by, count)
	} else if first.AtLeast != nil {
		by = append(by, fmt.Sprintf("at least %d of %d violate it, %d may", *first.AtLeast, *first.Samples, *first.Allowed))
	}
	if len(by) > 0 {
		text += ", " + strings.Join(by, ", ")
	}
	return text + andMore(more, "SLO")
}

// inWindow says which window failed by itself.
func (e *evidence) inWindow(s SLO) string {
	if s.FailedWindow == nil {
		return ""
	}
	return fmt.Sprintf(", too many in window %d of %d", *s.FailedWindow, len(e.spans))
}

// undecided names the first SLO that the run cannot tell, and why.
func undecided(v Verdict) string {
	first, more := pick(v.SLOs, Inconclusive)
	if first.Metric == "" {
		for _, r := range v.Rules {
			if r.Outcome == Inconclusive {
				return r.Detail
			}
		}
	}
	text := fmt.Sprintf("%s %s", first.Metric, first.Expression)
	switch {
	case first.Effective != nil && *first.Effective < *first.Needed:
		text += " has " + first.effective()
	case first.AtLeast != nil:
		text += fmt.Sprintf(" has between %d and %d violations of %d samples", *first.AtLeast, *first.AtMost, *first.Samples)
		if first.Allowed != nil {
			text += fmt.Sprintf(", %d may be", *first.Allowed)
		}
	case first.Samples == nil:
		text += " has no data"
	default:
		text += fmt.Sprintf(" is not decided by %d violations of %d samples", *first.Violations, *first.Samples)
		if first.Allowed != nil {
			text += fmt.Sprintf(", %d may be", *first.Allowed)
		}
		if first.DesignEffect != nil && *first.DesignEffect > 1 {
			text += fmt.Sprintf(", with a design effect of %s", number(*first.DesignEffect))
		}
	}
	if more > 0 {
		text += fmt.Sprintf("; %d more undecided", more)
	}
	return text
}

// Calibration has looked at windows of a minute and more, and at percentiles
// from p95 on (docs/calibration.md): elsewhere no confidence is claimed.
const (
	calibratedSeconds = 60
	calibratedShare   = 0.05
)

// confidence is said where tests have decided, all of them as they were
// calibrated.
func (e *evidence) confidence(slos []SLO) string {
	tested := false
	for _, s := range slos {
		tested = tested || s.Effective != nil
	}
	if !tested || e.uncalibrated() != "" {
		return ""
	}
	return fmt.Sprintf(", at %s confidence", percent(stats.Confidence))
}

// uncalibrated tells why no confidence can be stated; "" where it can be.
func (e *evidence) uncalibrated() string {
	if e.seconds < calibratedSeconds {
		return fmt.Sprintf("the confidence of a verdict on less than %d s is not known", calibratedSeconds)
	}
	for _, s := range e.Plan.Profile.SLOs {
		const least = calibratedShare + 1e-9 // 1 - 0.95 is a little more
		if s.Sampled() && s.Aggregate != spec.Max && allowedShare(s) > least {
			return fmt.Sprintf("the confidence of a verdict on %s %s, which lets more than %s violate it, is not known",
				s.MetricText(), s.Expression, percent(calibratedShare))
		}
	}
	return ""
}

func pick(slos []SLO, o Outcome) (first SLO, more int) {
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

// invalidity tells the first broken rule; the others would bury it.
func invalidity(rules []Rule) string {
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
