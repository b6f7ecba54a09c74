// SPDX-License-Identifier: Apache-2.0

package stats

// Confidence is one less the largest share of runs in which a Test holds for a
// stationary system whose percentile is exactly at its limit (docs/calibration.md).
const Confidence = 0.95

// Outcome is the result of a test of a share of violations.
type Outcome int

// The outcomes.
const (
	Undecided Outcome = iota
	Holds             // the share is below the limit
	Broken            // the share is above the limit
)

// Test tests whether the share of violations is below Q, the largest that the condition
// allows: 1 - P/100 for p(P), the bound of a rate.
type Test struct {
	Q     float64
	Alpha float64 // level of each side, see Looks; 0 infers nothing
}
