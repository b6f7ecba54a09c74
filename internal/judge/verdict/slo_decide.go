// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"assay.dev/assay/internal/judge/stats"
	"assay.dev/assay/internal/spec"
)

// criterion is the largest share of samples that may violate a condition, and the
// basis on which that is decided.
type criterion struct {
	test stats.Test
	// basis that a PASS needs. What is to be inferred is never counted instead: a longer outage
	// makes the samples more correlated, and would make a run too short to infer pass.
	basis spec.Basis
	// exact: the samples are the whole population, as the arrivals of a schedule
	// are. One violation more than allowed is a FAIL.
	exact bool
	// lumped: samples of several seconds are booked together, so that the correlation of
	// neighbouring seconds is not known.
	lumped bool
}

// infer is the inferred test. Nothing is inferred from seconds whose correlation is not
// known.
func (c criterion) infer(counted []stats.Batch, series *distribution) stats.Inference {
	inferred := c.test.Infer(counted, series.countLargest)
	inferred.LongEnough = inferred.LongEnough && !c.lumped
	return inferred
}

// criterionFor is the criterion of an SLO that a share q of the samples may violate.
func criterionFor(e *evidence, q float64, s spec.SLO) criterion {
	return criterion{test: stats.Test{Q: q, Alpha: alpha(e)}, basis: s.BasisIn(e.Plan.Scope)}
}

// decision is the result of a criterion.
type decision struct {
	outcome Outcome
	basis   spec.Basis
	window  *int // the one that fails by itself, from 1, or the first where all together do not
}

// decide applies a criterion to an SLO (docs/rulebook.md). PASS is
// decided on violations as measured, FAIL on those cleared of the generator's share.
// Where the run is undecided, and the measured and the cleared violations by
// themselves would give different outcomes, the generator hides what the system did.
func decide(e *evidence, out *SLO, c criterion, v violations) {
	out.PlannedBasis, out.Lumped, c.lumped = c.basis, v.lumped, v.lumped
	total, cleared := stats.Sum(v.possible), stats.Sum(v.cleared)
	allowed := stats.Allowed(c.test.Q, int64(total.N))
	out.Allowed, out.Cleared = &allowed, new(int64(cleared.K))
	inferred := c.infer(v.possible, v.series)
	if c.test.Q > 0 && !c.exact {
		out.Effective, out.Needed, out.LongEnough = &inferred.Effective, &inferred.Needed, inferred.LongEnough
		if finite(inferred.DesignEffect) {
			out.DesignEffect = &inferred.DesignEffect
		}
		if finite(inferred.Correlation) {
			out.Correlation = &inferred.Correlation
		}
	}
	d := c.decide(v.possible, v.cleared, v.series)
	if d.outcome == Fail && displaced(e) {
		if rest := withoutDisplaced(e, v.cleared); c.decide(rest, rest, v.series).outcome != Fail {
			d = decision{outcome: Inconclusive}
		}
	}
	out.Outcome, out.Basis, out.FailedWindow = d.outcome, d.basis, d.window
	if d.outcome != Inconclusive {
		return
	}
	out.Basis = c.basis
	if over := c.windowsOverLimit(v.possible); e.windowCount() > 1 && len(over) > 0 {
		out.CloseWindow = &over[0]
	}
	out.HiddenByGenerator = c.decide(v.possible, v.certain, v.series).outcome != c.decide(v.possibleCleared(), v.cleared, v.series).outcome
}

// decide decides PASS on one count of violations and FAIL on another.
func (c criterion) decide(forPass, forFail []stats.Batch, series *distribution) decision {
	windows := stats.Windows(forFail)
	if basis, ok := c.broken(forFail, series); ok {
		d := decision{outcome: Fail, basis: basis}
		if over := c.windowsOverLimit(forFail); len(over) == 1 && len(windows) > 1 {
			d.window = &over[0]
		}
		return d
	}
	for i, window := range windows {
		if basis, ok := c.broken(window, series); len(windows) > 1 && ok {
			return decision{Fail, basis, new(i + 1)}
		}
	}
	if basis, ok := c.holds(forPass, series); ok {
		return decision{outcome: Pass, basis: basis}
	}
	return decision{outcome: Inconclusive}
}

// holds reports whether the condition holds, over all windows together and in each of
// them, and on what basis.
func (c criterion) holds(counted []stats.Batch, series *distribution) (spec.Basis, bool) {
	if len(c.windowsOverLimit(counted)) > 0 {
		return "", false
	}
	total := stats.Sum(counted)
	clear := stats.Count(c.test.Q, int64(total.N), int64(total.K)) == stats.Holds ||
		c.exact && total.N > 0 && int64(total.K) <= stats.Allowed(c.test.Q, int64(total.N))/2
	if clear && c.basis == spec.Counted {
		return spec.Counted, true
	}
	inferred := c.infer(counted, series)
	return spec.Inferred, inferred.Outcome == stats.Holds && inferred.LongEnough
}

// windowsOverLimit are the judged windows, from 1, with more violations than their own samples
// allow.
func (c criterion) windowsOverLimit(counted []stats.Batch) (over []int) {
	for i, window := range stats.Windows(counted) {
		if total := stats.Sum(window); total.K > float64(stats.Allowed(c.test.Q, int64(total.N))) {
			over = append(over, i+1)
		}
	}
	return over
}

// broken reports whether the condition is broken, and on what basis.
func (c criterion) broken(counted []stats.Batch, series *distribution) (spec.Basis, bool) {
	total := stats.Sum(counted)
	n, k := int64(total.N), int64(total.K)
	if k <= stats.Allowed(c.test.Q, n) {
		return "", false
	}
	if c.exact || stats.Count(c.test.Q, n, k) == stats.Broken {
		return spec.Counted, true
	}
	inferred := c.infer(counted, series)
	switch {
	case inferred.Outcome == stats.Broken && inferred.LongEnough:
		return spec.Inferred, true
	case inferred.Outcome == stats.Broken, c.test.LikelyBroken(total, inferred):
		return spec.Counted, true
	}
	return "", false
}
