package receiver

import (
	"bytes"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"assay/harness/observe/ledger"
	"assay/harness/observe/metric"
	"assay/harness/wire"
)

// Sinks receive the contents of messages. They are called by one goroutine at a time and
// may block. After an error the sender repeats the message.
type Sinks struct {
	Frame        func(metric.Frame) error
	Acknowledged func(source string, entries []ledger.Entry) error
}

// maxBody bounds one message: a frame of 200 series with wide histograms is less than
// 1 MiB, and a worker that lost its connection sends up to 15 s of frames at once.
const maxBody = 64 << 20

// Receiver receives messages and ignores repeated ones.
type Receiver struct {
	sinks Sinks
	log   *slog.Logger

	mu     sync.Mutex
	frames map[string]uint64 // highest sequence accepted, by source
	acks   map[string]uint64 // likewise, of acknowledgements
	closed bool
}

// New returns a receiver.
func New(sinks Sinks, log *slog.Logger) *Receiver {
	return &Receiver{sinks: sinks, log: log, frames: map[string]uint64{}, acks: map[string]uint64{}}
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

// Authorize rejects requests without the token.
func Authorize(token string, next http.Handler) http.Handler {
	want := []byte("Bearer " + token)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), want) != 1 {
			http.Error(w, "the run's token is missing or wrong", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (r *Receiver) handleMetrics(w http.ResponseWriter, req *http.Request) {
	if !strings.HasPrefix(req.Header.Get("Content-Type"), "application/x-protobuf") {
		http.Error(w, "send OTLP as application/x-protobuf", http.StatusUnsupportedMediaType)
		return
	}
	body, ok := read(w, req)
	if !ok {
		return
	}
	frames, err := metric.Decode(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if err := r.take(frames); err != nil {
		r.refuse(w, "frame not recorded", err)
		return
	}
	// An empty body is an empty ExportMetricsServiceResponse: everything was accepted.
	w.Header().Set("Content-Type", "application/x-protobuf")
	w.WriteHeader(http.StatusOK)
}

// Take passes one frame on as if it had been received over HTTP.
func (r *Receiver) Take(f metric.Frame) error { return r.take([]metric.Frame{f}) }

// take passes frames on, except repeated ones. A source numbers its frames from 1 and
// sends them in order, so a frame whose number is not higher than the last one is a
// repetition. Gaps are passed on, so that the rule "frames" can detect them.
func (r *Receiver) take(frames []metric.Frame) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return errClosed
	}
	for _, f := range frames {
		if f.Sequence != 0 && f.Sequence <= r.frames[f.Source] {
			continue
		}
		if err := r.sinks.Frame(f); err != nil {
			return err
		}
		if f.Sequence != 0 {
			r.frames[f.Source] = f.Sequence
		}
	}
	return nil
}

func (r *Receiver) handleAcknowledged(w http.ResponseWriter, req *http.Request) {
	source := req.Header.Get(wire.HeaderSource)
	sequence, err := strconv.ParseUint(req.Header.Get(wire.HeaderSequence), 10, 64)
	if err != nil || source == "" || sequence == 0 {
		http.Error(w, fmt.Sprintf("headers %s and %s must name source and sequence", wire.HeaderSource, wire.HeaderSequence), http.StatusBadRequest)
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
	if err := r.acknowledge(source, sequence, entries); err != nil {
		r.refuse(w, "acknowledgements not recorded", err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// acknowledge passes entries on, except repeated ones.
func (r *Receiver) acknowledge(source string, sequence uint64, entries []ledger.Entry) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return errClosed
	}
	if sequence <= r.acks[source] {
		return nil
	}
	if err := r.sinks.Acknowledged(source, entries); err != nil {
		return err
	}
	r.acks[source] = sequence
	return nil
}

// refuse responds to a message that was not recorded. After Close this is not an error,
// and the response tells the sender not to retry.
func (r *Receiver) refuse(w http.ResponseWriter, what string, err error) {
	if errors.Is(err, errClosed) {
		http.Error(w, err.Error(), http.StatusGone)
		return
	}
	r.log.Error(what, "error", err)
	http.Error(w, err.Error(), http.StatusServiceUnavailable)
}

func read(w http.ResponseWriter, req *http.Request) ([]byte, bool) {
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxBody))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		http.Error(w, fmt.Sprintf("message is larger than %d bytes", large.Limit), http.StatusRequestEntityTooLarge)
	case err != nil:
		http.Error(w, "message cannot be read: "+err.Error(), http.StatusBadRequest)
	}
	return body, err == nil
}
