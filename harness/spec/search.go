package spec

// Limits and defaults of a search for the highest rate, which a command line and
// an experiment file may both ask for. A load that was close once gets a second
// trial. More would tell little: what a load's share of violations is does not
// change, and close is where it lies near the limit.
const (
	DefaultTrials = 2   // most trials of a load that is close
	DefaultWidth  = 0.1 // of the bracket when it is narrow enough, as a share of its upper bound

	MaxTrials = 20
	MinWidth  = 0.005
	MaxWidth  = 0.5
)

// MaxWorkers is the most workers that one run starts.
const MaxWorkers = 64
