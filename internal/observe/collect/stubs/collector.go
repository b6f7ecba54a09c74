package stubs

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/mask"
	"assay.dev/assay/internal/observe/collect"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/spec"
)

// Options name a stub of a run.
type Options struct {
	Name   string
	Stub   spec.Stub
	Digest string // digest of the file that the profile names; empty: the profile names none
	Token  string // the stub's token: a secret
	Run    string
	Hosts  []string // hosts that the URL may name, in addition to loopback
}

// Collector joins one stub to a run.
type Collector struct {
	o      Options
	client *Client
	notes  collect.Notes

	t0 atomic.Pointer[time.Time] // start of the load, with a monotonic reading; nil: not known yet

	mu      sync.Mutex
	last    State // as the stub told it last
	silent  int   // readings without an answer
	failing error // error of the last reading; nil: it succeeded
}

var _ collect.Collector = (*Collector)(nil)

// New returns the collector of a stub.
func New(o Options) *Collector {
	return &Collector{o: o, client: NewClient(o.Name, o.Stub.URL, o.Token, o.Hosts...)}
}

func (c *Collector) Source() string { return metric.StubSource(c.o.Name) }

// Check returns why a run could not begin: the stub does not answer, refuses the token,
// serves another run, or runs another file than the profile names. It changes nothing.
func (c *Collector) Check(ctx context.Context) error {
	var s State
	err := collect.First(ctx, func(ctx context.Context) (err error) {
		s, err = c.client.State(ctx)
		return err
	})
	switch {
	case err != nil:
		return err
	case s.Run != "" && s.Run != c.o.Run:
		return hint.With(fmt.Errorf("stub %s at %s serves another run: %s", c.o.Name, c.o.Stub.URL, s.Run), "wait until that has ended, or start a stub of your own")
	case c.o.Digest != "" && s.File.SHA256 != c.o.Digest:
		return hint.With(fmt.Errorf("stub %s at %s runs %s, whose content is not that of %s", c.o.Name, c.o.Stub.URL, s.File.Path, c.o.Stub.File), "start it again: assay stub "+c.o.Stub.File)
	}
	return nil
}

// Start takes the stub for the run, whose counts then begin.
func (c *Collector) Start(ctx context.Context) error {
	return collect.First(ctx, func(ctx context.Context) (err error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.last, err = c.client.Begin(ctx, c.begin())
		return err
	})
}

// LoadStarts sets when the load starts, with a monotonic reading. Each further reading tells
// the stub, whose phases follow that; it does not wait for one.
func (c *Collector) LoadStarts(at time.Time) { c.t0.Store(&at) }

func (c *Collector) begin() Begin {
	b := Begin{Run: c.o.Run}
	if t0 := c.t0.Load(); t0 != nil {
		ms := float64(time.Since(*t0)) / float64(time.Millisecond)
		b.SinceMs = &ms
	}
	return b
}

// Run reads the counts every second until ctx is done. A second without an answer has no
// points, and the next answer includes its calls.
func (c *Collector) Run(ctx context.Context, sink collect.Sink) error {
	inner := context.WithoutCancel(ctx) // a reading is short, so the last one is completed
	err := collect.EverySecond(ctx, c.Source(), sink, func() []metric.Point { return c.read(inner) })
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.silent > 0 {
		c.notes.Add("the stub %s did not answer for %d of the run's seconds: its phases may not have begun or ended in time; check what stopped it", c.o.Name, c.silent)
	}
	if err == nil {
		err = c.failing
	}
	return err
}

func (c *Collector) read(ctx context.Context) []metric.Point {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, err := c.client.Begin(ctx, c.begin())
	if (err != nil) != (c.failing != nil) {
		if err != nil {
			slog.Warn("stub does not answer", "stub", c.o.Name, "err", err)
		} else {
			slog.Warn("stub answers again", "stub", c.o.Name)
		}
	}
	c.failing = err
	if err != nil {
		c.silent++
		return nil
	}
	return c.points(c.take(s))
}

// take keeps a state, and returns the one before, which is empty if the stub was restarted
// in between.
func (c *Collector) take(s State) (before State) {
	before = c.last
	if before.Instance != "" && s.Instance != before.Instance {
		after := ""
		if t0 := c.t0.Load(); t0 != nil {
			after = fmt.Sprintf(" %.0f s after the start of the load", time.Since(*t0).Seconds())
		}
		c.notes.Add("the stub %s was restarted%s: its calls and its ledger before that are lost, and its phases went on late; keep it running", c.o.Name, after)
		if s.File.SHA256 != before.File.SHA256 {
			c.notes.Add("the stub %s was restarted with another file, %s", c.o.Name, s.File.Path)
		}
		before = State{}
	}
	c.last = s
	return before
}

// points are the increases of counts since the state before, and the present gauges.
func (c *Collector) points(before State) (points []metric.Point) {
	for _, now := range c.last.Endpoints {
		was := Counts{}
		if i := slices.IndexFunc(before.Endpoints, func(e Counts) bool { return e.Endpoint == now.Endpoint }); i >= 0 {
			was = before.Endpoints[i]
		}
		labels := []string{"stub", c.o.Name, "endpoint", now.Endpoint, "background", fmt.Sprint(now.Background)}
		of := func(name string, more ...string) metric.Series {
			return metric.Of(name, slices.Concat(labels, more)...)
		}
		for _, outcome := range slices.Sorted(maps.Keys(now.Calls)) {
			if n := now.Calls[outcome] - was.Calls[outcome]; n > 0 {
				points = append(points, metric.CounterPoint(of(metric.StubCalls, "outcome", outcome), float64(n)))
			}
		}
		for _, p := range []metric.Point{
			metric.CounterPoint(of(metric.StubCallTime), now.CallMs-was.CallMs),
			metric.CounterPoint(of(metric.StubWorkTime, "caller", "waiting"), now.WorkMs-was.WorkMs),
			metric.CounterPoint(of(metric.StubWorkTime, "caller", "left"), now.LeftMs-was.LeftMs),
		} {
			if p.Value > 0 {
				points = append(points, p)
			}
		}
		points = append(points, metric.GaugePoint(of(metric.StubQueue), float64(now.Queue)), metric.GaugePoint(of(metric.StubWorking), float64(now.Working)))
	}
	return points
}

// Close ends the run at the stub, which then behaves as without phases.
func (c *Collector) Close() error {
	defer c.client.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last.Instance == "" {
		return nil // it never began
	}
	s, err := c.client.End(context.Background(), c.o.Run)
	if err != nil {
		if c.failing != nil {
			return nil // Run has reported it
		}
		return fmt.Errorf("end the run: %w", err)
	}
	c.take(s)
	return nil
}

func (c *Collector) Notes() []string { return c.notes.All() }

// Fact is what the record says of the stub after Close: the file and the phases that it ran,
// and its counts. ok is false if the run never began there.
func (c *Collector) Fact() (f record.Stub, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f = record.Stub{Name: c.o.Name, URL: c.o.Stub.URL, File: c.last.File, Phases: c.last.Phases}
	for _, e := range c.last.Endpoints {
		f.Endpoints = append(f.Endpoints, record.StubEndpoint{Name: e.Endpoint, Background: e.Background, Calls: e.Calls, Open: e.Open})
	}
	return f, c.last.Instance != ""
}

// Ledger visits the lines of the stub's ledger of the run, after Close, and counts them.
func (c *Collector) Ledger(ctx context.Context, visit func(line []byte) error) (l record.StubLedger, err error) {
	defer c.client.Close()
	type payment struct{ endpoint, id string }
	seen := map[payment]bool{}
	c.mu.Lock()
	counted := c.last.All() - c.last.Forgotten
	c.mu.Unlock()
	err = c.client.Ledger(ctx, func(line []byte) error {
		var call Call
		if err := json.Unmarshal(line, &call); err != nil || len(call.ID) > maxText || len(call.Endpoint) > maxText {
			return fmt.Errorf("stub %s: a line of its ledger is no call", c.o.Name)
		}
		l.Calls++
		if l.Calls > min(counted, MaxLedger) {
			return fmt.Errorf("stub %s: its ledger has more than %d calls", c.o.Name, min(counted, MaxLedger))
		}
		if key := (payment{call.Endpoint, call.ID}); call.ID != "" && seen[key] {
			l.Repeated++
		} else if call.ID != "" {
			seen[key] = true
		}
		call.ID, call.Endpoint, call.Outcome = mask.Text(call.ID), mask.Text(call.Endpoint), mask.Text(call.Outcome)
		line, err := json.Marshal(call) // without what else the stub has written
		if err != nil {
			return err
		}
		return visit(line)
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil && l.Calls != counted {
		err = fmt.Errorf("stub %s: its ledger has %d calls, and it counted %d", c.o.Name, l.Calls, counted)
	}
	l.Forgotten = c.last.Forgotten
	return l, err
}
