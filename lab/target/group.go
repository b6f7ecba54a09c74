package target

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

var (
	errStopping = errors.New("service is stopping")
	errFull     = errors.New("queue is full")
)

// group collects items into batches for flush: a batch is flushed when it is full, or
// when its first item has waited and a flusher is free. While all flushers are busy
// batches grow, as in a database's group commit, and full ones queue.
type group[T any] struct {
	size  int
	wait  time.Duration
	flush func([]T) // called by several goroutines at once; may block

	limit   int // items that the collector holds
	head    atomic.Pointer[T]
	in      chan T
	batches chan []T
	quit    chan struct{}
	done    sync.WaitGroup
}

// startGroup starts the collector and its flushers; stop ends them. About queue items
// wait in addition to one batch; memory is used as they come.
func startGroup[T any](size, queue, flushers int, wait time.Duration, flush func([]T)) *group[T] {
	channel := min(queue, maxChannel)
	g := &group[T]{
		size: size, wait: wait, flush: flush, limit: max(size, queue-channel),
		in: make(chan T, channel), batches: make(chan []T), quit: make(chan struct{}),
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

// maxChannel bounds the buffer of the channel, which is allocated whole: a longer queue is
// in the collector's batches, which take memory as they fill.
const maxChannel = 4096

// oldest is the item that has waited for a flusher longest; nil: none waits. The item
// must not be changed.
func (g *group[T]) oldest() *T { return g.head.Load() }

func (g *group[T]) collect() {
	defer close(g.batches)
	var (
		full   [][]T // batches that wait for a flusher, in order
		batch  []T   // batch that is being filled
		held   int   // items in both
		due    = time.NewTimer(g.wait)
		waited = false // the first item of batch, for long enough
	)
	due.Stop()
	for {
		in, out, next := g.in, chan []T(nil), batch
		if held >= g.limit {
			in = nil
		}
		if len(full) > 0 {
			out, next = g.batches, full[0]
		} else if waited {
			out = g.batches
		}
		g.setOldest(next)
		select {
		case item := <-in:
			held++
			if batch = append(batch, item); len(batch) == 1 {
				due.Reset(g.wait)
			}
			if len(batch) == g.size {
				full, batch, waited = append(full, batch), nil, false
				due.Stop()
			}
		case <-due.C:
			waited = true
		case out <- next:
			held -= len(next)
			if len(full) > 0 {
				full[0] = nil
				full = full[1:]
				continue
			}
			batch, waited = nil, false
			due.Stop()
		case <-g.quit:
			g.flushRest(full, batch)
			return
		}
	}
}

func (g *group[T]) setOldest(batch []T) {
	if len(batch) == 0 {
		g.head.Store(nil)
		return
	}
	g.head.Store(&batch[0])
}

// flushRest flushes what is held, then what is in the channel.
func (g *group[T]) flushRest(full [][]T, batch []T) {
	defer g.head.Store(nil)
	for i, b := range full {
		g.setOldest(b)
		g.batches <- b
		full[i] = nil
	}
	for {
		g.setOldest(batch)
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
