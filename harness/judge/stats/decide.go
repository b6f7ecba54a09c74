package stats

// Confidence is one less than the largest share of runs of a stationary system,
// whose percentile stands exactly at its limit, that a Test lets PASS
// (docs/calibration.md).
const Confidence = 0.95

// Outcome is what a test says of a share of violations.
type Outcome int

// Undecided is what is neither shown to hold nor shown to be broken.
const (
	Undecided Outcome = iota
	Holds             // the share is below the limit
	Broken            // the share is above it
)

// Test asks whether the share of violations is below Q, the largest that the
// condition allows: 1 - P/100 for p(P), the bound of a rate.
type Test struct {
	Q     float64
	Alpha float64 // of each side, see Looks; 0 infers nothing
}
