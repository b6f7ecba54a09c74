package synthetic

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/testing/synthetic"
	"assay.dev/assay/internal/wire"
	"assay.dev/assay/internal/wire/identity"
	"assay.dev/assay/lab/bench/longrun"
)

// Options say which fleet joins which run.
type Options struct {
	Address identity.Address // address of the coordinator
	Token   string           // token of the run
	Tool    wire.Tool        // build of the coordinator
	Shape   longrun.Shape    // shape of the run: its workers, and what they measure
	Load    plan.Plan        // plan of the run
	// Eager workers send the messages of the next second as soon as the last ones are
	// acknowledged, until Stop; others send each second's after its end.
	Eager bool
	// Prepared is how many messages each worker makes before the start, of the seconds from
	// then on. To make a message costs more than to receive it.
	Prepared int
}

// Fleet is a running fleet.
type Fleet struct {
	Options
	arrivals []int64 // by second
	started  chan struct{}
	t0       time.Time // set when started is closed
	ending   chan struct{}
	stopOnce sync.Once
	running  *errgroup.Group

	preparing sync.Mutex

	mu     sync.Mutex
	counts Counts
}

// Counts is what was acknowledged.
type Counts struct {
	Messages int64 // with frames
	Frames   int64
	Bytes    int64 // bytes of the frames, not compressed
	Batches  int64 // batches of acknowledged transactions
	Entries  int64 // in the batches
	Repeated int64 // attempts beyond the first
	// Delays are those of the messages with frames until they were acknowledged, ms: from
	// the instant at which the worker meant to send, or, if it is eager, from its sending.
	Delays metric.Hist
}

// Start starts all workers of the fleet. They end with their part of the run, after Stop
// or, with an error, when ctx is done.
func Start(ctx context.Context, o Options) *Fleet {
	f := &Fleet{Options: o, arrivals: synthetic.Arrivals(o.Load), started: make(chan struct{}), ending: make(chan struct{})}
	f.running, ctx = errgroup.WithContext(ctx)
	for range o.Shape.Workers {
		f.running.Go(func() error { return f.work(ctx) })
	}
	return f
}

// begin notes the common start.
func (f *Fleet) begin(t0 time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.t0.IsZero() {
		f.t0 = t0
		close(f.started)
	}
}

// AwaitStart returns t0 when the first worker knows it.
func (f *Fleet) AwaitStart(ctx context.Context) (time.Time, error) {
	ended := make(chan struct{})
	go func() {
		_ = f.running.Wait()
		close(ended)
	}()
	select {
	case <-f.started:
		return f.t0, nil
	case <-ended:
		return time.Time{}, errors.Join(errors.New("the fleet did not start"), f.Wait())
	case <-ctx.Done():
		return time.Time{}, context.Cause(ctx)
	}
}

// Stop lets the workers close their streams and end.
func (f *Fleet) Stop() { f.stopOnce.Do(func() { close(f.ending) }) }

// Wait returns when all workers have ended, and why the first one failed.
func (f *Fleet) Wait() error { return f.running.Wait() }

// Take returns what was acknowledged since the last call.
func (f *Fleet) Take() Counts {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.counts
	f.counts = Counts{}
	return c
}

// count adds one acknowledged message.
func (f *Fleet) count(add func(*Counts)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	add(&f.counts)
}
