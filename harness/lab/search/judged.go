package search

import (
	"strings"

	"assay/harness/judge/verdict"
)

// Judge takes what a trial's verdict says of its load.
func (p *Probe) Judge(v verdict.Verdict) {
	p.Result, p.Verdict, p.Claim, p.Decisive = resultOf(v), v.Outcome.String(), v.Claim, decisive(v)
}

// generatorRules is how the rules begin that say nothing of the system.
const generatorRules = "generator-"

func resultOf(v verdict.Verdict) Result {
	switch v.Outcome {
	case verdict.Pass:
		return Good
	case verdict.Fail, verdict.LostWrite:
		return Bad
	case verdict.Inconclusive:
		return Unclear
	}
	starved := false
	for _, r := range v.Rules {
		if r.Outcome == verdict.Invalid {
			if !strings.HasPrefix(r.ID, generatorRules) {
				return Void
			}
			starved = true
		}
	}
	for _, s := range v.SLOs {
		if s.Outcome == verdict.Invalid {
			return Void
		}
	}
	if starved {
		return Starved
	}
	return Void
}

// decisive is the first SLO, or else the first rule, that made the verdict what
// it is. A PASS has none.
func decisive(v verdict.Verdict) *Decisive {
	switch v.Outcome {
	case verdict.Pass:
		return nil
	case verdict.LostWrite: // whatever the profile asks of its ledger
		missing, limit := float64(v.Ledger.Missing), 0.0
		return &Decisive{Kind: "slo", Name: "ledger missing==0", Observed: &missing, Limit: &limit, Unit: "count"}
	}
	for _, s := range v.SLOs {
		if s.Outcome == v.Outcome {
			limit := s.Limit
			return &Decisive{Kind: "slo", Name: s.Metric + " " + s.Expression, Observed: s.Observed, Limit: &limit, Unit: s.Unit}
		}
	}
	for _, r := range v.Rules {
		if r.Outcome == v.Outcome {
			return &Decisive{Kind: "rule", Name: r.ID, Observed: r.Observed, Limit: r.Limit, Unit: r.Unit, Detail: r.Detail}
		}
	}
	return nil
}
