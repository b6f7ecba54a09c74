package pi

import (
	"context"
	"fmt"
	"time"

	"assay.dev/assay/internal/observe/collect"
	"assay.dev/assay/internal/observe/database"
	"assay.dev/assay/internal/observe/metric"
)

// Options says how long to wait for points that are published late. Zero values mean the
// defaults.
type Options struct {
	// Interrupted is done when the run is interrupted. Waiting then ends, and the points
	// published so far are used. nil: never.
	Interrupted context.Context
	Timeout     time.Duration // after the end of the load
	Interval    time.Duration // between requests
	FinalAfter  time.Duration // age from which points are considered final
}

// The delay of publication is not documented; the console showed points within half a
// minute.
const (
	defaultTimeout  = 2 * time.Minute
	defaultInterval = 5 * time.Second
	defaultFinal    = time.Minute
)

// Collector collects from one instance.
type Collector struct {
	instance database.Insights
	options  Options
	api      *api
	notes    collect.Notes
}

var _ collect.Collector = (*Collector)(nil)

// New returns a collector for an instance. It sends no request.
func New(instance database.Insights, o Options) *Collector {
	if o.Interrupted == nil {
		o.Interrupted = context.Background()
	}
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	if o.Interval == 0 {
		o.Interval = defaultInterval
	}
	if o.FinalAfter == 0 {
		o.FinalAfter = defaultFinal
	}
	return &Collector{instance: instance, options: o}
}

// Source is "database".
func (c *Collector) Source() string { return metric.SourceDatabase }

// Examine requests the load of the last minute. It returns the error that a run would have.
func Examine(ctx context.Context, instance database.Insights) error {
	c := New(instance, Options{})
	return c.Start(ctx)
}

// Start finds credentials and tests them with a request for the load of the last minute.
func (c *Collector) Start(ctx context.Context) error {
	api, err := connect(ctx, c.instance)
	if err != nil {
		return err
	}
	now := time.Now()
	if _, err := api.load(ctx, byNothing, now.Add(-time.Minute).Unix(), now.Unix()); err != nil {
		return fmt.Errorf("collect from Performance Insights: %w", err)
	}
	c.api = api
	return nil
}

// Run waits until the load has ended, then for its points, in bounded time, and sends the
// frames of all seconds. Unlike other collectors it does not send during the load, because
// points are final only long after their second.
func (c *Collector) Run(ctx context.Context, sink collect.Sink) error {
	began := time.Now().Unix()
	<-ctx.Done()
	ended := max(time.Now().Unix(), began+1) // the current second has no point yet
	all, err := c.gather(context.WithoutCancel(ctx), began, ended)
	if missing := all.missing(began, ended); missing > 0 {
		c.notes.Add("Performance Insights published no load for %d of the run's %d seconds%s", missing, ended-began, c.waited(err))
	}
	if len(all.total) == 0 && err != nil {
		return fmt.Errorf("collect from Performance Insights: %w", err)
	}
	stream := collect.NewStream(c.Source(), sink)
	sendFrames(all, began, ended, stream)
	if closeErr := stream.Close(ended); closeErr != nil {
		return closeErr
	}
	if err != nil {
		return fmt.Errorf("collect from Performance Insights: %w", err)
	}
	return nil
}

// waited says how long the collector waited for missing points.
func (c *Collector) waited(err error) string {
	switch {
	case err != nil:
		return ""
	case c.options.Interrupted.Err() != nil:
		return " before the run was interrupted"
	}
	return fmt.Sprintf(" within %s after its end", c.options.Timeout)
}

// Notes lists what could not be observed, as sentences for the certificate.
func (c *Collector) Notes() []string { return c.notes.All() }

// Close has nothing to restore.
func (c *Collector) Close() error { return nil }
