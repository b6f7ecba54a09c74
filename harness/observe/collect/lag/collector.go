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
	"assay/harness/observe/database"
	"assay/harness/observe/metric"
	"assay/harness/spec"
)

const (
	// period is the time between looks: five a second find most of what a second
	// had at its worst, and cost a server next to nothing.
	period = 200 * time.Millisecond
	// answer is how long a look may take.
	answer = 900 * time.Millisecond
)

// Options says whose lag is collected.
type Options struct {
	Database string   // DSN of what the replicas follow; empty: they tell of themselves, as Aurora's do
	Readers  []string // DSNs of replicas
	// Binlog is where the lag of a reader of the binlog is read; nil: nowhere.
	Binlog  *spec.BinlogReader
	Service string   // URL of the service's metrics, where Binlog names none
	Hosts   []string // beside loopback, that Binlog may name
}

// Empty tells that there is nothing to collect.
func (o Options) Empty() bool { return len(o.Readers) == 0 && o.Binlog == nil }

// gauge is one lag that can be read. Its methods are called by one goroutine.
type gauge interface {
	// open prepares; its error says why the lag cannot be read.
	open(ctx context.Context) error
	// read is the lag now, in ms.
	read(ctx context.Context) (float64, error)
	close()
}

// watched is a gauge and what it showed in the second that goes on.
type watched struct {
	gauge
	series metric.Series

	mu      sync.Mutex
	longest float64
	seen    bool
	failing bool // the last look failed; of the watching goroutine alone
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
		c.all = append(c.all, &watched{gauge: &replica{dsn: dsn, source: o.Database}, series: metric.Of(metric.ReplicaLag, metric.LabelReader, address(dsn))})
	}
	if o.Binlog != nil {
		c.all = append(c.all, &watched{gauge: binlogReader(o), series: metric.Of(metric.BinlogReaderLag)})
	}
	return c
}

// address tells replicas apart, without user and password.
func address(dsn string) string {
	of, _ := database.Address(dsn)
	return of
}

// Source is "lag".
func (c *Collector) Source() string { return collect.Lag }

// Examine opens each and reads it once: its errors are what a run would meet.
func Examine(ctx context.Context, o Options) error {
	c := New(o)
	return errors.Join(c.Start(ctx), c.Close())
}

// Start opens each and reads it once.
func (c *Collector) Start(ctx context.Context) error {
	for _, w := range c.all {
		err := w.open(ctx)
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
	if reader := w.series.Label(metric.LabelReader); reader != "" {
		return "lag of the replica at " + reader
	}
	return "lag of the binlog's reader"
}

// Run looks at all until ctx is done. A look that fails leaves its second to the
// others, and then without a value.
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
		w.look(lag, err)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// look keeps what a look found.
func (w *watched) look(lag float64, err error) {
	if err == nil && (math.IsNaN(lag) || math.IsInf(lag, 0) || lag < 0) {
		err = fmt.Errorf("%g is no lag", lag) // what readers say before they have read anything
	}
	if (err != nil) != w.failing {
		w.failing = err != nil
		if w.failing {
			slog.Warn(w.name()+" cannot be read", "err", database.Reason(err))
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
		w.close()
	}
	return nil
}
