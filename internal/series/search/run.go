package search

import (
	"context"
	"errors"
)

// Loop holds the effects of a search.
type Loop struct {
	// Trial makes one trial and blocks until it has ended. A trial interrupted by
	// ctx is kept in the document but decides nothing; an error ends the search.
	Trial func(ctx context.Context, rate float64) (Probe, error)
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
		p, err := l.Trial(ctx, rate)
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
