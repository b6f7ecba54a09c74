package target

import (
	"context"
	"errors"
	"sync"
	"time"
)

var (
	errStopping = errors.New("service is stopping")
	errFull     = errors.New("queue is full")
)

// group collects items into batches for flush: a batch is flushed when it is full, or
// when its first item has waited and a flusher is free. While all flushers are busy
// batches grow, as in a database's group commit.
type group[T any] struct {
	size  int
	wait  time.Duration
	flush func([]T) // called by several goroutines at once; may block

	in      chan T
	batches chan []T
	quit    chan struct{}
	done    sync.WaitGroup
}

// startGroup starts the collector and its flushers; stop ends them.
func startGroup[T any](size, queue, flushers int, wait time.Duration, flush func([]T)) *group[T] {
	g := &group[T]{
		size: size, wait: wait, flush: flush,
		in: make(chan T, queue), batches: make(chan []T), quit: make(chan struct{}),
	}
	g.done.Go(g.collect)
	for range flushers {
		g.done.Go(func() {
			for batch := range g.batches {
				g.flush(batch)
			}
		})
	}
	return g
}

// put blocks until there is room in the queue or ctx is done.
func (g *group[T]) put(ctx context.Context, item T) error {
	select {
	case g.in <- item:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-g.quit:
		return errStopping
	}
}

// offer refuses the item when the queue is full, and does not block.
func (g *group[T]) offer(item T) error {
	select {
	case <-g.quit:
		return errStopping
	default:
	}
	select {
	case g.in <- item:
		return nil
	default:
		return errFull
	}
}

// stop flushes the queue and waits for the last flush. It must be called after the last
// put: an item of a concurrent put may remain in the queue.
func (g *group[T]) stop() {
	close(g.quit)
	g.done.Wait()
}

func (g *group[T]) collect() {
	defer close(g.batches)
	var batch []T
	due := time.NewTimer(g.wait)
	due.Stop()
	waited := false // the first item, for long enough
	for {
		in, out := g.in, chan []T(nil)
		full := len(batch) == g.size
		if full {
			in = nil
		}
		if full || waited {
			out = g.batches
		}
		select {
		case item := <-in:
			if batch = append(batch, item); len(batch) == 1 {
				due.Reset(g.wait)
			}
		case <-due.C:
			waited = true
		case out <- batch:
			batch, waited = nil, false
			due.Stop()
		case <-g.quit:
			g.collectRest(batch)
			return
		}
	}
}

func (g *group[T]) collectRest(batch []T) {
	for {
		if len(batch) == g.size {
			g.batches <- batch
			batch = nil
		}
		select {
		case item := <-g.in:
			batch = append(batch, item)
			continue
		default:
		}
		if len(batch) > 0 {
			g.batches <- batch
		}
		return
	}
}
