package stats

// LeastFactor is c in the least number of effective samples, c/q, with which a
// test may PASS. Zero violations alone ask for 4.6/q at Alpha; the rest is
// what the estimated design effect needs to be trusted.
const LeastFactor = 20

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
type Test struct{ Q float64 }

// Least is the number of effective samples that the test needs to hold.
func (t Test) Least() float64 { return LeastFactor / t.Q }

// Decide tests k violations of n samples with their design effect. A limit of 0
// can be broken only, and where all samples violate no statistic is needed.
func (t Test) Decide(n, k, deff float64) Outcome {
	effective := n / deff
	switch {
	case n <= 0:
		return Undecided
	case k >= n && t.Q < 1, t.Q <= 0 && k > 0:
		return Broken
	case t.Q <= 0:
		return Holds
	case AtMost(effective, k/deff, t.Q) <= Alpha && effective >= t.Least():
		return Holds
	case AtLeast(effective, k/deff, t.Q) <= Alpha:
		return Broken
	}
	return Undecided
}
