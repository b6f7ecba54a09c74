package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"assay/harness/observe/metric"
	"assay/harness/wire"
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
	Tool    wire.Tool // of this program, which every worker must have
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
	started  chan struct{} // closed once t0 is set
	refusal  error         // why the run cannot start
	refused  chan struct{} // closed once refusal is set
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
	logging sync.Mutex
	logged  int64 // bytes of its log
	exit    *Exit
}

// Exit is how a worker ended.
type Exit struct {
	Source string
	Status string // "0", "1", "signal: killed", "lost", ...
	Error  string // last error in its log, if it failed, or what the worker itself could not do
	Logged string // first error or warning of its log
}

// Lost is the status of a worker that was not heard from any more.
const Lost = "lost"

// String is one line.
func (e Exit) String() string {
	text := e.Source + " ended: " + e.Status
	if _, err := strconv.Atoi(e.Status); err == nil {
		text = e.Source + " ended with status " + e.Status
	}
	if e.Status == Lost {
		text = e.Source + " is lost"
	}
	if e.Error != "" {
		text += ": " + e.Error
	}
	return text
}

// NewCoordinator makes a coordinator.
func NewCoordinator(o Options) *Coordinator {
	return &Coordinator{
		Options: o, now: time.Now, waitLimit: waitLimit, left: o.Workers,
		complete: make(chan struct{}), assigned: make(chan struct{}), started: make(chan struct{}), refused: make(chan struct{}),
		ended: make(chan Exit, o.Workers), done: make(chan struct{}),
	}
}

// absentAfter is how long a worker that waits to join may take to ask again.
const absentAfter = 3 * time.Second

// join finds or adds a worker that wants to join. It waits until leave.
func (c *Coordinator) join(h wire.Hello) (*member, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h.Tool != c.Tool {
		return nil, fmt.Errorf("the worker is %s, the coordinator %s: use the same build", toolText(h.Tool), toolText(c.Tool))
	}
	at := slices.IndexFunc(c.members, func(m *member) bool { return m.hello.Identity == h.Identity })
	if at >= 0 {
		if c.members[at].used {
			return nil, errors.New("this identity has joined already")
		}
		c.members[at].joining++
		c.completeFleet()
		return c.members[at], nil
	}
	if c.isComplete() {
		return nil, fmt.Errorf("the run has its %d workers", c.Workers)
	}
	c.forgetAbsent()
	m := &member{hello: h, joining: 1}
	c.members = append(c.members, m)
	c.completeFleet()
	return m, nil
}

// leave ends a request to join.
func (c *Coordinator) leave(m *member) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m.joining, m.asked = m.joining-1, c.now()
}

// completeFleet ends the joining once enough workers wait.
func (c *Coordinator) completeFleet() {
	if c.isComplete() {
		return
	}
	waiting := slices.DeleteFunc(slices.Clone(c.members), func(m *member) bool { return m.joining == 0 })
	if len(waiting) >= c.Workers {
		c.members = waiting[:c.Workers]
		close(c.complete)
	}
}

func toolText(t wire.Tool) string {
	text := "version " + t.Version
	if t.Revision != "" {
		text += " of commit " + t.Revision[:min(len(t.Revision), 12)]
	}
	if t.Dirty {
		text += ", modified"
	}
	return text
}

// maxRejected bounds what a stranger with the token can fill.
const maxRejected = 10

// Rejected is why workers were not admitted since its last call, a line for each.
func (c *Coordinator) Rejected() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	texts := c.rejected
	c.rejected = nil
	return texts
}

func (c *Coordinator) reject(h wire.Hello, why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.rejected) < maxRejected {
		c.rejected = append(c.rejected, fmt.Sprintf("a worker on %.100q was not admitted: %v", h.Machine.Name, why))
	}
}

// forgetAbsent forgets workers that do not wait any more.
func (c *Coordinator) forgetAbsent() {
	c.members = slices.DeleteFunc(c.members, func(m *member) bool { return m.joining == 0 && c.now().Sub(m.asked) > absentAfter })
}

func (c *Coordinator) isComplete() bool {
	select {
	case <-c.complete:
		return true
	default:
		return false
	}
}

// Joined is how many workers wait for their share.
func (c *Coordinator) Joined() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.isComplete() {
		c.forgetAbsent()
	}
	return len(c.members)
}

// AwaitWorkers waits until all workers have joined, and returns what they said, by
// number.
func (c *Coordinator) AwaitWorkers(ctx context.Context) (all []wire.Hello, err error) {
	select {
	case <-c.complete:
	case <-ctx.Done():
		return nil, fmt.Errorf("%d of %d workers have joined: %w", c.Joined(), c.Workers, context.Cause(ctx))
	}
	for _, m := range c.members { // does not change any more
		all = append(all, m.hello)
	}
	return all, nil
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
		return c.t0, nil
	case <-c.refused:
		return time.Time{}, c.refusal
	case <-ctx.Done():
		c.mu.Lock()
		defer c.mu.Unlock()
		var missing []string
		for i, m := range c.members {
			if !m.waits {
				missing = append(missing, fmt.Sprintf("%s on %s", metric.WorkerSource(i), m.hello.Machine.Name))
			}
		}
		return time.Time{}, fmt.Errorf("%d of %d workers are ready to start: %w (not ready: %s)", c.waiting, c.Workers, context.Cause(ctx), strings.Join(missing, ", "))
	}
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
	if c.waiting == c.Workers && c.t0.IsZero() {
		c.t0 = c.now().Add(headStart + time.Second - 1).Truncate(time.Second)
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
