// SPDX-License-Identifier: Apache-2.0

package stats

import "assay.dev/assay/internal/spec"

// Looks is the number of times a run may be judged (interim looks): after the hold, and
// after each further hold of the same length, until it is decided. It is fixed before
// the run.
type Looks int

// MaxLooks is the largest calibrated number.
const MaxLooks = spec.MaxLooks

// Alpha is the level of look j, from 1. The level is spent in equal shares (Bonferroni's
// inequality),
//
//	alpha_j = Alpha / J
//
// It is 0, which decides nothing, for an unplanned look.
func (looks Looks) Alpha(j int) float64 {
	if j < 1 || j > int(looks) || looks > MaxLooks {
		return 0
	}
	return Alpha / float64(looks)
}
