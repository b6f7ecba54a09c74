package search

import (
	"cmp"
	"context"
	"errors"
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
	if i := slices.IndexFunc(s.loads, func(l Load) bool { return l.Rate == rate }); i >= 0 { // the load of the trial, not one near it
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
	Undecided   End = "undecided"   // loads are too close to the limit to call, or their trials have too few samples
	Invalid     End = "invalid"     // trials are INVALID, for a reason other than the generator
	Interrupted End = "interrupted" // the search was stopped
	Failed      End = "failed"      // something else than the system failed
)

// Loop holds the effects of a search.
type Loop struct {
	// Trial makes one trial, a number of times as long as the first of its load, and blocks
	// until it has ended. A trial interrupted by ctx is kept in the document but decides
	// nothing; an error ends the search.
	Trial func(ctx context.Context, rate float64, times int) (Probe, error)
	// Keep saves the document after each trial. It may block on a write.
	Keep func(Document) error
	// Confirm is the command that would certify a rate; nil: there is none.
	Confirm func(rate float64) string
}

// Run searches until the end, until ctx is done or an effect fails. The document is
// complete in each case, and was saved if a trial was made.
func Run(ctx context.Context, a Parameters, l Loop) (Document, error) {
	d := Document{Schema: SchemaName, Parameters: a, Probes: []Probe{}}
	s, err := New(a.Goal, a.Range)
	if err != nil {
		return d, err
	}
	for {
		d.update(s, l.Confirm)
		if len(d.Probes) > 0 {
			if err := l.Keep(d); err != nil {
				return d, err
			}
		}
		rate, ok := s.Next()
		if !ok {
			return d, nil
		}
		p, err := l.Trial(ctx, rate, s.Load(rate).Length())
		if err != nil {
			return d, l.stop(ctx, &d, err)
		}
		d.Probes = append(d.Probes, p)
		if ctx.Err() != nil {
			d.Probes[len(d.Probes)-1].Result = stopped
			return d, l.stop(ctx, &d, context.Cause(ctx))
		}
		s.Add(rate, p.Result)
	}
}

// stop saves the document of a search that ends early, and returns the reason.
func (l Loop) stop(ctx context.Context, d *Document, reason error) error {
	d.State = Failed
	if ctx.Err() != nil {
		d.State = Interrupted
	}
	d.Sentence = d.sentence()
	if len(d.Probes) == 0 {
		return reason
	}
	if err := l.Keep(*d); err != nil {
		return errors.Join(reason, err)
	}
	return reason
}
