package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"assay/harness/observe/collect"
	"assay/harness/observe/collect/scrape"
	"assay/harness/observe/metric"
	"assay/harness/observe/record"
)

// ErrAbsent means that there is no endpoint, or that it has none of the metrics that are
// read. A run continues without service metrics.
var ErrAbsent = errors.New("service metrics absent")

// Collector scrapes one endpoint.
type Collector struct {
	endpoint *scrape.Endpoint
	last     reading // of the last scrape that succeeded; nil: none yet
	failing  bool
	builds   []record.Build // as read by Start
}

var _ collect.Collector = (*Collector)(nil)

// New returns a collector for the endpoint at a URL such as http://127.0.0.1:8080/metrics,
// on loopback or on one of hosts, such as the run's target.
func New(url string, hosts ...string) *Collector {
	return &Collector{endpoint: scrape.New(url, hosts...)}
}

// Source is "service".
func (c *Collector) Source() string { return metric.SourceService }

// Start reads the endpoint once. Its error is ErrAbsent if that fails or if the endpoint
// has none of the metrics that are read.
func (c *Collector) Start(ctx context.Context) error {
	if err := c.endpoint.Err(); err != nil {
		return err
	}
	var body []byte
	err := collect.First(ctx, func(ctx context.Context) (err error) {
		body, err = c.endpoint.Fetch(ctx)
		return err
	})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrAbsent, err)
	}
	c.builds = buildsIn(body)
	r, err := parse(body)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrAbsent, err)
	}
	if len(r) == 0 {
		return fmt.Errorf("%w: %s has none of the supported metrics, such as go_sql_* and %s", ErrAbsent, c.endpoint, queryDuration)
	}
	return nil
}

// Describe returns the builds that the service reported at Start; nil if it reported none.
// It also works if Start failed because other metrics are missing.
func (c *Collector) Describe() *record.Service {
	if len(c.builds) == 0 {
		return nil
	}
	return &record.Service{Builds: c.builds}
}

// Run scrapes every second until ctx is done. After a failed scrape the second has no
// points, and the next scrape includes its increases.
func (c *Collector) Run(ctx context.Context, sink collect.Sink) error {
	if err := c.endpoint.Err(); err != nil {
		return err
	}
	inner := context.WithoutCancel(ctx) // a scrape is short, so the last one is completed
	c.read(inner)                       // the base of later increases
	return collect.EverySecond(ctx, c.Source(), sink, func() []metric.Point { return c.read(inner) })
}

func (c *Collector) read(ctx context.Context) []metric.Point {
	now, err := c.scrape(ctx)
	if (err != nil) != c.failing {
		c.failing = err != nil
		if c.failing {
			slog.Warn("service collector gets no metrics", "err", err)
		} else {
			slog.Warn("service collector gets metrics again")
		}
	}
	if err != nil {
		return nil
	}
	points := now.points(c.last)
	c.last = now
	return points
}

// Close closes the connection.
func (c *Collector) Close() error {
	c.endpoint.Close()
	return nil
}
