package receiver

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"sync"
	"time"

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
	decoders sync.Pool // of *metric.Decoder, which know the workers' series

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

// allows reports whether a sender may send frames of this source: a worker its own, and
// who only knows the run's token foreign ones.
func allows(sender wire.Sender, source string) bool {
	if sender.Worker {
		return source == metric.WorkerSource(sender.Number)
	}
	return metric.IsForeign(source)
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
