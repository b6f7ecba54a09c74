package gauge

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
	"assay/harness/observe/metric"
	"assay/harness/spec"
)

// answer is how long a look may take.
const answer = 900 * time.Millisecond

// Options says which gauges are collected.
type Options struct {
	Profile  spec.Profile // says where gauges are read
	Database string       // DSN of what the replicas follow; empty: they tell of themselves, as Aurora's do
	Readers  []string     // DSNs of replicas
	Service  string       // URL of the service's metrics, where the profile names none; empty: not known yet
	Hosts    []string     // beside loopback, that the profile may name
}

// gauge is one that can be read. Its methods are called by one goroutine.
type gauge interface {
	// open prepares; its error says why the gauge cannot be read.
	open(ctx context.Context) error
	// read is its value now, in the unit of its metric.
	read(ctx context.Context) (float64, error)
	close()
}

// watched is a gauge and what it showed in the second that goes on.
type watched struct {
	gauge
	series metric.Series
	name   string        // for people
	known  bool          // where it is read
	period time.Duration // between looks, less than a second

	mu      sync.Mutex
	largest float64
	seen    bool
	failing bool // the last look failed; of the watching goroutine alone
}

// all are the gauges that the options say how to read.
func (o Options) all() []*watched {
	all := o.replicas()
	if b := o.binlogReader(); b != nil {
		all = append(all, b)
	}
	return append(all, o.named()...)
}

// Metrics lists the metrics of the gauges of which it is known where they are
// read: of a service that is not there yet nothing is.
func (o Options) Metrics() (names []string) {
	for _, w := range o.all() {
		if w.known && !slices.Contains(names, w.series.Name) {
			names = append(names, w.series.Name)
		}
	}
	return names
}

// Examine opens the gauges of a metric and reads each once: its errors are what a
// run would meet.
func (o Options) Examine(ctx context.Context, name string) error {
	c := Collector{all: slices.DeleteFunc(o.all(), func(w *watched) bool { return w.series.Name != name })}
	return errors.Join(c.Start(ctx), c.Close())
}

// Collector collects the gauges of one source.
type Collector struct {
	source string
	all    []*watched
}

var _ collect.Collector = (*Collector)(nil)

// New makes the collectors that the options ask for, one for each source; none
// where there is nothing to collect. They do not connect.
func New(o Options) (collectors []*Collector) {
	for _, w := range o.all() {
		d, _ := metric.Find(w.series.Name)
		i := slices.IndexFunc(collectors, func(c *Collector) bool { return c.source == d.Sources[0] })
		if i < 0 {
			i = len(collectors)
			collectors = append(collectors, &Collector{source: d.Sources[0]})
		}
		collectors[i].all = append(collectors[i].all, w)
	}
	return collectors
}

// Source is that of the gauges in the catalogue.
func (c *Collector) Source() string { return c.source }

// Start opens each and reads it once.
func (c *Collector) Start(ctx context.Context) error {
	for _, w := range c.all {
		err := w.open(ctx)
		if err == nil {
			_, err = w.read(ctx)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
	}
	return nil
}

// Run looks at all until ctx is done. A look that fails leaves its second to the
// others, and then without a value.
func (c *Collector) Run(ctx context.Context, sink collect.Sink) error {
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var watching sync.WaitGroup
	for _, w := range c.all {
		watching.Go(func() { w.watch(inner) })
	}
	err := collect.EverySecond(ctx, c.source, sink, c.points)
	cancel()
	watching.Wait()
	return err
}

func (w *watched) watch(ctx context.Context) {
	tick := time.NewTicker(w.period)
	defer tick.Stop()
	for {
		v, err := w.read(ctx)
		if ctx.Err() != nil {
			return
		}
		w.look(v, err)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// look keeps what a look found.
func (w *watched) look(v float64, err error) {
	if err == nil && (math.IsNaN(v) || math.IsInf(v, 0) || v < 0) {
		err = fmt.Errorf("%g is not a valid reading", v) // what readers say before they have read anything
	}
	if (err != nil) != w.failing {
		w.failing = err != nil
		if w.failing {
			slog.Warn(w.name+" cannot be read", "err", databases.Reason(err))
		} else {
			slog.Warn(w.name + " can be read again")
		}
	}
	if err != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.largest, w.seen = max(w.largest, v), true
}

// points are the largest readings since the last call.
func (c *Collector) points() (all []metric.Point) {
	for _, w := range c.all {
		w.mu.Lock()
		if w.seen {
			all = append(all, metric.GaugePoint(w.series, w.largest))
		}
		w.largest, w.seen = 0, false
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
