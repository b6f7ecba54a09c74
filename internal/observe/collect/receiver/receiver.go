package receiver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"assay.dev/assay/internal/observe/collect"
	"assay.dev/assay/internal/observe/ledger"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/wire"
)

// Sinks receive the contents of messages. They are called by one goroutine at a time and
// may block. After an error the sender repeats the message, unless a file could not be written.
type Sinks struct {
	// Frames receives the frames of one message, which are valid until it returns. encoded
	// is the message, if it holds these frames and nothing else; nil: they are to be
	// encoded.
	Frames func(frames []metric.Frame, encoded []byte) error
	// Acknowledged receives entries. batch is the number of their message within their
	// source: 1, 2, 3, ...
	Acknowledged func(source string, batch uint64, entries []ledger.Entry) error
	// Flush makes what was passed on so far durable; a message is acknowledged after it.
	// nil: nothing is to be done.
	Flush func() error
}

// MaxBody bounds one message, bytes: the frames of one second with 200 series of wide
// histograms are less than 1 MiB (ours).
const MaxBody = 64 << 20

// Receiver receives messages and ignores repeated ones.
type Receiver struct {
	sinks    Sinks
	keys     wire.Keys
	log      *slog.Logger
	decoders sync.Pool // pool of *metric.Decoder, which know the workers' series

	mu       sync.Mutex
	frames   map[string]uint64 // highest sequence accepted, by source
	acks     map[string]uint64 // likewise, of acknowledgements
	foreign  *metric.Accumulation
	accepted uint64 // messages that were passed on
	closed   bool

	flushing  sync.Mutex
	flushed   uint64    // messages that are durable, of accepted
	flushedAt time.Time // when the last flush had ended
}

// New returns a receiver of the messages that the keys allow.
func New(sinks Sinks, keys wire.Keys, log *slog.Logger) *Receiver {
	return &Receiver{
		sinks: sinks, keys: keys, log: log, frames: map[string]uint64{}, acks: map[string]uint64{},
		foreign:  metric.NewAccumulation(time.Now()),
		decoders: sync.Pool{New: func() any { return &metric.Decoder{Masked: true} }},
	}
}

// Continue ignores the messages up to these numbers, by source, which the record of a
// run that was interrupted holds already.
func (r *Receiver) Continue(frames, acknowledged map[string]uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.Copy(r.frames, frames)
	maps.Copy(r.acks, acknowledged)
}

// errClosed is the answer to a message after Close.
var errClosed = errors.New("the run has ended")

// Close rejects further messages. After it returns, no sink is called.
func (r *Receiver) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
}

// Routes adds the receiver's handlers to mux.
func (r *Receiver) Routes(mux *http.ServeMux) {
	mux.HandleFunc("POST "+wire.PathMetrics, r.handleMetrics)
	mux.HandleFunc("POST "+wire.PathAcknowledged, r.handleAcknowledged)
}

// sender is who sent a request; false: it was refused.
func (r *Receiver) sender(w http.ResponseWriter, req *http.Request) (wire.Sender, bool) {
	sender, known := r.keys.Sender(wire.Bearer(req))
	if !known {
		http.Error(w, "the run's token is missing or wrong", http.StatusUnauthorized)
	}
	return sender, known
}

// Take passes on a frame of this process, without making it durable.
func (r *Receiver) Take(f metric.Frame) error {
	_, err := r.take([]metric.Frame{f}, nil)
	return err
}

// FlushEvery is the shortest time from one flush to the next. All workers send at the end
// of each second. On a coordinator with one core a flush would otherwise be of a single
// message: it ends before the next message was read. As the record is compressed by flush,
// its frames then take twice as much disk (docs/capacity.md).
const FlushEvery = 5 * time.Millisecond

// commit returns when the messages up to number are durable. While one request waits to
// flush and flushes, others are accepted, and the flush is for them too (group commit).
func (r *Receiver) commit(number uint64, err error) error {
	if err != nil {
		return err
	}
	if r.sinks.Flush == nil {
		return nil
	}
	r.flushing.Lock()
	defer r.flushing.Unlock()
	if r.flushed >= number {
		return nil
	}
	time.Sleep(FlushEvery - time.Since(r.flushedAt))
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return errClosed
	}
	if err := r.sinks.Flush(); err != nil {
		return err
	}
	r.flushed, r.flushedAt = r.accepted, time.Now()
	return nil
}

// refuse responds to a message that was not recorded. Nothing can be recorded after that:
// whoever owns the sinks reports why and ends the run. After Close this is not an error, and
// the response tells the sender not to retry.
func (r *Receiver) refuse(w http.ResponseWriter, err error) {
	var file *fs.PathError // the record cannot be written, and the run ends: to send again would hold it up
	if errors.Is(err, errClosed) || errors.As(err, &file) {
		http.Error(w, err.Error(), http.StatusGone)
		return
	}
	http.Error(w, err.Error(), http.StatusServiceUnavailable)
}

func read(w http.ResponseWriter, req *http.Request) ([]byte, bool) {
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, MaxBody))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		http.Error(w, fmt.Sprintf("message is larger than %d bytes", large.Limit), http.StatusRequestEntityTooLarge)
	case err != nil:
		http.Error(w, "message cannot be read: "+err.Error(), http.StatusBadRequest)
	}
	return body, err == nil
}

func (r *Receiver) handleAcknowledged(w http.ResponseWriter, req *http.Request) {
	source := req.Header.Get(wire.HeaderSource)
	sequence, err := strconv.ParseUint(req.Header.Get(wire.HeaderSequence), 10, 64)
	if err != nil || source == "" || sequence == 0 {
		http.Error(w, fmt.Sprintf("headers %s and %s must name source and sequence", wire.HeaderSource, wire.HeaderSequence), http.StatusBadRequest)
		return
	}
	sender, ok := r.sender(w, req)
	if !ok {
		return
	}
	// A worker may send its own, and who only knows the run's token foreign ones.
	if sender.Worker && source != metric.WorkerSource(sender.Number) || !sender.Worker && !metric.IsForeign(source) {
		http.Error(w, fmt.Sprintf("acknowledgements of %q are not this sender's", source), http.StatusForbidden)
		return
	}
	body, ok := read(w, req)
	if !ok {
		return
	}
	entries, err := ledger.ParseText(bytes.NewReader(body))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if err := r.commit(r.acknowledge(source, sequence, entries)); err != nil {
		r.refuse(w, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// acknowledge passes entries on, except repeated ones. It returns the message's number,
// for commit.
func (r *Receiver) acknowledge(source string, sequence uint64, entries []ledger.Entry) (number uint64, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return 0, errClosed
	}
	if sequence > r.acks[source] {
		if err := r.sinks.Acknowledged(source, sequence, entries); err != nil {
			return 0, err
		}
		r.acks[source] = sequence
	}
	r.accepted++
	return r.accepted, nil
}

// Delays measures how late the workers' reports are: from the end of the second that a
// worker reports on until the report is passed on.
type Delays struct {
	now func() time.Time

	mu    sync.Mutex
	worst map[string]time.Duration // by worker, since the last reading
}

var _ collect.Collector = (*Delays)(nil)

// NewDelays makes an empty collector.
func NewDelays() *Delays { return &Delays{now: time.Now, worst: map[string]time.Duration{}} }

// Add notes a frame that was passed on. Transactions are counted in the second in which
// they were scheduled, so that only the frame about the worker itself is of the second
// before it was sent.
func (d *Delays) Add(f metric.Frame) {
	if !metric.IsWorker(f.Source) || !slices.ContainsFunc(f.Points, func(p metric.Point) bool { return p.Series.Name == metric.WorkerCPU }) {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.worst[f.Source] = max(d.worst[f.Source], d.now().Sub(time.Unix(f.Second+1, 0)))
}

func (d *Delays) Source() string { return metric.SourceReceiver }

func (d *Delays) Start(context.Context) error { return nil }

func (d *Delays) Run(ctx context.Context, sink collect.Sink) error {
	return collect.EverySecond(ctx, d.Source(), sink, d.read)
}

func (d *Delays) Close() error { return nil }

func (d *Delays) read() (points []metric.Point) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, source := range slices.Sorted(maps.Keys(d.worst)) {
		ms := float64(d.worst[source]) / float64(time.Millisecond)
		points = append(points, metric.GaugePoint(metric.Of(metric.ReceiveDelay, "worker", source), ms))
	}
	clear(d.worst)
	return points
}
