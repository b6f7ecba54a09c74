package search

import (
	"slices"

	"assay/harness/quantity"
)

// Search is a search under way. What comes next follows from the loads and
// their trials alone, so that the same results give the same search.
type Search struct {
	goal  Goal
	span  Range
	loads []Load // ascending
}

// New begins a search.
func New(g Goal, r Range) (*Search, error) {
	if err := g.check(); err != nil {
		return nil, err
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	return &Search{goal: g, span: r}, nil
}

// Add takes what one trial at a load came to.
func (s *Search) Add(rate float64, r Result) {
	i, found := slices.BinarySearchFunc(s.loads, Load{Rate: rate}, byRate)
	if !found {
		s.loads = slices.Insert(s.loads, i, Load{Rate: rate})
	}
	s.loads[i].add(r)
}

// Next is the load that the next trial has to make; ok is false once the search
// has ended.
func (s *Search) Next() (rate float64, ok bool) {
	rate, end := s.next()
	return rate, end == Running
}

// End is how the search has ended; Running: it has not.
func (s *Search) End() End {
	_, end := s.next()
	return end
}

// Load is one that was tried.
func (s *Search) Load(rate float64) Load {
	for _, l := range s.loads {
		if l.Rate == rate { //nolint:staticcheck // the load of the trial, not one near it
			return l
		}
	}
	return Load{Rate: rate}
}

// Bounds are the relevant bounds so far.
func (s *Search) Bounds() Bounds { return relevant(slices.Clone(s.loads), s.goal) }

// End is how a search ends.
type End int

// The ends.
const (
	Running   End = iota
	Found         // the bracket is as narrow as the goal
	AtMax         // the SLOs hold at the most that may be asked
	Missed        // they do not hold at the least
	Generator     // the generator's limit came first
	Undecided     // trials are too short to tell
	Invalid       // trials may not be judged, for a reason that is not the generator
)

var endWords = map[End]string{
	Running: "running", Found: "found", AtMax: "at-max", Missed: "missed",
	Generator: "generator", Undecided: "undecided", Invalid: "invalid",
}

// String is the word that documents have.
func (e End) String() string { return endWords[e] }

// MarshalText writes the word.
func (e End) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// number writes a rate as flags take it.
func number(v float64) string { return quantity.Exact(v) }
