package search

import (
	"slices"
	"time"

	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/rulebook"
)

// Judge sets the trial's result from its verdict.
func (p *Probe) Judge(v verdict.Verdict) {
	p.Result, p.Verdict, p.Claim, p.Decisive = resultOf(v), v.Outcome.String(), v.Claim, decisive(v)
}

func resultOf(v verdict.Verdict) Result {
	switch v.Outcome {
	case verdict.Pass:
		return Clear
	case verdict.Fail, verdict.LostWrite:
		return Broken
	case verdict.Inconclusive:
		if has(v, verdict.Inconclusive, rulebook.Samples) {
			return Scarce
		}
		return Close
	}
	return invalidResult(v)
}

// invalidResult is the result of an INVALID trial. If only the rule "steady" is
// broken, the generator was fine and the system's latency drifted towards an SLO's
// limit: Close.
func invalidResult(v verdict.Verdict) Result {
	starved, steady := false, true
	for _, r := range v.Rules {
		switch {
		case r.Outcome != verdict.Invalid || r.ID == rulebook.Steady:
		case rulebook.Blames(r.ID) == rulebook.Generator:
			starved, steady = true, false
		default:
			return Void
		}
	}
	for _, s := range v.SLOs {
		if s.Outcome == verdict.Invalid {
			return Void
		}
	}
	switch {
	case starved:
		return Starved
	case steady && has(v, verdict.Invalid, rulebook.Steady):
		return Close
	}
	return Void
}

// has reports whether a rule of the verdict has an outcome.
func has(v verdict.Verdict, o verdict.Outcome, rule string) bool {
	return slices.ContainsFunc(v.Rules, func(r verdict.Rule) bool { return r.ID == rule && r.Outcome == o })
}

// decisive is the abort condition that protected others, the first SLO, or else the first
// rule, with the outcome of the verdict. A PASS has none.
func decisive(v verdict.Verdict) *Decisive {
	switch v.Outcome {
	case verdict.Pass:
		return nil
	case verdict.LostWrite: // whether or not the profile has an SLO for it
		missing, limit := float64(v.Ledger.Missing), 0.0
		return &Decisive{Kind: "slo", Name: "ledger missing==0", Observed: &missing, Limit: &limit, Unit: "count"}
	}
	if a := v.Aborted; v.Outcome == verdict.Fail && a != nil && a.Truncated && !a.SLO {
		return &Decisive{Kind: "abort", Name: a.Condition + " " + a.Expression, Limit: &a.Limit, Unit: a.Unit, Detail: "to protect " + a.Protects}
	}
	for _, s := range v.SLOs {
		if s.Outcome == v.Outcome {
			limit := s.Limit
			return &Decisive{Kind: "slo", Name: s.Name(), Observed: s.Observed, Limit: &limit, Unit: s.Unit}
		}
	}
	for _, r := range v.Rules {
		if r.Outcome == v.Outcome {
			return &Decisive{Kind: "rule", Name: r.ID, Observed: r.Observed, Limit: r.Limit, Unit: r.Unit, Detail: r.Detail}
		}
	}
	return nil
}

// maxRest limits the pause after a trial. The start of the next trial adds some ten
// seconds with little or no load.
const maxRest = 5 * time.Second

// Rest is how long to leave the system without load after a trial. A run waits until
// its transactions have ended or timed out and acknowledged ones are persisted, so
// that no queue is left if none timed out or was dropped. Otherwise, or if that is not
// known, the system may still work on abandoned transactions, for about as long as the
// slowest one waited.
func Rest(v verdict.Verdict) time.Duration {
	if timedOut, dropped := v.Outcomes.TimedOut, v.Outcomes.Dropped; timedOut != nil && dropped != nil && *timedOut+*dropped == 0 {
		return 0
	}
	if slowest := v.Latency[verdict.TransactionName].Max; slowest != nil {
		return min(maxRest, time.Duration(*slowest*float64(time.Millisecond)))
	}
	return maxRest
}
