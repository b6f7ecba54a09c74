package pi

import (
	"context"
	"fmt"
	"time"

	"assay/harness/observe/collect"
	"assay/harness/observe/database"
	"assay/harness/observe/metric"
)

// Options says how long to wait for what is published late; zero values take
// the defaults.
type Options struct {
	// Interrupted is done when the run waits no longer: the points that are published
	// by then are used. nil: never.
	Interrupted context.Context
	Timeout     time.Duration // after the end of the load
	Interval    time.Duration // between requests
	FinalAfter  time.Duration // age at which points are taken as final
}

// How late points are published is not documented; the console showed them within
// half a minute.
const (
	defaultTimeout  = 2 * time.Minute
	defaultInterval = 5 * time.Second
	defaultFinal    = time.Minute
)

// Collector collects from one instance.
type Collector struct {
	of      database.Insights
	options Options
	api     *api
	notes   collect.Notes
}

var _ collect.Collector = (*Collector)(nil)

// New makes a collector of an instance. It sends no request.
func New(of database.Insights, o Options) *Collector {
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
	return &Collector{of: of, options: o}
}

// Source is "database".
func (c *Collector) Source() string { return metric.SourceDatabase }

// Examine asks for the last minute's load: its error is what a run would meet.
func Examine(ctx context.Context, of database.Insights) error {
	c := New(of, Options{})
	return c.Start(ctx)
}

// Start finds credentials, and tries them with the load of the last minute.
func (c *Collector) Start(ctx context.Context) error {
	api, err := connect(ctx, c.of)
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

// Run waits until the load has ended, then for its points, in bounded time, and
// sends the frames of all its seconds. Other collectors send while the load runs, but
// here a second's points are final only long after it.
func (c *Collector) Run(ctx context.Context, sink collect.Sink) error {
	began := time.Now().Unix()
	<-ctx.Done()
	ended := max(time.Now().Unix(), began+1) // the current second has no point yet
	all, err := c.gather(context.WithoutCancel(ctx), began, ended)
	if missing := all.missing(began, ended); missing > 0 {
		c.notes.Add("Performance Insights had no load for %d of the run's %d seconds%s", missing, ended-began, c.waited(err))
	}
	if len(all.total) == 0 && err != nil {
		return fmt.Errorf("collect from Performance Insights: %w", err)
	}
	stream := collect.NewStream(c.Source(), sink)
	frames(all, began, ended, stream)
	if sent := stream.Close(ended); sent != nil {
		return sent
	}
	if err != nil {
		return fmt.Errorf("collect from Performance Insights: %w", err)
	}
	return nil
}

// waited says how long missing points were waited for.
func (c *Collector) waited(err error) string {
	switch {
	case err != nil:
		return ""
	case c.options.Interrupted.Err() != nil:
		return ", which was interrupted"
	}
	return fmt.Sprintf(", %s after its end", c.options.Timeout)
}

// Notes are the limits of what was seen.
func (c *Collector) Notes() []string { return c.notes.All() }

// Close has nothing to restore.
func (c *Collector) Close() error { return nil }
