package stats

// ShortFactor is the factor of the design effect of a run that is not LongEnough:
// short batches do not show all of it.
const ShortFactor = 4

// LikelyBroken: a count between once and twice the allowed number is more than chance,
// although the run is too short to infer anything at a stated confidence:
//
//	I_q(k/d, n/d - k/d + 1) <= alpha,  d = ShortFactor x design effect
//
// It says nothing about another run, and never makes a PASS. The factor is ours;
// docs/calibration.md shows how often the result is false.
func (t Test) LikelyBroken(total Batch, i Inference) bool {
	d := ShortFactor * i.DesignEffect
	return total.N > 0 && t.Q > 0 && i.Effective > 0 && AtLeast(total.N/d, total.K/d, t.Q) <= t.Alpha
}
