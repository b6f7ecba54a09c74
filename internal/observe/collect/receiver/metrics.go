package receiver

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"

	"assay.dev/assay/internal/observe/metric"
)

func (r *Receiver) handleMetrics(w http.ResponseWriter, req *http.Request) {
	if !strings.HasPrefix(req.Header.Get("Content-Type"), "application/x-protobuf") {
		http.Error(w, "send OTLP as application/x-protobuf", http.StatusUnsupportedMediaType)
		return
	}
	sender, ok := r.sender(w, req)
	if !ok {
		return
	}
	body, ok := read(w, req)
	if !ok {
		return
	}
	var number uint64
	var response []byte // empty: everything was accepted
	var err error
	if sender.Worker {
		number, err = r.takeReport(metric.WorkerSource(sender.Number), body)
	} else {
		number, response, err = r.takeExport(body)
	}
	var refused *refusedError
	if errors.As(err, &refused) {
		http.Error(w, refused.Error(), refused.status)
		return
	}
	if err := r.commit(number, err); err != nil {
		r.refuse(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
	_, _ = w.Write(response) // a sender that has gone sends again
}

// NewImpossible is an error of Sinks.Frames: the frames were taken, and why says that they
// cannot have been measured. Their sender is told so, and need not repeat them.
func NewImpossible(why error) error { return &refusedError{why, http.StatusUnprocessableEntity} }

// refusedError is what is wrong with a message; to repeat it does not help.
type refusedError struct {
	error
	status int
}

func notTheSenders(source string) error {
	return &refusedError{fmt.Errorf("frames of %q are not this sender's", source), http.StatusForbidden}
}

// takeReport passes on the frames of a worker. It returns the message's number, for
// commit.
func (r *Receiver) takeReport(source string, body []byte) (number uint64, err error) {
	decoder := r.decoders.Get().(*metric.Decoder)
	defer r.decoders.Put(decoder)
	frames, err := decoder.Decode(body)
	if err != nil {
		return 0, &refusedError{err, http.StatusBadRequest}
	}
	for _, f := range frames {
		if f.Source != source {
			return 0, notTheSenders(f.Source)
		}
	}
	if decoder.Changed() {
		body = nil
	}
	return r.take(frames, body)
}

// takeExport passes on what a sender that only knows the run's token measured. It returns
// the message's number, for commit, and the response to the sender.
func (r *Receiver) takeExport(body []byte) (number uint64, response []byte, err error) {
	export, err := metric.DecodeExport(body)
	if err != nil {
		return 0, nil, &refusedError{err, http.StatusBadRequest}
	}
	for _, f := range export.Frames {
		if !metric.IsForeign(f.Source) {
			return 0, nil, notTheSenders(f.Source)
		}
		if err := f.Check(); err != nil {
			return 0, nil, &refusedError{fmt.Errorf("%s: %w", f.Source, err), http.StatusBadRequest}
		}
	}
	number, err = r.take(export.Frames, nil)
	if err == nil && export.Foreign() {
		number, response, err = r.takeForeign(export)
	}
	return number, response, err
}

// takeForeign passes on what senders other than this program measured. It returns the
// message's number, for commit, and the response to the sender.
func (r *Receiver) takeForeign(export *metric.Export) (number uint64, response []byte, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return 0, nil, errClosed
	}
	taken := r.foreign.Take(export, time.Now())
	for _, step := range taken.Steps {
		if err := r.sinks.Frames([]metric.Frame{step.Frame}, nil); err != nil {
			return 0, nil, err
		}
		step.Commit()
	}
	for _, text := range taken.Notices {
		r.log.Warn("points of another sender refused", "reason", text)
	}
	r.accepted++
	return r.accepted, taken.Response, nil
}

// take passes on the frames of one message, except repeated ones. A source numbers its
// frames from 1 and sends them in order, so a frame whose number is not higher than the
// last one is a repetition. Gaps are passed on, so that the rule "frames" can detect them.
// It returns the message's number, for commit; a repeated message waits for the first one
// too.
func (r *Receiver) take(frames []metric.Frame, encoded []byte) (number uint64, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return 0, errClosed
	}
	fresh, highest := make([]metric.Frame, 0, len(frames)), map[string]uint64{}
	for _, f := range frames {
		if f.Sequence != 0 {
			if f.Sequence <= max(r.frames[f.Source], highest[f.Source]) {
				encoded = nil
				continue
			}
			highest[f.Source] = f.Sequence
		}
		fresh = append(fresh, f)
	}
	if len(fresh) > 0 {
		err := r.sinks.Frames(fresh, encoded)
		var impossible *refusedError
		if err == nil || errors.As(err, &impossible) {
			maps.Copy(r.frames, highest)
		}
		if err != nil {
			return 0, err
		}
	}
	r.accepted++
	return r.accepted, nil
}
