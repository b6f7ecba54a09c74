package fleet

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/wire"
)

// Routes adds the coordinator's paths. The server bounds the bodies.
func (c *Coordinator) Routes(mux *http.ServeMux) {
	mux.HandleFunc("POST "+wire.PathJoin, c.handleJoin)
	mux.HandleFunc("GET "+wire.PathArchive, c.ofMember(c.handleArchive))
	mux.HandleFunc("POST "+wire.PathReady, c.ofMember(c.handleReady))
	mux.HandleFunc("POST "+wire.PathStart, c.ofMember(c.handleStart))
	mux.HandleFunc("POST "+wire.PathHeartbeat, c.handleHeartbeat)
	mux.HandleFunc("POST "+wire.PathLog, c.ofMember(c.handleLog))
	mux.HandleFunc("POST "+wire.PathExit, c.ofMember(c.handleExit))
}

const (
	// MaxMessage bounds the largest message, that of the start with setup()'s result,
	// bytes.
	MaxMessage = wire.MaxSetup + 1<<10
	// MaxLogPart bounds a part of a worker's log, bytes.
	MaxLogPart = 4 << 20
)

func (c *Coordinator) handleJoin(w http.ResponseWriter, r *http.Request) {
	if sender, known := c.Keys.Sender(wire.Bearer(r)); !known || !sender.MayJoin {
		http.Error(w, "this run starts its own workers", http.StatusForbidden)
		return
	}
	var h wire.Hello
	if !wire.Read(w, r, &h) {
		return
	}
	if h.Identity == "" {
		http.Error(w, "malformed message: it has no identity", http.StatusBadRequest)
		return
	}
	m, err := c.join(h)
	if err != nil {
		c.reject(h, err)
		http.Error(w, err.Error(), http.StatusConflict)
		return
	}
	defer c.leave(m)
	select {
	case <-c.assigned:
		c.assign(w, m)
	case <-c.refused:
		http.Error(w, c.refusal.Error(), http.StatusConflict)
	case <-time.After(c.waitLimit):
		wire.Respond(w, http.StatusAccepted, wire.Waiting{Joined: c.Joined(), Of: c.Workers}) // it asks again
	case <-r.Context().Done():
	}
}

// assign answers with the worker's share.
func (c *Coordinator) assign(w http.ResponseWriter, m *member) {
	// Neither changes any more. A worker that is slow to read its share delays no other.
	if i := slices.Index(c.members, m); i >= 0 {
		wire.Respond(w, http.StatusOK, c.shares[i])
		return
	}
	http.Error(w, fmt.Sprintf("the run has its %d workers", c.Workers), http.StatusConflict)
}

// ofMember handles messages of workers that have joined.
func (c *Coordinator) ofMember(handle func(w http.ResponseWriter, r *http.Request, number int)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		sender, known := c.Keys.Sender(wire.Bearer(r))
		if !known || !sender.Worker || !c.heard(sender) {
			http.Error(w, "this worker has not joined the run", http.StatusForbidden)
			return
		}
		handle(w, r, sender.Number)
	}
}

// heard notes a message of a worker; false: it is not in the run.
func (c *Coordinator) heard(s wire.Sender) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.isComplete() || s.Number >= len(c.members) || c.members[s.Number].hello.Identity != s.Identity {
		return false
	}
	m := c.members[s.Number]
	m.heard, m.used = c.now(), true
	return true
}

func (c *Coordinator) handleArchive(w http.ResponseWriter, _ *http.Request, _ int) {
	w.Header().Set("Content-Type", "application/x-tar")
	_, _ = w.Write(c.archive) // does not change; a worker that does not get it asks again
}

func (c *Coordinator) handleReady(w http.ResponseWriter, r *http.Request, number int) {
	var m wire.Ready
	if !wire.Read(w, r, &m) {
		return
	}
	select {
	case <-c.assigned:
	default:
		http.Error(w, "the run has not given its workers their shares", http.StatusConflict)
		return
	}
	err := c.Check(m.Metrics)
	if want := c.shares[number].Archive; err == nil && m.Archive != want {
		err = fmt.Errorf("%s runs another script: its archive is sha256:%s, the run's sha256:%s", metric.WorkerSource(number), m.Archive, want)
	}
	if err != nil {
		c.Refuse(err)
		http.Error(w, err.Error(), http.StatusUnprocessableEntity)
		return
	}
	c.mu.Lock()
	c.members[number].k6 = m.PID
	c.mu.Unlock()
	w.WriteHeader(http.StatusNoContent)
}

func (c *Coordinator) handleStart(w http.ResponseWriter, r *http.Request, number int) {
	var m wire.StartRequest
	if !wire.Read(w, r, &m) {
		return
	}
	c.awaitsStart(c.members[number], m.Setup)
	select {
	case <-c.started:
	case <-c.refused:
		http.Error(w, "the run was refused: another worker cannot start", http.StatusConflict)
		return
	case <-time.After(c.waitLimit):
		w.WriteHeader(http.StatusAccepted) // it asks again
		return
	case <-r.Context().Done():
		return
	}
	c.mu.Lock()
	answer := wire.StartResponse{T0: c.t0, Setup: c.setup}
	c.mu.Unlock()
	wire.Respond(w, http.StatusOK, answer)
}

// handleHeartbeat notes the time before it waits for a lock: what it waits is not time in
// the network.
func (c *Coordinator) handleHeartbeat(w http.ResponseWriter, r *http.Request) {
	received := c.now()
	c.ofMember(func(w http.ResponseWriter, _ *http.Request, _ int) { c.answerHeartbeat(w, received) })(w, r)
}

func (c *Coordinator) answerHeartbeat(w http.ResponseWriter, received time.Time) {
	c.mu.Lock()
	steady, why := c.steady, c.stop
	if c.refusal != nil && why == "" {
		why = "the run was refused"
	}
	c.mu.Unlock()
	wire.Respond(w, http.StatusOK, wire.Pulse{Received: steady.read(received), Answered: steady.read(c.now()), Stop: why})
}

// handleLog appends a part of a worker's log, unless it was appended before.
func (c *Coordinator) handleLog(w http.ResponseWriter, r *http.Request, number int) {
	offset, err := strconv.ParseInt(r.Header.Get(wire.HeaderOffset), 10, 64)
	text, readErr := io.ReadAll(r.Body)
	if err == nil && offset < 0 {
		err = errors.New("its offset is negative")
	}
	if err := errors.Join(err, readErr); err != nil {
		http.Error(w, "malformed part of a log: "+err.Error(), http.StatusBadRequest)
		return
	}
	if err := c.appendLog(number, offset, text); err != nil {
		status := http.StatusServiceUnavailable
		var gap *gapError
		if errors.As(err, &gap) {
			status = http.StatusConflict
		}
		http.Error(w, err.Error(), status)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (c *Coordinator) handleExit(w http.ResponseWriter, r *http.Request, number int) {
	var m wire.Exit
	if !wire.Read(w, r, &m) {
		return
	}
	c.mu.Lock()
	c.exited(number, Exit{Status: m.Status, Error: m.Error})
	c.mu.Unlock()
	w.WriteHeader(http.StatusNoContent)
}
