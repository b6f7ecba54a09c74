package search

import (
	"fmt"

	"assay.dev/assay/internal/spec"
)

// Load is one rate, with the number of its trials by result.
//
// One clear or broken trial decides it: in the terms of MLRsearch (FD.io;
// draft-ietf-bmwg-mlrsearch) the goal duration sum is one trial, and the goal exceed
// ratio 0. A close trial, or one with too few samples, decides nothing: the load is
// tried again for twice as long (see Length). If none of its trials decides, the load is
// undecided: neither a lower bound nor an upper one. The broken load that ends the
// doubling or halving is tried once more (see Search.doubtful); if the two trials
// contradict each other, a third one decides. INVALID trials do not count.
type Load struct {
	Rate                  float64
	Clear, Broken, Close  int
	Scarce, Starved, Void int
	Refused               int
}

// Class is what the trials of a load show.
type Class string

// The classes.
const (
	Open     Class = "open"     // more trials are needed
	Lower    Class = "lower"    // a lower bound: the SLOs hold
	Upper    Class = "upper"    // an upper bound: they are missed
	TooClose Class = "close"    // undecided: its trials are too close to the limit to call
	TooShort Class = "scarce"   // undecided: its trials have too few samples
	Unmade   Class = "unmade"   // the generator cannot offer it
	Unjudged Class = "unjudged" // its trials are INVALID
)

// Class classifies the load. Where its clear and broken trials contradict each
// other, the majority decides.
func (l Load) Class(g Goal) Class {
	invalid := l.Starved + l.Void
	switch {
	case l.Refused > 0:
		return Unmade
	case l.Broken > l.Clear:
		return Upper
	case l.Clear > l.Broken:
		return Lower
	case l.undecided() >= g.Trials && l.Close == 0 && l.Clear == 0, l.Scarce > 0 && l.Clear+l.Close == 0 && invalid > g.Spare:
		return TooShort
	case l.undecided() >= g.Trials, l.Close > 0 && l.Clear > 0, l.Clear+l.Close > 0 && invalid > g.Spare:
		return TooClose
	case invalid > g.Spare && l.Starved >= l.Void:
		return Unmade
	case invalid > g.Spare:
		return Unjudged
	}
	return Open
}

// undecided is the number of valid trials that decided nothing.
func (l Load) undecided() int { return l.Close + l.Scarce }

// Length is how many times as long as the first the next trial of the load is: each that
// decided nothing doubles it, as a longer one may decide.
func (l Load) Length() int { return 1 << l.undecided() }

func (l *Load) add(r Result) {
	*map[Result]*int{
		Clear: &l.Clear, Broken: &l.Broken, Close: &l.Close, Scarce: &l.Scarce, Starved: &l.Starved, Void: &l.Void, Refused: &l.Refused,
	}[r]++
}

// Goal says when a load is decided, and when the bracket is narrow enough.
type Goal struct {
	// maximum number of trials of a load whose trials decide nothing, each twice as long as
	// the one before
	Trials int `json:"trials" jsonschema:"minimum=1"`
	// relative width of the bracket at which the search ends: (upper - lower) / upper
	Width float64 `json:"width" jsonschema:"exclusiveMinimum=0,exclusiveMaximum=1"`
	Spare int     `json:"spare" jsonschema:"minimum=0"` // additional trials of a load to replace INVALID ones
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
	Scarce  Result = "scarce"      // too few samples to decide
	Starved Result = "starved"     // INVALID: the generator did not offer the load as planned
	Void    Result = "void"        // INVALID for another reason
	Refused Result = "refused"     // the generator cannot start a run at this load
	stopped Result = "interrupted" // decides nothing
)
