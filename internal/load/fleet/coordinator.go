package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/wire"
)

// headStart is the minimum time between the start signal and t0, which is rounded up
// to a whole second. Every worker activates its VUs in it.
const headStart = 1500 * time.Millisecond

// waitLimit is how long a request waits for other workers before it is answered:
// intermediaries end connections that are silent for longer (a minute is a common limit).
const waitLimit = 20 * time.Second

// Options is what a coordinator needs.
type Options struct {
	Workers int
	Tool    wire.Tool // version of this program, which every worker must have
	Keys    wire.Keys
	// Check is called with the metrics that the script has registered; its error
	// prevents the start.
	Check func(metrics map[string]string) error
}

// Coordinator lets workers join, starts all of them at one t0, and knows how each ended.
type Coordinator struct {
	Options
	now       func() time.Time
	waitLimit time.Duration

	mu       sync.Mutex
	members  []*member     // in the order of joining, which is that of their numbers once all have joined
	complete chan struct{} // closed when all have joined
	assigned chan struct{} // closed when they have their shares
	archive  []byte
	logs     string // folder of the workers' logs
	shares   []wire.Assignment
	setup    json.RawMessage
	waiting  int // workers that wait for the start
	t0       time.Time
	steady   steadyClock   // from when t0 is set on: what the workers compare their clocks with
	started  chan struct{} // closed once t0 is set
	refusal  error         // why the run cannot start
	refused  chan struct{} // closed once refusal is set
	early    *EndedError   // the first worker that ended before the start
	failed   chan struct{} // closed once early is set
	rejected []string      // why workers were not admitted, since the last call of Rejected
	checked  time.Time     // when LoseSilent was last called
	stop     string        // why the workers are to end their load; empty: they go on
	ended    chan Exit     // one for each worker, as it ends
	left     int           // workers that have not ended
	done     chan struct{} // closed when none is left
}

// member is one worker.
type member struct {
	hello   wire.Hello
	joining int       // its requests to join that are not answered yet
	asked   time.Time // when the last one ended
	used    bool      // it has its share: its identity cannot join again
	waits   bool      // for the start
	closed  bool      // its stream was complete before the coordinator was restarted
	k6      int       // pid
	heard   time.Time
	log     workerLog
	exit    *Exit
}

// Exit is how a worker ended.
type Exit struct {
	Source string
	Status string // "0", "1", "signal: killed", "lost", ...
	Error  string // last error in its log, if it failed, or what the worker itself could not do
	Logged string // first error or warning of its log
	Thrown string // first exception of the script in its log
}

// Lost is the status of a worker that was not heard from any more.
const Lost = record.ExitLost

// String is one line.
func (e Exit) String() string {
	text := e.Source + " ended: " + e.Status
	switch _, err := strconv.Atoi(e.Status); {
	case err == nil:
		text = e.Source + " ended with status " + e.Status
	case e.Status == Lost:
		text = e.Source + " is lost"
	case e.Status == "": // without k6
		text = e.Source + " ended"
	}
	if e.Error != "" {
		text += ": " + e.Error
	}
	return text
}

// EndedError is the error of a worker that ended before the start.
type EndedError struct{ Exit }

func (e *EndedError) Error() string { return e.String() }

// NewCoordinator makes a coordinator.
func NewCoordinator(o Options) *Coordinator {
	return &Coordinator{
		Options: o, now: time.Now, waitLimit: waitLimit, left: o.Workers,
		complete: make(chan struct{}), assigned: make(chan struct{}), started: make(chan struct{}), refused: make(chan struct{}), failed: make(chan struct{}),
		ended: make(chan Exit, o.Workers), done: make(chan struct{}),
	}
}

// Assign gives the workers their shares, by number, and the script. Their logs go to a
// folder, which exists.
func (c *Coordinator) Assign(shares []wire.Assignment, archive []byte, logs string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.archive, c.logs, c.shares = archive, logs, slices.Clone(shares)
	for i, m := range c.members {
		c.shares[i].Credential = c.Keys.Credential(i, m.hello.Identity)
		m.heard = c.now()
	}
	close(c.assigned)
}

// Refuse prevents the start: every worker is told why.
func (c *Coordinator) Refuse(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refusal == nil {
		c.refusal = err
		close(c.refused)
	}
}

// AwaitStart waits until every worker is ready to start, and returns t0. It fails when
// the start was refused or ctx is done.
func (c *Coordinator) AwaitStart(ctx context.Context) (time.Time, error) {
	select {
	case <-c.started:
	case <-c.refused:
	case <-c.failed:
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.refusal != nil: // a worker that was told so ends, too
		return time.Time{}, c.refusal
	case !c.t0.IsZero():
		return c.t0, nil
	case c.early != nil:
		return time.Time{}, c.early
	}
	var missing []string
	for i, m := range c.members {
		if !m.waits {
			missing = append(missing, fmt.Sprintf("%s on %s", metric.WorkerSource(i), m.hello.Machine.Name))
		}
	}
	return time.Time{}, fmt.Errorf("%d of %d workers are ready to start: %w (not ready: %s)", c.waiting, c.Workers, context.Cause(ctx), strings.Join(missing, ", "))
}

// awaitsStart notes that a worker waits for the start.
func (c *Coordinator) awaitsStart(m *member, setup json.RawMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if setup != nil {
		c.setup = setup
	}
	if !m.waits {
		m.waits = true
		c.waiting++
	}
	if c.waiting == c.Workers && c.t0.IsZero() && c.early == nil {
		c.steady = newSteadyClock(c.now())
		c.t0 = c.steady.wall.Add(headStart + time.Second - 1).Truncate(time.Second)
		close(c.started)
	}
}

// PIDs are the k6 processes by source, of workers in this namespace.
func (c *Coordinator) PIDs(namespace string) map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	pids := map[string]int{}
	for i, m := range c.members {
		if m.k6 != 0 && namespace != "" && m.hello.Machine.Namespace == namespace {
			pids[metric.WorkerSource(i)] = m.k6
		}
	}
	return pids
}
