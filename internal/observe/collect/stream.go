package collect

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"assay.dev/assay/internal/crash"
	"assay.dev/assay/internal/observe/metric"
)

const (
	// queueLength is how many frames are queued while the sink is slow or fails. Further
	// frames are dropped, which leaves a gap in the sequence.
	queueLength = 60
	// retryTimeout is how long sending one frame is retried.
	retryTimeout  = 2 * time.Second
	retryInterval = 100 * time.Millisecond
)

// Stream numbers the frames of one source and sends them in order. It sends from its own
// goroutine, so that a slow sink does not delay the next measurement.
type Stream struct {
	source string
	sink   Sink
	queue  chan metric.Frame
	done   crash.Group
	last   uint64 // sequence of the newest frame
	lost   int    // frames dropped because the queue was full

	failed int   // consecutive frames given up; written by the goroutine, then by Close
	err    error // of the first frame that could not be sent
}

// NewStream starts a stream, which the caller must close.
func NewStream(source string, sink Sink) *Stream {
	s := &Stream{source: source, sink: sink, queue: make(chan metric.Frame, queueLength)}
	s.done.Go(func() {
		for f := range s.queue {
			s.deliver(f)
		}
	})
	return s
}

// Send numbers a frame and queues it; it never blocks.
func (s *Stream) Send(second int64, points []metric.Point) {
	s.last++
	f := metric.Frame{Source: s.source, Sequence: s.last, Second: second, Points: measured(points)}
	select {
	case s.queue <- f:
	default:
		s.lost++
	}
}

// Put is like Send but blocks while the queue is full, for a source that sends many
// frames at once.
func (s *Stream) Put(second int64, points []metric.Point) {
	s.last++
	s.queue <- metric.Frame{Source: s.source, Sequence: s.last, Second: second, Points: measured(points)}
}

// measured leaves out values that other programs report and that are none: a NaN, an
// infinity, and a decrease of a counter.
func measured(points []metric.Point) []metric.Point {
	return slices.DeleteFunc(points, func(p metric.Point) bool {
		return p.Kind != metric.Histogram && (p.Value-p.Value != 0 || p.Kind == metric.Counter && p.Value < 0)
	})
}

// Close sends the queued frames and the closing frame, and stops the goroutine. The error
// reports frames that were not sent. After a frame is given up, each further one is tried
// only once, so that Close returns in bounded time.
func (s *Stream) Close(second int64) error {
	close(s.queue)
	s.done.Wait()
	sent := s.last
	s.last++
	s.deliver(metric.Frame{
		Source: s.source, Sequence: s.last, Second: second, Closing: true,
		Points: []metric.Point{metric.CounterPoint(metric.Of(metric.WorkerFrames), float64(sent))},
	})
	if s.lost > 0 {
		s.err = errors.Join(s.err, fmt.Errorf("send frames of %s: %d dropped, the queue was full", s.source, s.lost))
	}
	return s.err
}

func (s *Stream) deliver(f metric.Frame) {
	deadline := time.Now().Add(retryTimeout)
	for {
		err := s.sink(f)
		if err == nil {
			s.failed = 0
			return
		}
		if s.failed > 0 || time.Now().After(deadline) {
			s.failed++
			if s.err == nil {
				s.err = fmt.Errorf("send frame %d of %s: %w", f.Sequence, s.source, err)
			}
			return
		}
		time.Sleep(retryInterval)
	}
}
