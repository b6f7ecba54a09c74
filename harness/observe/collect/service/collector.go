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

// ErrAbsent says that there is no endpoint, or that it has none of our metrics:
// no failure, only "service metrics absent".
var ErrAbsent = errors.New("service metrics absent")

// Collector scrapes one endpoint.
type Collector struct {
	endpoint *scrape.Endpoint
	last     reading // of the last scrape that succeeded; nil: none yet
	failing  bool
	builds   []record.Build // that Start found
}

var _ collect.Collector = (*Collector)(nil)

// New makes a collector of the endpoint at the URL, such as
// http://127.0.0.1:8080/metrics, on loopback or one of hosts, as of the run's target.
func New(url string, hosts ...string) *Collector {
	return &Collector{endpoint: scrape.New(url, hosts...)}
}

// Source is "service".
func (c *Collector) Source() string { return metric.SourceService }

// Start tries the endpoint. Its error is ErrAbsent where there is nothing that
// we know.
func (c *Collector) Start(ctx context.Context) error {
	if err := c.endpoint.Err(); err != nil {
		return err
	}
	body, err := c.endpoint.Fetch(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrAbsent, err)
	}
	c.builds = buildsIn(body)
	r, err := parse(body)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrAbsent, err)
	}
	if len(r) == 0 {
		return fmt.Errorf("%w: %s has none of the names that are read, such as go_sql_* and %s", ErrAbsent, c.endpoint, queryDuration)
	}
	return nil
}

// Describe tells what the service was built from, by the account that it gave
// at Start; nil where it gave none. It tells also where Start failed for want of
// other metrics.
func (c *Collector) Describe() *record.Service {
	if len(c.builds) == 0 {
		return nil
	}
	return &record.Service{Builds: c.builds}
}

// Run scrapes every second until ctx is done. A scrape that fails leaves its
// second without points, and the next one covers the time between.
func (c *Collector) Run(ctx context.Context, sink collect.Sink) error {
	if err := c.endpoint.Err(); err != nil {
		return err
	}
	inner := context.WithoutCancel(ctx) // a scrape is short: the last one is finished
	c.read(inner)                       // what later increases are counted from
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
