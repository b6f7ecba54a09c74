package influx

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
)

// Result is the final state of a view.
type Result struct {
	Seconds int   // seconds of the run
	Missing int   // seconds that were not written, or not completely
	Err     error // why they are missing; nil if none is
}

// Finish writes the remaining seconds: from memory, and those that memory had no room
// for from the record, whose frames replay visits. Add must not be called any more. It
// returns when a write fails for longer than retryTimeout, or when ctx is done.
func (v *View) Finish(ctx context.Context, replay func(visit func(metric.Frame) error) error) Result {
	v.stop()
	v.writing.Wait()
	defer v.server.Close()
	write := func(lines []byte) error { return v.server.writeWithRetry(ctx, lines) }
	err := v.flush(write, endOfTime)
	for incomplete := v.pending.incomplete(); err == nil && len(incomplete) > 0; incomplete = v.pending.incomplete() {
		err = v.fill(incomplete[:min(len(incomplete), maxBuffered)], write, replay)
	}
	v.setError(err)
	return Result{Seconds: len(v.pending.seconds), Missing: len(v.pending.due(endOfTime)) + len(v.pending.incomplete()), Err: err}
}

// fill writes some seconds from the record.
func (v *View) fill(seconds []int64, write func([]byte) error, replay func(func(metric.Frame) error) error) error {
	timeline := record.NewTimeline()
	err := replay(func(f metric.Frame) error {
		if _, wanted := slices.BinarySearch(seconds, f.Second); wanted && !f.Closing {
			timeline.Add(f)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return sender{
		points: func(second int64) []Point { return Points(v.run, timeline, second) },
		write:  write,
		sent: func(seconds []int64) {
			for _, second := range seconds {
				v.pending.seconds[second].written = v.pending.seconds[second].frames
			}
		},
	}.send(seconds)
}

// Push takes at most pushFor, and pushForSecond for each second: a server may answer each
// write just in time. One that is well takes a day in less than a minute.
var pushFor, pushForSecond = time.Minute, 20 * time.Millisecond

// Push writes a whole record, then the events. It calls progress after each write, with
// the number of seconds that the server has and their total.
func Push(ctx context.Context, server *Server, run RunInfo, timeline *record.Timeline, events []Point, progress func(done, total int)) error {
	defer server.Close()
	seconds := slices.DeleteFunc(timeline.Seconds(), func(second int64) bool { return !representable(second) })
	limit := pushFor + time.Duration(len(seconds))*pushForSecond
	ctx, cancel := context.WithTimeoutCause(ctx, limit, hint.With(fmt.Errorf("%s has not taken the run's %d seconds within %v", server, len(seconds), limit),
		"see whether the server is overloaded; a push that is repeated fills the gaps"))
	defer cancel()
	write := func(lines []byte) error { return server.writeWithRetry(ctx, lines) }
	done := 0
	err := sender{
		points: func(second int64) []Point { return Points(run, timeline, second) },
		write:  write,
		sent:   func(batch []int64) { done += len(batch); progress(done, len(seconds)) },
	}.send(seconds)
	if err == nil {
		err = WriteEvents(ctx, server, events)
	}
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// WriteEvents writes single points, such as Verdict's.
func WriteEvents(ctx context.Context, server *Server, points []Point) error {
	lines, err := Append(nil, points)
	if err != nil {
		return err
	}
	return server.writeWithRetry(ctx, lines)
}

const (
	// batchLines is the number of lines after which a batch is written; InfluxData
	// recommends 5,000 to 10,000.
	batchLines = 5000
	// retryTimeout bounds the attempts of one write.
	retryTimeout = 5 * time.Second
)

// sender sends seconds to the server in batches. A batch holds whole seconds, so that a
// write that fails leaves no second incomplete.
type sender struct {
	points func(second int64) []Point
	write  func(lines []byte) error
	sent   func(seconds []int64) // called with the seconds of each successful write
}

// send sends the seconds until a write fails. After a batch that the server rejects it
// goes on with the next.
func (s sender) send(seconds []int64) error {
	var rejected error
	var lines []byte
	var batch []int64
	count := 0
	for i, second := range seconds {
		points := s.points(second)
		var err error
		if lines, err = Append(lines, points); err != nil {
			return err
		}
		batch = append(batch, second)
		if count += len(points); count < batchLines && i < len(seconds)-1 {
			continue
		}
		if count > 0 { // a second may have only metrics that are not shown
			err = s.write(lines)
		}
		switch {
		case err == nil:
			s.sent(batch)
		case errors.As(err, new(*rejectedError)):
			rejected = cmp.Or(rejected, err)
		default:
			return err
		}
		lines, batch, count = lines[:0], batch[:0], 0
	}
	return rejected
}

// writeWithRetry writes, and retries with backoff until retryTimeout unless the server
// rejects the points.
func (s *Server) writeWithRetry(ctx context.Context, lines []byte) error {
	ctx, cancel := context.WithTimeout(ctx, retryTimeout)
	defer cancel()
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		err := s.Write(ctx, lines)
		if err == nil || errors.As(err, new(*rejectedError)) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
		if ctx.Err() != nil {
			return err // another attempt would only report the timeout
		}
	}
}
