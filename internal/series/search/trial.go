package search

import (
	"fmt"
	"math"
	"slices"
	"time"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/judge/stats"
	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/quantity"
	"assay.dev/assay/internal/rulebook"
	"assay.dev/assay/internal/spec"
)

// The time that a search takes (TestTimeLimit). A capacity within a factor
// of four of the first rate R is bracketed after three loads (R, R/2, R/4 or R, 2R,
// 4R), and three more bisect a factor of two to 10 %:
//
//	ln 2 (1/2 + slack)^3 = 0.103 <= -ln(1 - 0.1) = 0.105
//
// At least one of the six loads is clear, and the others have at most two trials, the
// second twice as long. That makes eleven trials of DefaultTrial or twice that, 8 s of
// other phases and 4 s of overhead: 452 s.
// (Overhead: start of workers and VUs, t0 up to 2.5 s ahead, end of the last
// transactions, ledger, verdict; measured 3 to 4 s on two cores with a load average of
// 14.) The rest of 780 s is for loads around undecided ones, for trials that contradict
// each other or are INVALID, and for systems so overloaded that their transactions time
// out, with a Rest after each.
const (
	DefaultTrial = 20 * time.Second

	// Enough to warm up connections and caches; meanwhile the system finishes the
	// work that the previous trial left.
	trialWarmup   = 3 * time.Second
	trialBaseline = time.Second // the shortest allowed: a trial is not diagnosed
	trialRamp     = 2 * time.Second
	trialCooldown = 2 * time.Second
)

// Shorten returns the profile of a trial with this hold, and the changed keys with
// their values. A trial is not prolonged (hold_max), and its SLOs are counted.
// Profiles with stages are refused: a length does not say which stage to change.
func Shorten(p spec.Profile, hold time.Duration) (spec.Profile, map[string]string, error) {
	changed := map[string]string{"hold": hold.String()}
	shorten := func(name string, phase *time.Duration, limit time.Duration) {
		if *phase > limit {
			*phase = limit
			changed[name] = limit.String()
		}
	}
	counted := func(slos []spec.SLO) []spec.SLO {
		slos = slices.Clone(slos)
		for i := range slos {
			if slos[i].Basis == spec.Inferred {
				slos[i].Basis = spec.Counted
				changed["basis"] = spec.Counted
			}
		}
		return slos
	}
	p.Common, p.Flows = counted(p.Common), slices.Clone(p.Flows)
	for i := range p.Flows {
		l := &p.Flows[i].Load
		shorten("warmup", &l.Warmup, trialWarmup)
		shorten("baseline", &l.Baseline.For, trialBaseline)
		shorten("ramp", &l.Ramp, trialRamp)
		shorten("cooldown", &l.Cooldown, trialCooldown)
		if l.HoldMax > 0 {
			l.HoldMax = 0
			changed["hold_max"] = "none"
		}
		p.Flows[i].SLOs = counted(p.Flows[i].SLOs)
	}
	p, err := p.WithHold(hold)
	return p, changed, err
}

// CheckSamples refuses trials with too few transactions at the first rate to count a
// percentile of their duration: lower rates would have fewer still.
func (a Parameters) CheckSamples(p spec.Profile) error {
	for _, f := range p.Flows {
		rate := a.Range.From * f.Load.Highest() / p.Target()
		made := rate * a.Seconds // an upper bound where stages differ in rate
		for _, s := range f.SLOs {
			least := float64(stats.Needed(s.AllowedShare()))
			if s.Aggregate == spec.Percentile && s.OfTransactions() && made < least {
				return hint.With(
					fmt.Errorf("trials of %gs at %s/s have too few samples: %s %s needs at least %.0f transactions, and they make %.0f",
						a.Seconds, quantity.Exact(rate), spec.NameOf(s.Flow, s.MetricText()), s.Expression, least, made),
					fmt.Sprintf("lengthen them with --trial %.0fs, better several times that, or start higher with --from", math.Ceil(least/rate)),
				)
			}
		}
	}
	return nil
}

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
			return &Decisive{
				Kind: "slo", Name: s.Name(), Observed: s.Observed, Limit: &limit, Unit: s.Unit,
				Violations: s.Violations, Allowed: s.Allowed,
			}
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
