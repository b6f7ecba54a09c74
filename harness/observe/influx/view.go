package influx

import (
	"context"
	"sync"
	"time"

	"assay/harness/observe/metric"
)

const (
	// settled is how long after its begin a second is first written: its frames
	// come about a quarter of one after its end.
	settled = 2
	// late is how long, beyond the transactions' time-out, a second stays in
	// memory for late completions.
	late = 15
	// maxKept bounds the seconds in memory, by an outage of the server or by a
	// long time-out. A second of 100 histograms takes about 0.2 MiB.
	maxKept = 150

	firstPause = 500 * time.Millisecond // after a write that failed; doubled from there
	maxPause   = 5 * time.Second
)

// View writes a run's seconds while it goes on. What it holds is bounded, and
// nothing waits for the server but Finish.
type View struct {
	server *Server
	stop   context.CancelFunc
	ended  sync.WaitGroup

	mu      sync.Mutex
	about   About
	pending *pending
	trouble error // why the last write failed; nil: it did not
	told    bool  // News has reported the trouble
}

// NewView makes a view that gathers frames. It writes from Begin on.
func NewView(server *Server) *View {
	return &View{server: server, stop: func() {}, pending: newPending(maxKept)}
}

// Check looks whether the server can be written to, for News to tell.
func (v *View) Check(ctx context.Context) { v.note(v.server.Check(ctx)) }

// Add takes a frame. It waits for nothing but the making of one second's points.
func (v *View) Add(f metric.Frame) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.pending.add(f)
}

// Begin starts the writing. T0 carries its monotonic reading, by which the
// seconds go whatever becomes of the wall clock.
func (v *View) Begin(about About) {
	v.about = about
	var ctx context.Context
	ctx, v.stop = context.WithCancel(context.Background())
	v.ended.Go(func() { v.write(ctx) })
}

// Close ends the writing where it stands. A second call does nothing.
func (v *View) Close() {
	v.stop()
	v.ended.Wait()
	v.server.Close()
}

// News is what there is to tell of the server since it was last asked: trouble
// that has come, or nil and true where it is gone again.
func (v *View) News() (trouble error, recovered bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch was := v.told; {
	case v.trouble != nil && !was:
		v.told = true
		return v.trouble, false
	case v.trouble == nil && was:
		v.told = false
		return nil, true
	}
	return nil, false
}

// write writes every second what has settled or changed, and pauses where the
// server does not take it.
func (v *View) write(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for pause := firstPause; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := v.about.T0.Unix() + int64(time.Since(v.about.T0)/time.Second)
		err := v.flush(func(lines []byte) error { return v.server.Write(ctx, lines) }, now-settled+1)
		v.note(err)
		if err == nil {
			pause = firstPause
			v.settle(now)
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
			pause = min(2*pause, maxPause)
		}
	}
}

func (v *View) settle(now int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.pending.settle(now - int64(v.about.Plan.Load.Timeout/time.Second) - late)
}

// flush writes what is due before the end.
func (v *View) flush(write func([]byte) error, end int64) error {
	v.mu.Lock()
	due := v.pending.due(end)
	v.mu.Unlock()
	changes := map[int64]int{} // when the points were made
	return sending{
		points: func(second int64) []Point {
			v.mu.Lock()
			defer v.mu.Unlock()
			k := v.pending.kept[second]
			if k == nil {
				return nil // forgotten while others were written
			}
			changes[second] = k.changes
			return Points(v.about, k.line, second)
		},
		write: write,
		sent: func(seconds []int64) {
			v.mu.Lock()
			defer v.mu.Unlock()
			for _, second := range seconds {
				if k := v.pending.kept[second]; k != nil {
					k.written = changes[second]
				}
			}
		},
	}.send(due)
}

// note keeps how the last write went, for News.
func (v *View) note(err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.trouble = err
}
