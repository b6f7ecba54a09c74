package verdict

import (
	"assay/harness/judge/stats"
	"assay/harness/spec"
)

// question is a share of samples that may violate a condition, and on what basis
// it is decided.
type question struct {
	test stats.Test
	// basis is what a PASS needs: Counted, or Inferred where that is earned.
	basis spec.Basis
	// exact: the samples are no sample of anything else, as the arrivals of a
	// schedule are not; one violation more than allowed breaks it.
	exact bool
}

// ask is the question of an SLO whose violating share may be q.
func (e *evidence) ask(q float64, s spec.SLO) question {
	basis := s.Basis
	if basis == "" {
		basis = spec.Inferred
		if e.Plan.Scope == spec.ScopeSmoke {
			basis = spec.Counted
		}
	}
	return question{test: stats.Test{Q: q, Alpha: e.alpha()}, basis: basis}
}

// answer is what violations say to a question.
type answer struct {
	outcome Outcome
	basis   spec.Basis
	window  *int // that fails by itself, from 1, where all together do not
}

// decide answers a question (RULEBOOK sections 1a, 2a and 2b). PASS is decided on
// violations as measured, FAIL on those cleared of the generator's share. Where
// neither decides, and the two would be decided differently, the generator hides
// what the system did.
func (e *evidence) decide(out *SLO, q question, v violations) {
	out.Asked = q.basis
	total, cleared := stats.Sum(v.most), stats.Sum(v.cleared)
	allowed := stats.Allowed(q.test.Q, int64(total.N))
	out.Allowed, out.Cleared = &allowed, pointer(int64(cleared.K))
	inferred := q.test.Infer(v.most, v.series.above)
	if q.test.Q > 0 && !q.exact {
		out.Effective, out.Needed, out.LongEnough = &inferred.Effective, &inferred.Needed, inferred.LongEnough
		if finite(inferred.DesignEffect) {
			out.DesignEffect = &inferred.DesignEffect
		}
		if finite(inferred.Correlation) {
			out.Correlation = &inferred.Correlation
		}
	}
	is := q.answer(v.most, v.cleared, v.series)
	if is.outcome == Fail && e.displaced() {
		if rest := e.undisturbed(v.cleared); q.answer(rest, rest, v.series).outcome != Fail {
			is = answer{outcome: Inconclusive}
		}
	}
	out.Outcome, out.Basis, out.FailedWindow = is.outcome, is.basis, is.window
	if is.outcome != Inconclusive {
		return
	}
	out.Basis = q.basis
	if len(e.spans) > 1 {
		out.CloseWindow = q.closeWindow(v.most)
	}
	out.Hidden = q.answer(v.most, v.least, v.series).outcome != q.answer(v.mostCleared(), v.cleared, v.series).outcome
}

// answer decides PASS on one count of violations and FAIL on another.
func (q question) answer(passes, fails []stats.Batch, series *distribution) answer {
	if basis, ok := q.broken(fails, series); ok {
		return answer{outcome: Fail, basis: basis}
	}
	if each := perWindow(fails); len(each) > 1 {
		for i, window := range each {
			if basis, ok := q.broken(window, series); ok {
				return answer{Fail, basis, pointer(i + 1)}
			}
		}
	}
	if basis, ok := q.held(passes, series); ok {
		return answer{outcome: Pass, basis: basis}
	}
	return answer{outcome: Inconclusive}
}

// held tells whether the condition holds, in all windows together and in each,
// and on what basis.
func (q question) held(counted []stats.Batch, series *distribution) (spec.Basis, bool) {
	if q.closeWindow(counted) != nil {
		return "", false
	}
	total := stats.Sum(counted)
	clear := stats.Count(q.test.Q, int64(total.N), int64(total.K)) == stats.Holds ||
		q.exact && total.N > 0 && int64(total.K) <= stats.Allowed(q.test.Q, int64(total.N))/2
	if clear && q.basis == spec.Counted {
		return spec.Counted, true
	}
	inferred := q.test.Infer(counted, series.above)
	switch {
	case inferred.Outcome == stats.Holds && inferred.LongEnough:
		return spec.Inferred, true
	case clear && !inferred.LongEnough:
		return spec.Counted, true
	}
	return "", false
}

// closeWindow is a judged window, from 1, that holds more violations than its own
// samples allow; nil: none does.
func (q question) closeWindow(counted []stats.Batch) *int {
	for i, window := range perWindow(counted) {
		if total := stats.Sum(window); total.K > float64(stats.Allowed(q.test.Q, int64(total.N))) {
			return pointer(i + 1)
		}
	}
	return nil
}

// broken tells whether the condition is broken, and on what basis.
func (q question) broken(counted []stats.Batch, series *distribution) (spec.Basis, bool) {
	total := stats.Sum(counted)
	n, k := int64(total.N), int64(total.K)
	if k <= stats.Allowed(q.test.Q, n) {
		return "", false
	}
	if q.exact || stats.Count(q.test.Q, n, k) == stats.Broken {
		return spec.Counted, true
	}
	inferred := q.test.Infer(counted, series.above)
	switch {
	case inferred.Outcome == stats.Broken && inferred.LongEnough:
		return spec.Inferred, true
	case inferred.Outcome == stats.Broken, q.test.LikelyBroken(total, inferred):
		return spec.Counted, true
	}
	return "", false
}
