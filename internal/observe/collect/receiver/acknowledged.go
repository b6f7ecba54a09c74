package receiver

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"

	"assay.dev/assay/internal/observe/ledger"
	"assay.dev/assay/internal/wire"
)

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
	if !allows(sender, source) {
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
