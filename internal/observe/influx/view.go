package influx

import (
	"context"
	"sync"
	"time"

	"assay.dev/assay/internal/crash"
	"assay.dev/assay/internal/observe/metric"
)

const (
	// writeDelay is the time in seconds from the start of a second until it is first
	// written: its frames arrive about 0.25 s after its end.
	writeDelay = 2
	// lateSeconds is the time in seconds, beyond the transactions' timeout, for which a
	// second stays in memory for late completions.
	lateSeconds = 15
	// maxBuffered bounds the seconds in memory during an outage of the server or with a
	// long timeout. A second of 100 histograms takes about 0.2 MiB.
	maxBuffered = 150

	firstPause = 500 * time.Millisecond // after a failed write; doubled after each further one
	maxPause   = 5 * time.Second
)

// View writes a run's seconds during the run. Its memory is bounded, and only Check and
// Finish wait for the server.
type View struct {
	server  *Server
	stop    context.CancelFunc
	writing crash.Group

	mu       sync.Mutex
	run      RunInfo
	pending  *pending
	err      error // error of the last write or check
	reported bool  // StatusChange has returned the error
}

// NewView makes a view that buffers frames. It starts to write with Begin.
func NewView(server *Server) *View {
	return &View{server: server, stop: func() {}, pending: newPending(maxBuffered)}
}

// Check checks whether the server can be written to, for StatusChange to return.
func (v *View) Check(ctx context.Context) { v.setError(v.server.Check(ctx)) }

// Add adds a frame. It never waits for the server, at most until the points of one
// second are made.
func (v *View) Add(f metric.Frame) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.pending.add(f)
}

// Begin starts the writing. T0 must have a monotonic reading, so that steps of the wall
// clock do not matter.
func (v *View) Begin(run RunInfo) {
	v.run = run
	var ctx context.Context
	ctx, v.stop = context.WithCancel(context.Background())
	v.writing.Go(func() { v.write(ctx) })
}

// Close stops the writing without completing the view. A second call does nothing.
func (v *View) Close() {
	v.stop()
	v.writing.Wait()
	v.server.Close()
}

// StatusChange returns the change of the server's status since the last call: an error
// if writing has started to fail, or recovered if it works again.
func (v *View) StatusChange() (err error, recovered bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if (v.err != nil) == v.reported {
		return nil, false
	}
	v.reported = !v.reported
	return v.err, !v.reported
}

// write writes once a second the seconds that are due, and backs off after a failed
// write.
func (v *View) write(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for pause := firstPause; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := v.run.T0.Unix() + int64(time.Since(v.run.T0)/time.Second)
		err := v.flush(func(lines []byte) error { return v.server.Write(ctx, lines) }, now-writeDelay+1)
		v.setError(err)
		if err == nil {
			pause = firstPause
			v.mu.Lock()
			v.pending.evictBefore(now - int64(v.run.Plan.Load.Longest()/time.Second) - lateSeconds)
			v.mu.Unlock()
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

// flush writes the seconds before end that are due.
func (v *View) flush(write func([]byte) error, end int64) error {
	v.mu.Lock()
	due := v.pending.due(end)
	v.mu.Unlock()
	frames := map[int64]int{} // included in the points, by second
	return sender{
		points: func(second int64) []Point {
			v.mu.Lock()
			defer v.mu.Unlock()
			s := v.pending.seconds[second]
			if s.timeline == nil {
				return nil // evicted while other seconds were written
			}
			frames[second] = s.frames
			return Points(v.run, s.timeline, second)
		},
		write: write,
		sent: func(seconds []int64) {
			v.mu.Lock()
			defer v.mu.Unlock()
			for _, second := range seconds {
				v.pending.seconds[second].written = frames[second] // 0 if it was evicted
			}
		},
	}.send(due)
}

// setError sets the result of the last write, for StatusChange.
func (v *View) setError(err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.err = err
}
