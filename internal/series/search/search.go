package search

import (
	"cmp"
	"slices"
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
	return &Search{goal: g, span: r}, cmp.Or(g.check(), r.check())
}

// Add records the result of one trial.
func (s *Search) Add(rate float64, r Result) {
	i, found := slices.BinarySearchFunc(s.loads, rate, func(l Load, rate float64) int { return cmp.Compare(l.Rate, rate) })
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
	if i := slices.IndexFunc(s.loads, func(l Load) bool { return l.Rate == rate }); i >= 0 { //nolint:staticcheck // the load of the trial, not one near it
		return s.loads[i]
	}
	return Load{Rate: rate}
}

// End is how a search ends.
type End string

// The ends.
const (
	Running     End = "running"
	Found       End = "found"       // the bracket is as narrow as the goal
	AtMax       End = "at-max"      // the SLOs hold at the highest rate of the range
	Missed      End = "missed"      // the SLOs are missed at the lowest rate of the range
	Generator   End = "generator"   // the generator's limit is below the system's
	Undecided   End = "undecided"   // trials have too few samples to decide
	Invalid     End = "invalid"     // trials are INVALID, for a reason other than the generator
	Interrupted End = "interrupted" // the search was stopped
	Failed      End = "failed"      // something else than the system failed
)
