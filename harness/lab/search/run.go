package search

import (
	"context"
	"errors"
)

// Loop is what a search needs of the world.
type Loop struct {
	// Trial makes one trial, and blocks for its length. Of one that ctx cut
	// short, what it gives is kept and decides nothing; an error ends the search.
	Trial func(ctx context.Context, rate float64) (Probe, error)
	// Keep is called after each trial, and may block for a write.
	Keep func(Document) error
	// Confirm is the command that would certify a rate.
	Confirm func(rate float64) string
}

// Run searches until the end, until ctx is done or something fails. The
// document is whole in each case, and kept once there was a trial.
func Run(ctx context.Context, a Asked, l Loop) (Document, error) {
	d := Document{Schema: SchemaName, Asked: a, Probes: []Probe{}}
	s, err := New(a.Goal, a.Range)
	if err != nil {
		return d, err
	}
	for {
		d.take(s, l.Confirm)
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
			return d, l.cutShort(ctx, &d, err)
		}
		d.Probes = append(d.Probes, p)
		if ctx.Err() != nil {
			d.Probes[len(d.Probes)-1].Result = 0
			return d, l.cutShort(ctx, &d, context.Cause(ctx))
		}
		s.Add(rate, p.Result)
	}
}

// cutShort keeps what a search has that does not come to its end, and gives the
// reason.
func (l Loop) cutShort(ctx context.Context, d *Document, why error) error {
	d.State = Failed
	if ctx.Err() != nil {
		d.State = Interrupted
	}
	d.Sentence = d.sentence()
	if len(d.Probes) == 0 {
		return why
	}
	if err := l.Keep(*d); err != nil {
		return errors.Join(why, err)
	}
	return why
}
