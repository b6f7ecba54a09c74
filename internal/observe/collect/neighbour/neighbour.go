package neighbour

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"assay.dev/assay/internal/crash"
	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/observe/collect"
	"assay.dev/assay/internal/observe/collect/databases"
	"assay.dev/assay/internal/observe/collect/scrape"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
)

// counts are the requests of a neighbour in one second.
type counts struct{ requests, errors float64 }

// source tells how many requests a neighbour had. Its methods are called by one goroutine.
type source interface {
	// examine reads once. Its error says why the neighbour cannot be watched.
	examine(ctx context.Context) error
	// run reads in the background until ctx is done, if that is needed. It returns soon after.
	run(ctx context.Context)
	// read returns the requests since the last call; ok is false if there is nothing to
	// compare with yet. It returns in less than a second.
	read(ctx context.Context) (c counts, ok bool, err error)
	close()
}

// watched is the neighbour of one condition.
type watched struct {
	source
	name    string
	failing bool // it could not be read last
}

// Collector watches the neighbours of a profile.
type Collector struct{ all []*watched }

var _ collect.Collector = (*Collector)(nil)

// New returns a collector for the neighbours of these conditions; nil: they name none. It
// does not connect.
func New(conditions []spec.Abort) *Collector {
	c := &Collector{}
	for _, a := range conditions {
		if a.Neighbour != nil {
			c.all = append(c.all, &watched{source: sourceOf(*a.Neighbour), name: a.Metric})
		}
	}
	if len(c.all) == 0 {
		return nil
	}
	return c
}

func sourceOf(n spec.Neighbour) source {
	if n.Errors == "" {
		return newHealth(n)
	}
	return newCounters(n)
}

// Examine reads a neighbour once, before a run. Its error says why it cannot be watched: its
// metrics cannot be read, have not the counters that are named, or its health is bad already.
func Examine(ctx context.Context, n spec.Neighbour) error {
	s := sourceOf(n)
	defer s.close()
	return collect.First(ctx, s.examine)
}

func (c *Collector) Source() string { return metric.SourceNeighbours }

// Start reads the metrics of all neighbours once. A reading that times out is no error,
// because a busy neighbour may answer the next one.
func (c *Collector) Start(ctx context.Context) error {
	for _, n := range c.all {
		if _, _, err := n.read(ctx); err != nil && !timedOut(err) {
			return fmt.Errorf("neighbour %s: %w", n.name, err)
		}
	}
	return nil
}

// Run reads all neighbours every second until ctx is done.
func (c *Collector) Run(ctx context.Context, sink collect.Sink) error {
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var running crash.Group
	for _, n := range c.all {
		running.Go(func() { n.run(inner) })
	}
	err := collect.EverySecond(ctx, c.Source(), sink, func() []metric.Point { return c.points(inner) })
	cancel()
	running.Wait()
	return err
}

func (c *Collector) points(ctx context.Context) (points []metric.Point) {
	parts := make([][]metric.Point, len(c.all))
	var reading crash.Group
	for i, n := range c.all {
		reading.Go(func() { parts[i] = n.points(ctx) })
	}
	reading.Wait()
	for _, p := range parts {
		points = append(points, p...)
	}
	return points
}

// points are the requests since the last call, if they are known.
func (n *watched) points(ctx context.Context) []metric.Point {
	c, ok, err := n.read(ctx)
	if (err != nil) != n.failing {
		n.failing = err != nil
		if n.failing {
			slog.Warn("neighbour "+n.name+" cannot be read", "err", databases.Reason(err))
		} else {
			slog.Warn("neighbour " + n.name + " can be read again")
		}
	}
	if err != nil || !ok {
		return nil
	}
	return []metric.Point{
		metric.CounterPoint(metric.Of(metric.NeighbourRequests, metric.LabelCondition, n.name), c.requests),
		metric.CounterPoint(metric.Of(metric.NeighbourErrors, metric.LabelCondition, n.name), c.errors),
	}
}

func (c *Collector) Close() error {
	for _, n := range c.all {
		n.close()
	}
	return nil
}

// counters reads the counters of a neighbour's metrics.
type counters struct {
	endpoint      *scrape.Endpoint
	errors, total spec.Selection
	last          reading // reading of the last scrape that succeeded; nil maps: none yet
}

// reading is the values of the selected counters, by their labels.
type reading struct{ errors, total map[string]float64 }

func newCounters(n spec.Neighbour) *counters {
	c := &counters{endpoint: scrape.Trusted(n.URL)}
	c.errors, _ = spec.ParseSelection(n.Errors) // Decode has parsed it
	c.total, _ = spec.ParseSelection(n.Total)
	return c
}

// examine also checks that the selections select something: one that never does would never
// stop a run. The errors may have no series before the first error, but their metric and the
// labels that are looked at must exist.
func (c *counters) examine(ctx context.Context) error {
	found, err := c.scrape(ctx)
	if err != nil {
		return err
	}
	r, err := c.reading(found)
	if err != nil || len(r.errors) > 0 {
		return err
	}
	known := map[string]bool{}
	for _, m := range found[c.errors.Name].GetMetric() {
		for label := range scrape.Labels(m) {
			known[label] = true
		}
	}
	if len(found[c.errors.Name].GetMetric()) == 0 {
		return fmt.Errorf("%s has no metric %s: expose it with 0 before the first error", c.endpoint, c.errors.Name)
	}
	for _, label := range c.errors.Labels() {
		if !known[label] {
			return fmt.Errorf("%s of %s has no label %s", c.errors.Name, c.endpoint, label)
		}
	}
	return nil
}

func (c *counters) run(context.Context) {}

func (c *counters) read(ctx context.Context) (n counts, ok bool, err error) {
	found, err := c.scrape(ctx)
	if err != nil {
		return n, false, err
	}
	now, err := c.reading(found)
	if err != nil {
		return n, false, err
	}
	n, ok = counts{increase(c.last.total, now.total), increase(c.last.errors, now.errors)}, c.last.total != nil
	c.last = now
	return n, ok, nil
}

func (c *counters) scrape(ctx context.Context) (scrape.Families, error) {
	body, err := c.endpoint.Fetch(ctx)
	if err != nil {
		return nil, err
	}
	names := []string{c.errors.Name, c.total.Name}
	return scrape.Parse(body, func(family string) bool { return slices.Contains(names, family) })
}

// reading selects the counters. It fails without any series of the total.
func (c *counters) reading(found scrape.Families) (r reading, err error) {
	if r.errors, err = selected(found, c.errors); err == nil {
		r.total, err = selected(found, c.total)
	}
	if err != nil {
		return r, fmt.Errorf("%s: %w", c.endpoint, err)
	}
	if len(r.total) == 0 {
		return r, fmt.Errorf("%s has no metric %s with these labels", c.endpoint, c.total.Name)
	}
	return r, nil
}

func selected(found scrape.Families, s spec.Selection) (map[string]float64, error) {
	values := map[string]float64{}
	for _, m := range found[s.Name].GetMetric() {
		labels := scrape.Labels(m)
		v, ok := scrape.Value(m)
		if !ok || !s.Matches(labels) {
			continue
		}
		if !scrape.Plausible(v) {
			return nil, fmt.Errorf("the counter %s is %g", s.Name, v)
		}
		values[fmt.Sprint(labels)] = v // printed in the order of the keys
	}
	return values, nil
}

// increase is by how much counters have grown since the reading before. A series that this
// does not have appeared with its first request; one that is smaller now counts from 0, as
// the neighbour was restarted.
func increase(before, now map[string]float64) (sum float64) {
	for series, v := range now {
		if b := before[series]; b <= v {
			v -= b
		}
		sum += v
	}
	return sum
}

func (c *counters) close() { c.endpoint.Close() }

// timedOut reports whether a later reading may succeed.
func timedOut(err error) bool { return errors.Is(err, context.DeadlineExceeded) }

const (
	healthPeriod = time.Second
	// maxHealthBody is how much of an answer is read, so that its connection is used again.
	maxHealthBody = 64 << 10
)

// health requests the health of a neighbour once a second. An answer counts in the second in
// which it came, or in which the time for it was over.
type health struct {
	url     string
	timeout time.Duration
	client  *http.Client

	mu    sync.Mutex
	since counts
}

func newHealth(n spec.Neighbour) *health {
	client, _ := collect.Client(n.Timeout)
	return &health{url: n.URL, timeout: n.Timeout, client: client}
}

func (h *health) examine(ctx context.Context) error {
	err := h.request(ctx)
	if err != nil {
		err = hint.With(fmt.Errorf("its health is bad before the load: %w", err), "check the URL, and what is wrong with the neighbour: a load test could make it worse")
	}
	return err
}

// request returns why the neighbour's health is not good; nil if it is.
func (h *health) request(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, h.timeout, fmt.Errorf("no answer within %s: %w", h.timeout, context.DeadlineExceeded))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, h.url, nil)
	if err != nil {
		return err
	}
	resp, err := h.client.Do(req)
	if err == nil {
		defer func() { _ = resp.Body.Close() }()
		_, err = io.Copy(io.Discard, io.LimitReader(resp.Body, maxHealthBody))
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return context.Cause(ctx)
	case err != nil:
		return foreign.Line(err)
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return fmt.Errorf("it answers %s", foreign.Status(resp))
	}
	return nil
}

// run sends the requests. A slow answer does not delay the next request, so that a neighbour
// that hangs fails once a second.
func (h *health) run(ctx context.Context) {
	tick := time.NewTicker(healthPeriod)
	defer tick.Stop()
	var open crash.Group
	defer open.Wait()
	for {
		open.Go(func() {
			err := h.request(ctx)
			if ctx.Err() != nil {
				return // it shows nothing
			}
			h.mu.Lock()
			defer h.mu.Unlock()
			h.since.requests++
			if err != nil {
				h.since.errors++
			}
		})
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (h *health) read(context.Context) (c counts, ok bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c, h.since = h.since, counts{}
	return c, true, nil
}

func (h *health) close() { h.client.CloseIdleConnections() }
