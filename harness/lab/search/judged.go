package search

import (
	"slices"
	"strings"
	"time"

	"assay/harness/judge/verdict"
)

// Judge takes what a trial's verdict says of its load.
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
		if has(v, verdict.Inconclusive, "samples") {
			return Scarce
		}
		return Close
	}
	return spoiledBy(v)
}

// ofGenerator tells whether a rule is about the load that was made, which says
// nothing of the system.
func ofGenerator(rule string) bool {
	return rule == "offered" || strings.HasPrefix(rule, "generator-")
}

// spoiledBy tells why a trial may not be judged. Where that is only that the system
// became so much slower that as much again would break an SLO, a trial of that
// length is close.
func spoiledBy(v verdict.Verdict) Result {
	starved, steady := false, true
	for _, r := range v.Rules {
		switch {
		case r.Outcome != verdict.Invalid || r.ID == "steady":
		case ofGenerator(r.ID):
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
	case steady && has(v, verdict.Invalid, "steady"):
		return Close
	}
	return Void
}

func has(v verdict.Verdict, o verdict.Outcome, rule string) bool {
	return slices.ContainsFunc(v.Rules, func(r verdict.Rule) bool { return r.ID == rule && r.Outcome == o })
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

// mostRest is the longest that a system is left alone after a trial. The next one
// begins with some ten seconds more without load, or with little.
const mostRest = 5 * time.Second

// Rest is how long the system is left alone after a trial. A run waits for its own
// transactions until they time out, and for what was acknowledged to be persisted:
// where all ended by themselves no queue is left. Where some were given up the
// system may still work on them: about as long as its queue made the slowest wait.
func Rest(v verdict.Verdict) time.Duration {
	if given(v.Outcomes.TimedOut)+given(v.Outcomes.Dropped) == 0 {
		return 0
	}
	for _, l := range v.Latency {
		if l.Name == verdict.TransactionName && l.Max != nil {
			return min(mostRest, time.Duration(*l.Max*float64(time.Millisecond)))
		}
	}
	return mostRest
}

func given(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}
