package collect

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"assay.dev/assay/internal/crash"
	"assay.dev/assay/internal/observe/metric"
)

// Sink takes a frame; it may block briefly and must not keep the frame's points
// after an error. After an error a frame may be sent again, with the same sequence.
type Sink func(metric.Frame) error

// Collector is a source of frames other than a worker. Its methods are called
// in the order Start, Run, Close, each once; Close also after a failed Start.
type Collector interface {
	// Source returns the name of the frames' source, such as metric.SourceDatabase.
	Source() string
	// Start connects and enables instruments. Its error says what to run or to change.
	Start(ctx context.Context) error
	// Run sends one frame per second until ctx is done, then the last frame and the
	// closing frame. A failure is retried, in bounded time, and leaves a gap in the
	// data. It returns soon after ctx is done, even if the source does not answer.
	Run(ctx context.Context, sink Sink) error
	// Close restores what Start changed, also after a failed Run, in bounded time. A
	// second call does nothing.
	Close() error
}

// firstTries bounds the tries of First.
const firstTries = 3

// First makes the first reading of a source: it calls read again if it times out, so that
// one slow response of a busy system does not cost the run the source. Other errors are
// returned at once.
func First(ctx context.Context, read func(context.Context) error) (err error) {
	for range firstTries {
		if err = read(ctx); !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			break
		}
	}
	return err
}

// Notes collects the limitations of a collector's data, as sentences for the
// certificate, each with its remedy. It is safe for concurrent use.
type Notes struct {
	mu    sync.Mutex
	texts []string
}

// Add adds a sentence unless it was added before.
func (n *Notes) Add(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if text := fmt.Sprintf(format, args...); !slices.Contains(n.texts, text) {
		n.texts = append(n.texts, text)
	}
}

// All returns the sentences in the order in which they were added.
func (n *Notes) All() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.texts)
}

// maxHeader bounds the header of an answer, bytes.
const maxHeader = 64 << 10

// Client returns a client for a system that must be called directly: without the proxies that
// the environment names, and without redirects, which could lead anywhere.
func Client(dialTimeout time.Duration) (*http.Client, *http.Transport) {
	t := &http.Transport{
		MaxIdleConnsPerHost: 1, MaxResponseHeaderBytes: maxHeader, DialContext: (&net.Dialer{Timeout: dialTimeout}).DialContext,
	}
	return &http.Client{
		Transport:     t,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, t
}

// IsLoopback reports whether a host name or address is this machine's loopback. It looks
// nothing up.
func IsLoopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

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
	err    error // error of the first frame that could not be sent
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
	select {
	case s.queue <- s.next(second, points):
	default:
		s.lost++
	}
}

// Put is like Send but blocks while the queue is full, for a source that sends many
// frames at once.
func (s *Stream) Put(second int64, points []metric.Point) { s.queue <- s.next(second, points) }

func (s *Stream) next(second int64, points []metric.Point) metric.Frame {
	s.last++
	return metric.Frame{Source: s.source, Sequence: s.last, Second: second, Points: measured(points)}
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

// Seconds numbers the seconds of one run. It reads the wall clock once and the monotonic
// clock from then on, so that no second is skipped, repeated or prolonged when the wall
// clock is set.
type Seconds struct {
	zero time.Time // start of second 0, with a monotonic reading
	unix int64     // label of second 0, in unix seconds
}

// NewSeconds returns a numbering whose second 0 is the wall clock second that contains
// now. now must carry a monotonic reading, as the result of time.Now does.
func NewSeconds(now time.Time) Seconds {
	return Seconds{zero: now.Add(-time.Duration(now.Nanosecond())), unix: now.Unix()}
}

// Index returns the number of the second that contains t; it is negative before second 0.
func (s Seconds) Index(t time.Time) int64 {
	return int64(math.Floor(t.Sub(s.zero).Seconds()))
}

// Unix returns the label of second i, in unix seconds.
func (s Seconds) Unix(i int64) int64 { return s.unix + i }

// Begin returns the start of second i.
func (s Seconds) Begin(i int64) time.Time { return s.zero.Add(time.Duration(i) * time.Second) }

// Sleep waits until t or until done is closed, and reports whether t was reached.
func Sleep(done <-chan struct{}, t time.Time) bool {
	select {
	case <-done:
		return false
	default:
	}
	select {
	case <-done:
		return false
	case <-time.After(time.Until(t)):
		return true
	}
}

// EverySecond calls read at the end of each second, and once more when ctx is done, and
// sends the points as the frame of that second. A second that passed during a slow read
// gets a frame without points, as nothing was measured in it. read must return in bounded
// time: it is not cancelled with ctx, so that the last increases are not lost.
func EverySecond(ctx context.Context, source string, sink Sink, read func() []metric.Point) error {
	seconds := NewSeconds(time.Now())
	stream := NewStream(source, sink)
	current := int64(0) // second of the next frame
	for Sleep(ctx.Done(), seconds.Begin(current+1)) {
		last := max(seconds.Index(time.Now())-1, current)
		for ; current < last; current++ {
			stream.Send(seconds.Unix(current), nil)
		}
		stream.Send(seconds.Unix(current), read())
		current++
	}
	stream.Send(seconds.Unix(current), read())
	return stream.Close(seconds.Unix(current))
}
