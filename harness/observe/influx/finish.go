package influx

import (
	"context"
	"slices"

	"assay/harness/observe/metric"
	"assay/harness/observe/record"
)

// Result is what became of a view: of so many seconds so many are not written,
// and why.
type Result struct {
	Seconds, Missing int
	Err              error // nil: none is missing
}

// Finish writes what is left: from memory, and of what memory had no room for
// from the record, whose frames replay visits. No frame may come any more. It
// gives up some seconds after the server last took something, or when ctx is
// done.
func (v *View) Finish(ctx context.Context, replay func(visit func(metric.Frame) error) error) Result {
	v.stop()
	v.ended.Wait()
	defer v.server.Close()
	write := func(lines []byte) error { return v.server.writeWithRetry(ctx, lines) }
	err := v.flush(write, endOfTime)
	for incomplete := v.pending.incomplete(); err == nil && len(incomplete) > 0; incomplete = v.pending.incomplete() {
		err = v.fill(incomplete[:min(len(incomplete), maxKept)], write, replay)
	}
	v.note(err)
	return Result{Seconds: v.pending.total(), Missing: v.pending.missing(), Err: err}
}

// fill writes some seconds from the record.
func (v *View) fill(seconds []int64, write func([]byte) error, replay func(func(metric.Frame) error) error) error {
	line := record.NewTimeline()
	err := replay(func(f metric.Frame) error {
		if _, wanted := slices.BinarySearch(seconds, f.Second); wanted && !f.Closing {
			line.Add(f)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return sending{
		points: func(second int64) []Point { return Points(v.about, line, second) },
		write:  write,
		sent: func(seconds []int64) {
			for _, second := range seconds {
				v.pending.done[second] = true
			}
		},
	}.send(seconds)
}

// Push writes a whole record, and further points after it. progress is told how
// many of its seconds the server has.
func Push(ctx context.Context, server *Server, about About, line *record.Timeline, further []Point, progress func(done, of int)) error {
	defer server.Close()
	write := func(lines []byte) error { return server.writeWithRetry(ctx, lines) }
	seconds := slices.DeleteFunc(line.Seconds(), func(second int64) bool { return !representable(second) })
	done := 0
	err := sending{
		points: func(second int64) []Point { return Points(about, line, second) },
		write:  write,
		sent:   func(some []int64) { done += len(some); progress(done, len(seconds)) },
	}.send(seconds)
	if err != nil {
		return err
	}
	return WriteEvents(ctx, server, further)
}

// WriteEvents writes a few points of their own.
func WriteEvents(ctx context.Context, server *Server, points []Point) error {
	lines, err := Append(nil, points)
	if err != nil {
		return err
	}
	return server.writeWithRetry(ctx, lines)
}
