package lag

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"sync"
	"time"

	"assay/harness/observe/collect"
	"assay/harness/observe/collect/databases"
	"assay/harness/observe/database"
	"assay/harness/observe/metric"
	"assay/harness/spec"
)

const (
	// period is the time between readings: five a second find most of what a second
	// had at its worst, and cost a server next to nothing.
	period = 200 * time.Millisecond
	// timeout bounds one reading.
	timeout = 900 * time.Millisecond
)

// Options says whose lag is collected.
type Options struct {
	Database string   // DSN of the database that the replicas follow; empty: they tell their lag themselves, as Aurora's do
	Readers  []string // DSNs of replicas
	// Binlog is where the lag of a reader of the binlog is read; nil: nowhere.
	Binlog  *spec.BinlogReader
	Service string   // URL of the service's metrics, where Binlog names none
	Hosts   []string // beside loopback, that Binlog may name
}

// Empty tells that there is nothing to collect.
func (o Options) Empty() bool { return len(o.Readers) == 0 && o.Binlog == nil }

// watched is a reader of the database, and its lag in the current second.
type watched struct {
	database.LagReader
	series metric.Series

	mu      sync.Mutex
	longest float64 // ms
	seen    bool
	failing bool // the last reading failed; of the watching goroutine alone
}

// Collector collects lags.
type Collector struct {
	all []*watched
}

var _ collect.Collector = (*Collector)(nil)

// New makes a collector. It does not connect.
func New(o Options) *Collector {
	c := &Collector{}
	for _, dsn := range o.Readers {
		c.all = append(c.all, &watched{LagReader: &replica{dsn: dsn, source: o.Database}, series: metric.NewSeries(metric.ReplicaLag, "ms", "reader", address(dsn))})
	}
	if o.Binlog != nil {
		c.all = append(c.all, &watched{LagReader: binlogReader(o), series: metric.NewSeries(metric.BinlogReaderLag, "ms")})
	}
	return c
}

// address tells replicas apart, without user and password.
func address(dsn string) string {
	of, _ := databases.Parse(dsn)
	return of.Address
}

// Source is "lag".
func (c *Collector) Source() string { return collect.Lag }

// Examine opens each and reads it once: its error is what a run would meet.
func Examine(ctx context.Context, o Options) error {
	c := New(o)
	return errors.Join(c.Start(ctx), c.Close())
}

// Start opens each and reads it once.
func (c *Collector) Start(ctx context.Context) error {
	for _, w := range c.all {
		err := w.Open(ctx)
		if err == nil {
			_, err = w.read(ctx)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", w.name(), err)
		}
	}
	return nil
}

func (w *watched) name() string {
	if reader := w.series.Label("reader"); reader != "" {
		return "lag of the replica at " + reader
	}
	return "lag of the binlog's reader"
}

// Run reads all until ctx is done. A second in which every reading failed has no
// value.
func (c *Collector) Run(ctx context.Context, sink collect.Sink) error {
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var watching sync.WaitGroup
	for _, w := range c.all {
		watching.Go(func() { w.watch(inner) })
	}
	err := collect.EverySecond(ctx, c.Source(), sink, c.points)
	cancel()
	watching.Wait()
	return err
}

func (w *watched) watch(ctx context.Context) {
	tick := time.NewTicker(period)
	defer tick.Stop()
	for {
		lag, err := w.read(ctx)
		if ctx.Err() != nil {
			return
		}
		w.note(lag, err)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// read reads the lag, in ms.
func (w *watched) read(ctx context.Context) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return w.Lag(ctx)
}

// note keeps the longest lag of the second, and logs when readings begin or cease
// to fail.
func (w *watched) note(lag float64, err error) {
	if err == nil && (math.IsNaN(lag) || math.IsInf(lag, 0) || lag < 0) {
		err = fmt.Errorf("%g is no lag", lag) // what readers say before they have read anything
	}
	if (err != nil) != w.failing {
		w.failing = err != nil
		if w.failing {
			slog.Warn(w.name()+" cannot be read", "err", databases.Reason(err))
		} else {
			slog.Warn(w.name() + " can be read again")
		}
	}
	if err != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.longest, w.seen = max(w.longest, lag), true
}

// points are the longest lags since the last call.
func (c *Collector) points() (all []metric.Point) {
	for _, w := range c.all {
		w.mu.Lock()
		if w.seen {
			all = append(all, metric.GaugePoint(w.series, w.longest))
		}
		w.longest, w.seen = 0, false
		w.mu.Unlock()
	}
	return all
}

// Close disconnects.
func (c *Collector) Close() error {
	for _, w := range slices.Backward(c.all) {
		w.Close()
	}
	return nil
}
