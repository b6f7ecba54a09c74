package search

import (
	"fmt"

	"assay/harness/spec"
)

// Goal says when a load is decided, and when the search is.
type Goal struct {
	Trials int     `json:"trials" jsonschema:"minimum=1"`                            // most trials of a load that is close
	Width  float64 `json:"width" jsonschema:"exclusiveMinimum=0,exclusiveMaximum=1"` // of the bracket when it is narrow enough, as a share of its upper bound (0,1)
	Spare  int     `json:"spare" jsonschema:"minimum=0"`                             // trials more that a load gets for those that may not be judged
}

// DefaultSpare is how many trials more a load gets for those that may not be judged.
const DefaultSpare = 2

// check tells what a goal may not be.
func (g Goal) check() error {
	switch {
	case g.Trials < 1 || g.Trials > spec.MaxTrials:
		return fmt.Errorf("%d trials of a close load: from 1 to %d", g.Trials, spec.MaxTrials)
	case !(g.Width >= spec.MinWidth && g.Width <= spec.MaxWidth):
		return fmt.Errorf("a width of %g %%: from %g %% to %g %%", 100*g.Width, 100*spec.MinWidth, 100*spec.MaxWidth)
	case g.Spare < 0 || g.Spare > spec.MaxTrials:
		return fmt.Errorf("%d spare trials: from 0 to %d", g.Spare, spec.MaxTrials)
	}
	return nil
}

// Range is where loads may lie, in arrivals a second.
type Range struct {
	From  float64 `json:"from" jsonschema:"exclusiveMinimum=0"` // the first load
	Floor float64 `json:"floor" jsonschema:"exclusiveMinimum=0"`
	Max   float64 `json:"max" jsonschema:"exclusiveMinimum=0"`
}

// FloorShare of the first load is the least that is tried: a system that fails
// there is not the one that the search was meant for.
const FloorShare = 0.01

func (r Range) check() error {
	switch {
	case !(r.Floor > 0):
		return fmt.Errorf("a least load of %g/s is not above 0", r.Floor)
	case !(r.From >= r.Floor):
		return fmt.Errorf("a first load of %g/s is less than the least, %g/s", r.From, r.Floor)
	case !(r.Max >= r.From):
		return fmt.Errorf("a first load of %g/s is more than the most, %g/s", r.From, r.Max)
	}
	return nil
}

// Result is what one trial says of its load.
type Result int

// The results. A trial is counted (RULEBOOK section 2a): the first three are what
// its violations came to.
const (
	Clear   Result = iota + 1 // the SLOs held: at most half of the violations that they allow
	Broken                    // one was missed: twice of what it allows, or more
	Close                     // in between: neither can be said
	Scarce                    // too few samples to tell at all: the same trial again would not tell either
	Starved                   // the generator did not make the load as planned: the trial says nothing of the system
	Void                      // the trial may not be judged for another reason
	Refused                   // the load cannot be made here at all, and trying again is no use
)

var resultWords = map[Result]string{
	0: "interrupted", Clear: "clear", Broken: "broken", Close: "close", Scarce: "scarce", Starved: "starved", Void: "void", Refused: "refused",
}

// MarshalText writes the word; what a trial that was cut short would have said is
// not known.
func (r Result) MarshalText() ([]byte, error) { return []byte(resultWords[r]), nil }
