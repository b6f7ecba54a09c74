package neighbour

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"

	"assay.dev/assay/internal/crash"
	"assay.dev/assay/internal/observe/collect"
	"assay.dev/assay/internal/observe/collect/databases"
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

// Source is "neighbours".
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

// points reads all neighbours concurrently.
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

// Close closes the connections.
func (c *Collector) Close() error {
	for _, n := range c.all {
		n.close()
	}
	return nil
}

// hostOf is the host of a URL: the profile names the neighbour, which needs no other
// permission, as it gets no load.
func hostOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return u.Hostname()
}
