package search

import "fmt"

// Goal says when a load is decided, and when the search is.
type Goal struct {
	Trials int     `json:"trials"`       // a load's goal of trial-duration sum, in trials: all last alike
	Exceed float64 `json:"exceed_ratio"` // share of bad trials with which a load still is a lower bound [0,1)
	Width  float64 `json:"width"`        // of the bracket when it is narrow enough, as a share of its upper bound (0,1)
	Spare  int     `json:"spare"`        // trials more that a load gets for undecided ones, and again for those that may not be judged
}

// Our choice (RULEBOOK section 3): one bad trial in three is forgiven, so that
// neither one hiccup nor one stroke of luck decides a load.
const (
	DefaultTrials = 3
	DefaultExceed = 0.5 // FD.io CSIT's
	DefaultWidth  = 0.05
	DefaultSpare  = 2
)

// Limits of a goal.
const (
	MaxTrials = 20
	MinWidth  = 0.005
	MaxWidth  = 0.5
)

// check tells what a goal may not be.
func (g Goal) check() error {
	switch {
	case g.Trials < 1 || g.Trials > MaxTrials:
		return fmt.Errorf("%d trials a load: from 1 to %d", g.Trials, MaxTrials)
	case !(g.Width >= MinWidth && g.Width <= MaxWidth):
		return fmt.Errorf("a width of %g %%: from %g %% to %g %%", 100*g.Width, 100*MinWidth, 100*MaxWidth)
	case !(g.Exceed >= 0 && g.Exceed < 1):
		return fmt.Errorf("an exceed ratio of %g: from 0 to less than 1", g.Exceed)
	case g.Spare < 0 || g.Spare > MaxTrials:
		return fmt.Errorf("%d spare trials: from 0 to %d", g.Spare, MaxTrials)
	}
	return nil
}

// limit is how many judged trials a load gets at most.
func (g Goal) limit() int { return g.Trials + g.Spare }

// Range is where loads may lie, in arrivals a second.
type Range struct {
	From  float64 `json:"from"` // the first load
	Floor float64 `json:"floor"`
	Max   float64 `json:"max"`
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

// The results.
const (
	Good    Result = iota + 1 // the SLOs held
	Bad                       // they did not
	Unclear                   // the trial cannot tell
	Starved                   // the generator did not make the load as planned: the trial says nothing of the system
	Void                      // the trial may not be judged for another reason
	Refused                   // the load cannot be made here at all, and trying again is no use
)

var resultWords = map[Result]string{
	0: "interrupted", Good: "good", Bad: "bad", Unclear: "unclear", Starved: "starved", Void: "void", Refused: "refused",
}

// MarshalText writes the word; what a trial that was cut short would have said is
// not known.
func (r Result) MarshalText() ([]byte, error) { return []byte(resultWords[r]), nil }
