package experiment

import (
	"context"
	"errors"
	"sync"

	"assay/harness/spec"
)

// Trial makes one trial of a search, with its variant in place.
type Trial func(ctx context.Context, make func() error) error

// turnstile lets the searches of all variants make their trials in turn: one
// each, in the order of rounds, so that what drifts meets all alike. A search
// whose end has come is passed over.
type turnstile struct {
	mu   sync.Mutex
	cond *sync.Cond
	left []int // variants that still search, in the order of this round
	all  int
	done map[int]bool
	made int // rounds
}

func newTurnstile(variants int) *turnstile {
	t := &turnstile{all: variants, done: map[int]bool{}}
	t.cond = sync.NewCond(&t.mu)
	return t
}

// next is whose turn it is; -1 where nobody searches any more.
func (t *turnstile) next() int {
	for {
		for len(t.left) > 0 {
			if !t.done[t.left[0]] {
				return t.left[0]
			}
			t.left = t.left[1:]
		}
		if len(t.done) == t.all {
			return -1
		}
		for _, turn := range Round(t.all, t.made, 0) {
			t.left = append(t.left, turn.Variant)
		}
		t.made++
	}
}

// take waits for the variant's turn and does something in it.
func (t *turnstile) take(variant int, do func() error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.next() != variant {
		t.cond.Wait()
	}
	defer t.cond.Broadcast()
	// Others wait for their turn all the same: nothing is done at once.
	err := do()
	t.left = t.left[1:]
	return err
}

// leave ends the variant's search.
func (t *turnstile) leave(variant int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.done[variant] = true
	t.cond.Broadcast()
}

// capacities searches for all variants, trial by trial in turn. Where one search
// fails the others end too.
func (b *bench) capacities(ctx context.Context) ([]Capacity, error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	turns := newTurnstile(len(b.e.Variants))
	found, errs := make([]Capacity, len(b.e.Variants)), make([]error, len(b.e.Variants))
	var all sync.WaitGroup
	for i, v := range b.e.Variants {
		all.Go(func() {
			defer turns.leave(i)
			found[i], errs[i] = b.capacity(ctx, v, func(ctx context.Context, do func() error) error {
				return turns.take(i, func() error {
					if err := context.Cause(ctx); err != nil {
						return err
					}
					return b.under(ctx, v, do)
				})
			})
			if errs[i] != nil {
				fail(errs[i])
			}
		})
	}
	all.Wait()
	return found, first(errs)
}

// first is the error that was not caused by another's.
func first(errs []error) (err error) {
	for _, e := range errs {
		if e != nil && (err == nil || errors.Is(err, context.Canceled)) {
			err = e
		}
	}
	return err
}

func (b *bench) capacity(ctx context.Context, v spec.Variant, trial Trial) (Capacity, error) {
	d, folder, err := b.loop.Search(ctx, v, trial)
	if err != nil {
		return Capacity{}, err
	}
	return Capacity{v.Name, folder, d.State, d.Sentence, d.Lower, d.Upper, len(d.Probes)}, nil
}

// ratioOf is that of two capacities; nil where either has no lower bound, or
// neither an upper one: what held at the most that was asked for tells no ratio.
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
