package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"assay/harness/wire"
)

// headStart is the minimum time between the start signal and t0, which is rounded up
// to a whole second. Every worker activates its VUs in it.
const headStart = 1500 * time.Millisecond

// Coordinator serves the workers' start: it registers them, and starts all of them at
// one t0.
type Coordinator struct {
	workers int
	check   func(metrics map[string]string) error
	now     func() time.Time

	mu      sync.Mutex
	waiting map[string]bool
	setup   json.RawMessage
	refusal error         // why the run cannot start
	started chan struct{} // closed once t0 is set
	refused chan struct{} // closed once refusal is set
	t0      time.Time
}

// NewCoordinator makes a coordinator of a number of workers. check is called with the
// metrics that the script has registered; its error prevents the start.
func NewCoordinator(workers int, check func(metrics map[string]string) error) *Coordinator {
	return &Coordinator{
		workers: workers, check: check, now: time.Now,
		waiting: map[string]bool{},
		started: make(chan struct{}), refused: make(chan struct{}),
	}
}

// Routes adds the coordinator's paths.
func (c *Coordinator) Routes(mux *http.ServeMux) {
	mux.HandleFunc("POST "+wire.PathReady, c.handleReady)
	mux.HandleFunc("POST "+wire.PathStart, c.handleStart)
}

// maxMessage bounds what a worker may send at the start: setup()'s result.
const maxMessage = 16 << 20

func (c *Coordinator) handleReady(w http.ResponseWriter, r *http.Request) {
	var m wire.Ready
	if !decode(w, r, &m) || !hasSource(w, m.Source) {
		return
	}
	if err := c.check(m.Metrics); err != nil {
		c.refuse(err)
		http.Error(w, err.Error(), http.StatusUnprocessableEntity)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (c *Coordinator) handleStart(w http.ResponseWriter, r *http.Request) {
	var m wire.StartRequest
	if !decode(w, r, &m) || !hasSource(w, m.Source) {
		return
	}
	c.join(m)
	select {
	case <-c.started:
	case <-c.refused:
		http.Error(w, "the run was refused: another worker cannot start", http.StatusConflict)
		return
	case <-r.Context().Done():
		return
	}
	c.mu.Lock()
	answer := wire.StartResponse{T0: c.t0, Setup: c.setup}
	c.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer) // a worker that does not get it sends no frames, which the rule "frames" detects
}

func (c *Coordinator) join(m wire.StartRequest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting[m.Source] = true
	if m.Setup != nil {
		c.setup = m.Setup
	}
	if len(c.waiting) == c.workers && c.t0.IsZero() {
		c.t0 = c.now().Add(headStart + time.Second - 1).Truncate(time.Second)
		close(c.started)
	}
}

func (c *Coordinator) refuse(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refusal == nil {
		c.refusal = err
		close(c.refused)
	}
}

// AwaitStart waits until every worker is ready to start, and returns t0. It fails when a
// worker was refused or ctx is done.
func (c *Coordinator) AwaitStart(ctx context.Context) (time.Time, error) {
	select {
	case <-c.started:
		return c.t0, nil
	case <-c.refused:
		return time.Time{}, c.refusal
	case <-ctx.Done():
		c.mu.Lock()
		defer c.mu.Unlock()
		return time.Time{}, fmt.Errorf("%d of %d workers are ready to start: %w", len(c.waiting), c.workers, context.Cause(ctx))
	}
}

func decode(w http.ResponseWriter, r *http.Request, into any) bool {
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxMessage)).Decode(into)
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		http.Error(w, fmt.Sprintf("setup() returned more than %d MiB", large.Limit>>20), http.StatusRequestEntityTooLarge)
	case err != nil:
		http.Error(w, "malformed message: "+err.Error(), http.StatusBadRequest)
	}
	return err == nil
}

// hasSource refuses a message without a source.
func hasSource(w http.ResponseWriter, source string) bool {
	if source == "" {
		http.Error(w, "malformed message: it has no source", http.StatusBadRequest)
	}
	return source != ""
}
