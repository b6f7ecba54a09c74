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

	"assay.dev/assay/internal/crash"
	"assay.dev/assay/internal/observe/collect"
	"assay.dev/assay/internal/observe/collect/databases"
	"assay.dev/assay/internal/observe/collect/scrape"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
)

// readTimeout bounds one reading.
const readTimeout = 900 * time.Millisecond

// Options says which gauges are collected.
type Options struct {
	Run      string       // id of the run, for the query of the persist lag
	Profile  spec.Profile // defines the gauges
	Database string       // DSN of the replicas' source; empty: Aurora replicas, which report their lag themselves
	Readers  []string     // DSNs of replicas
	Service  string       // URL of the service's metrics, for gauges without a URL in the profile; empty: not known yet
	Hosts    []string     // hosts that URLs in the profile may name, in addition to loopback

	// Instances lists all instances of the service, of which the largest value counts; nil:
	// only Service is read.
	Instances scrape.Instances
}

// reader reads the current value of a gauge. Its methods are called by one goroutine.
type reader interface {
	// open prepares reading. Its error says why the gauge cannot be read.
	open(ctx context.Context) error
	// read returns the current value in the unit of the metric.
	read(ctx context.Context) (float64, error)
	close()
}

// polledGauge is a gauge and its largest reading in the current second.
type polledGauge struct {
	reader
	series  metric.Series
	name    string        // for messages
	located bool          // it is known where to read it
	period  time.Duration // between readings, less than a second

	mu      sync.Mutex
	largest float64
	hasData bool
	failing bool // the last reading failed; used by Start, then by the polling goroutine only
}

// kinds are the kinds of gauges, in the order in which they are read.
var kinds = []func(Options) []*polledGauge{
	Options.replicas, Options.binlogReader, Options.consumerLag, Options.named, Options.persistLag,
}

func (o Options) gauges() (all []*polledGauge) {
	for _, kind := range kinds {
		all = append(all, kind(o)...)
	}
	return all
}

// Metrics lists the metrics of the gauges for which it is known where they are read. For
// gauges of a service it is not known before the service runs.
func (o Options) Metrics() (names []string) {
	for _, g := range o.gauges() {
		if g.located && !slices.Contains(names, g.series.Name) {
			names = append(names, g.series.Name)
		}
	}
	return names
}

// Examine opens the gauges of a metric and reads each once. Its error says which gauge
// cannot be read, or did not answer in time.
func (o Options) Examine(ctx context.Context, name string) error {
	for _, g := range o.gauges() {
		// Some of the conditions' gauges may be of a service that does not run yet.
		if g.series.Name != name || name == metric.AbortGauge && !g.located {
			continue
		}
		_, err := g.start(ctx)
		g.close()
		if err != nil && !(g.shownOnly() && errors.Is(err, errNoLag)) { // before the run there are no rows
			return fmt.Errorf("%s: %w", g.name, err)
		}
	}
	return nil
}

// shownOnly reports whether nothing is decided by the gauge: it must not keep those that
// are judged from being read.
func (g *polledGauge) shownOnly() bool { return g.series.Name == metric.PersistLagNow }

// Collector collects the gauges of one source.
type Collector struct {
	source string
	gauges []*polledGauge
}

var _ collect.Collector = (*Collector)(nil)

// New returns one collector per source of the gauges that the options define, which may be
// none. They do not connect.
func New(o Options) (collectors []*Collector) {
	for _, g := range o.gauges() {
		d, _ := metric.Find(g.series.Name)
		i := slices.IndexFunc(collectors, func(c *Collector) bool { return c.source == d.Sources[0] })
		if i < 0 {
			i = len(collectors)
			collectors = append(collectors, &Collector{source: d.Sources[0]})
		}
		collectors[i].gauges = append(collectors[i].gauges, g)
	}
	return collectors
}

// Source returns the source of the gauges in the metric catalogue.
func (c *Collector) Source() string { return c.source }

// Start opens all gauges and reads each once. A reading that times out is no error, because
// a busy system may answer the next one.
func (c *Collector) Start(ctx context.Context) error {
	for _, g := range c.gauges {
		late, err := g.start(ctx)
		switch {
		case errors.Is(err, errNoLag) && g.shownOnly():
		case late || err != nil && g.shownOnly():
			g.record(0, err)
		case err != nil:
			return fmt.Errorf("%s: %w", g.name, err)
		}
	}
	return nil
}

// start opens the gauge and reads it once. late reports whether err is that the reading
// timed out, so that a later one may succeed.
func (g *polledGauge) start(ctx context.Context) (late bool, err error) {
	if err := g.open(ctx); err != nil {
		return false, err
	}
	err = collect.First(ctx, func(ctx context.Context) error { _, err := g.read(ctx); return err })
	return errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil, err
}

// Run polls all gauges until ctx is done. A second in which all readings of a gauge fail
// has no value for it.
func (c *Collector) Run(ctx context.Context, sink collect.Sink) error {
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var polling crash.Group
	for _, g := range c.gauges {
		polling.Go(func() { g.poll(inner) })
	}
	err := collect.EverySecond(ctx, c.source, sink, c.points)
	cancel()
	polling.Wait()
	return err
}

func (g *polledGauge) poll(ctx context.Context) {
	tick := time.NewTicker(g.period)
	defer tick.Stop()
	for {
		v, err := g.read(ctx)
		if ctx.Err() != nil {
			return
		}
		g.record(v, err)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (g *polledGauge) record(v float64, err error) {
	if err == nil && (math.IsNaN(v) || math.IsInf(v, 0) || v < 0) {
		err = fmt.Errorf("%g is not a valid reading", v) // binlog readers report -1 before they have read anything
	}
	if (err != nil) != g.failing {
		g.failing = err != nil
		if g.failing {
			slog.Warn(g.name+" cannot be read", "err", databases.Reason(err))
		} else {
			slog.Warn(g.name + " can be read again")
		}
	}
	if err != nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.largest, g.hasData = max(g.largest, v), true
}

// points returns the largest readings since the last call.
func (c *Collector) points() (all []metric.Point) {
	for _, g := range c.gauges {
		g.mu.Lock()
		if g.hasData {
			all = append(all, metric.GaugePoint(g.series, g.largest))
		}
		g.largest, g.hasData = 0, false
		g.mu.Unlock()
	}
	return all
}

func (c *Collector) Close() error {
	for _, g := range slices.Backward(c.gauges) {
		g.close()
	}
	return nil
}
