package stats

// Unearned is by how much the design effect of a test that is not Earned is taken
// larger, where batches are too short to have shown all of it.
const Unearned = 4

// BrokenEvenSo tells whether a count between once and twice what is allowed is
// more than chance, although the run is too short to infer anything at a stated
// confidence:
//
//	I_q(k/d, n/d - k/d + 1) <= alpha,  d = Unearned x design effect
//
// It promises nothing of another run, and is no ground for a PASS. Its factor is
// ours; docs/calibration.md shows how often that is false.
func (t Test) BrokenEvenSo(total Batch, i Inference) bool {
	d := Unearned * i.DesignEffect
	return total.N > 0 && t.Q > 0 && i.Effective > 0 && AtLeast(total.N/d, total.K/d, t.Q) <= t.Alpha
}
