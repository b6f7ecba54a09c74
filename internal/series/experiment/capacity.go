package experiment

import (
	"context"
	"sync"

	"assay.dev/assay/internal/crash"
	"assay.dev/assay/internal/spec"
)

// Trial calls do, which makes one trial of a variant's search, in its turn and with the
// variant applied.
type Trial func(ctx context.Context, do func() error) error

// roundRobin lets the concurrent searches of all variants make one trial at a time,
// in the order of rounds, so that drift affects all variants equally. Searches that
// have ended are skipped.
type roundRobin struct {
	mu       sync.Mutex
	cond     *sync.Cond
	queue    []int // variants of this round that have not had their turn
	variants int
	done     map[int]bool
	rounds   int // started
}

func newRoundRobin(variants int) *roundRobin {
	t := &roundRobin{variants: variants, done: map[int]bool{}}
	t.cond = sync.NewCond(&t.mu)
	return t
}

// next is the variant whose turn it is; -1 if all searches have ended.
func (t *roundRobin) next() int {
	for {
		for len(t.queue) > 0 {
			if !t.done[t.queue[0]] {
				return t.queue[0]
			}
			t.queue = t.queue[1:]
		}
		if len(t.done) == t.variants {
			return -1
		}
		for _, turn := range Round(t.variants, t.rounds, 0) {
			t.queue = append(t.queue, turn.Variant)
		}
		t.rounds++
	}
}

// run waits for the variant's turn and calls do.
func (t *roundRobin) run(variant int, do func() error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.next() != variant {
		t.cond.Wait()
	}
	defer t.cond.Broadcast()
	err := do() // with the lock held: the others have to wait anyway
	t.queue = t.queue[1:]
	return err
}

// finish ends the variant's search.
func (t *roundRobin) finish(variant int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.done[variant] = true
	t.cond.Broadcast()
}

// capacities searches for the highest rate of every variant, their trials in turn. If
// one search fails, the others end too.
func (b *runner) capacities(ctx context.Context) ([]Capacity, error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	turns := newRoundRobin(len(b.e.Variants))
	found := make([]Capacity, len(b.e.Variants))
	var all crash.Group
	for i, v := range b.e.Variants {
		all.Go(func() {
			defer turns.finish(i)
			var err error
			if found[i], err = b.capacity(ctx, v, b.inTurn(turns, i)); err != nil {
				fail(err) // unless another one has
			}
		})
	}
	all.Wait()
	return found, context.Cause(ctx)
}

// inTurn makes the trials of a variant's search.
func (b *runner) inTurn(turns *roundRobin, variant int) Trial {
	return func(ctx context.Context, do func() error) error {
		return turns.run(variant, func() error {
			if err := context.Cause(ctx); err != nil {
				return err
			}
			return b.withVariant(ctx, b.e.Variants[variant], do)
		})
	}
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
