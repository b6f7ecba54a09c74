// SPDX-License-Identifier: Apache-2.0

package stats

// ShortFactor is the factor for the design effect of a run that is not LongEnough,
// which short batches underestimate.
const ShortFactor = 4

// LikelyBroken: the number of violations is between once and twice the allowed number
// and more than chance, although the run is too short for a stated confidence:
//
//	I_q(k/d, n/d - k/d + 1) <= alpha,  d = ShortFactor x design effect
//
// It is used for FAIL only, and for this run only. The factor is ours;
// docs/calibration.md shows how often the result is false.
func (t Test) LikelyBroken(total Batch, i Inference) bool {
	d := ShortFactor * i.DesignEffect
	return total.N > 0 && t.Q > 0 && i.Effective > 0 && AtLeast(total.N/d, total.K/d, t.Q) <= t.Alpha
}
