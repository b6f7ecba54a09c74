package experiment

import (
	"cmp"
	"context"
	"iter"

	"assay.dev/assay/internal/spec"
)

// Trial calls do, which makes one trial of a variant's search, in its turn and with the
// variant applied.
type Trial func(ctx context.Context, do func() error) error

// capacities searches for the highest rate of every variant. The searches make one trial at
// a time, in rounds whose order is drawn like that of the runs; those that have ended are
// skipped. If one fails, the others end too.
func (b *runner) capacities(ctx context.Context) ([]Capacity, error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	found, failed := make([]Capacity, len(b.e.Variants)), error(nil)
	left := map[int]func() (struct{}, bool){} // continues a search up to its next trial
	for i, v := range b.e.Variants {
		next, stop := iter.Pull(func(yield func(struct{}) bool) {
			var err error
			found[i], err = b.capacity(ctx, v, func(ctx context.Context, do func() error) error {
				more := yield(struct{}{})
				if err := context.Cause(ctx); err != nil || !more {
					return cmp.Or(err, context.Canceled)
				}
				return b.withVariant(ctx, v, do)
			})
			failed = cmp.Or(failed, err)
		})
		defer stop()
		if _, more := next(); more {
			left[i] = next
		}
	}
	for round := 0; len(left) > 0 && failed == nil; round++ {
		for _, turn := range Round(len(b.e.Variants), round, b.a.Seed) {
			if next := left[turn.Variant]; next != nil && failed == nil {
				if _, more := next(); !more {
					delete(left, turn.Variant)
				}
			}
		}
	}
	if failed != nil {
		fail(failed)
	}
	return found, failed
}

func (b *runner) capacity(ctx context.Context, v spec.Variant, trial Trial) (Capacity, error) {
	d, folder, err := b.loop.Search(ctx, v, trial)
	if err != nil {
		return Capacity{}, err
	}
	return Capacity{v.Name, folder, string(d.State), d.Sentence, d.Lower, d.Upper, len(d.Probes)}, nil
}

// ratioOf is the ratio of capacity b to a; nil if either has no lower bound, or
// neither has an upper bound.
func ratioOf(a, b Capacity) *Ratio {
	if a.Lower == nil || b.Lower == nil || a.Upper == nil && b.Upper == nil {
		return nil
	}
	r := &Ratio{}
	if a.Upper != nil && b.Upper != nil {
		ratio := *b.Lower / *a.Lower
		r.Ratio = &ratio
	}
	if a.Upper != nil {
		least := *b.Lower / *a.Upper
		r.Least = &least
	}
	if b.Upper != nil {
		most := *b.Upper / *a.Lower
		r.Most = &most
	}
	return r
}
