package search

import (
	"slices"

	"assay.dev/assay/internal/quantity"
)

// Search is the state of a search. The next load depends on the loads and their
// trials alone: the same results give the same search.
type Search struct {
	goal  Goal
	span  Range
	loads []Load // ascending
}

// New starts a search.
func New(g Goal, r Range) (*Search, error) {
	if err := g.check(); err != nil {
		return nil, err
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	return &Search{goal: g, span: r}, nil
}

// Add records the result of one trial.
func (s *Search) Add(rate float64, r Result) {
	i, found := slices.BinarySearchFunc(s.loads, Load{Rate: rate}, byRate)
	if !found {
		s.loads = slices.Insert(s.loads, i, Load{Rate: rate})
	}
	s.loads[i].add(r)
}

// Next is the load of the next trial; ok is false once the search has ended.
func (s *Search) Next() (rate float64, ok bool) {
	rate, end := s.next()
	return rate, end == Running
}

// End is how the search has ended; Running if it has not.
func (s *Search) End() End {
	_, end := s.next()
	return end
}

// Load returns the load of a rate, without trials if it was not tried.
func (s *Search) Load(rate float64) Load {
	for _, l := range s.loads {
		if l.Rate == rate { //nolint:staticcheck // the load of the trial, not one near it
			return l
		}
	}
	return Load{Rate: rate}
}

// Bounds are the relevant bounds so far.
func (s *Search) Bounds() Bounds { return relevantBounds(slices.Clone(s.loads), s.goal) }

// End is how a search ends.
type End int

// The ends.
const (
	Running   End = iota
	Found         // the bracket is as narrow as the goal
	AtMax         // the SLOs hold at the highest rate of the range
	Missed        // the SLOs are missed at the lowest rate of the range
	Generator     // the generator's limit is below the system's
	Undecided     // trials have too few samples to decide
	Invalid       // trials are INVALID, for a reason other than the generator
)

var endWords = map[End]string{
	Running: "running", Found: "found", AtMax: "at-max", Missed: "missed",
	Generator: "generator", Undecided: "undecided", Invalid: "invalid",
}

// String is the word for it in search.json.
func (e End) String() string { return endWords[e] }

// MarshalText returns the same word.
func (e End) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// number formats a rate as a flag accepts it.
func number(v float64) string { return quantity.Exact(v) }
