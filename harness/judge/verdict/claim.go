package verdict

import (
	"fmt"
	"strings"

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
		return fmt.Sprintf("%s sustained %s within all %d SLOs, %s (%s).", name, load, len(v.SLOs), bases(v.SLOs), where)
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
		if first.Cleared != nil && *first.Cleared < *first.Violations {
			count += fmt.Sprintf(" (%d without the generator's share)", *first.Cleared)
		}
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
	text := first.name() + " " + first.why()
	if more > 0 {
		text += fmt.Sprintf("; %d more undecided", more)
	}
	return text
}

// why tells why an SLO is undecided, as a verb and what follows.
func (s SLO) why() string {
	if s.Samples == nil {
		return "has no data"
	}
	if s.Effective != nil {
		if share, text := s.enough(); share < 1 {
			return "has " + text
		}
	}
	text := fmt.Sprintf("has between %d and %d violations of %d samples", deref(s.AtLeast), deref(s.AtMost), *s.Samples)
	if s.Violations != nil {
		text = fmt.Sprintf("has %d violations of %d samples", *s.Violations, *s.Samples)
	}
	if s.Allowed != nil {
		text += fmt.Sprintf(", %d allowed", *s.Allowed)
	}
	switch {
	case s.CloseWindow != nil:
		return text + fmt.Sprintf(", but more than its share in window %d", *s.CloseWindow)
	case s.Basis == spec.Counted:
		return text + ": too close to the limit to call"
	case s.DesignEffect != nil && *s.DesignEffect > 1:
		return text + fmt.Sprintf(": too close to the limit to call at a design effect of %s", number(*s.DesignEffect))
	}
	return text
}

func deref(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
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
