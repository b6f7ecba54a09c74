package search

import (
	"fmt"

	"assay.dev/assay/internal/spec"
)

// Goal says when a load is decided, and when the bracket is narrow enough.
type Goal struct {
	Trials int     `json:"trials" jsonschema:"minimum=1"`                            // maximum number of trials of a load whose trials are close
	Width  float64 `json:"width" jsonschema:"exclusiveMinimum=0,exclusiveMaximum=1"` // of the bracket at which the search ends: (upper - lower) / upper
	Spare  int     `json:"spare" jsonschema:"minimum=0"`                             // additional trials of a load to replace INVALID ones
}

// DefaultSpare is the default of Goal.Spare.
const DefaultSpare = 2

func (g Goal) check() error {
	switch {
	case g.Trials < 1 || g.Trials > spec.MaxTrials:
		return fmt.Errorf("trials of a close load: %d is not from 1 to %d", g.Trials, spec.MaxTrials)
	case !(g.Width >= spec.MinWidth && g.Width <= spec.MaxWidth):
		return fmt.Errorf("width of the bracket: %g %% is not from %g %% to %g %%", 100*g.Width, 100*spec.MinWidth, 100*spec.MaxWidth)
	case g.Spare < 0 || g.Spare > spec.MaxTrials:
		return fmt.Errorf("spare trials: %d is not from 0 to %d", g.Spare, spec.MaxTrials)
	}
	return nil
}

// Range limits the loads, in arrivals per second.
type Range struct {
	From  float64 `json:"from" jsonschema:"exclusiveMinimum=0"`  // first load
	Floor float64 `json:"floor" jsonschema:"exclusiveMinimum=0"` // lowest load to try
	Max   float64 `json:"max" jsonschema:"exclusiveMinimum=0"`   // highest load to try
}

// FloorShare is the lowest load to try, as a share of the first: a system that fails
// at a hundredth of its expected load has a problem that a search does not find.
const FloorShare = 0.01

func (r Range) check() error {
	switch {
	case !(r.Floor > 0):
		return fmt.Errorf("lowest load: %g/s is not above 0", r.Floor)
	case !(r.From >= r.Floor):
		return fmt.Errorf("first load: %g/s is below the lowest, %g/s", r.From, r.Floor)
	case !(r.Max >= r.From):
		return fmt.Errorf("first load: %g/s is above the highest, %g/s", r.From, r.Max)
	}
	return nil
}

// Result is what one trial says of its load.
type Result string

// The results. Violations are counted as in a smoke run; they decide between the
// first three.
const (
	Clear   Result = "clear"       // each SLO held, with at most half of the violations that it allows
	Broken  Result = "broken"      // an SLO was missed, with at least twice the violations that it allows
	Close   Result = "close"       // in between: undecided
	Scarce  Result = "scarce"      // too few samples to decide, as a repetition would have
	Starved Result = "starved"     // INVALID: the generator did not offer the load as planned
	Void    Result = "void"        // INVALID for another reason
	Refused Result = "refused"     // the generator cannot start a run at this load
	stopped Result = "interrupted" // decides nothing
)
