package stats

import "assay/harness/spec"

// Looks is how often a run may be judged: after the hold, and after each further hold
// of the same length, until it is decided. It is fixed before the run.
type Looks int

// MaxLooks is the largest number that was calibrated.
const MaxLooks = spec.MaxLooks

// Alpha is the level of look j, counted from 1: of equal shares of the whole
// level, so that all looks together do not exceed it (Bonferroni's inequality),
//
//	alpha_j = Alpha / J
//
// It is 0, which decides nothing, for a look that was not planned.
func (looks Looks) Alpha(j int) float64 {
	if j < 1 || j > int(looks) || looks > MaxLooks {
		return 0
	}
	return Alpha / float64(looks)
}
