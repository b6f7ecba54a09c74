package host

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/prometheus/procfs"
	"github.com/prometheus/procfs/blockdevice"

	"assay.dev/assay/internal/crash"
	"assay.dev/assay/internal/observe/collect"
	"assay.dev/assay/internal/observe/metric"
)

// Collector collects from this machine.
type Collector struct {
	proc    procfs.FS
	block   blockdevice.FS
	last    map[string]float64  // previous values of counters, by series
	watched map[string]*process // by name; nil: not read yet
	pids    func() map[string]int
	idle    idleTimes
	stops   stops
	trips   roundTrips
	at      time.Time // of the previous reading
}

// idleTimes holds the idle time of each CPU, in s.
type idleTimes struct {
	total    map[int64]float64 // since the machine's boot
	increase map[int64]float64 // between the last two readings; empty: unknown
}

var _ collect.Collector = (*Collector)(nil)

// New makes a collector that also watches processes: their ids by name, as known at each
// reading. A process that has ended is no longer reported. target is the URL of
// the service, to which the round trip is measured; empty: none.
func New(processes func() map[string]int, target string) *Collector {
	c := &Collector{
		pids: processes, watched: map[string]*process{},
		stops: stops{pids: processes, seen: map[string]sampledState{}},
	}
	if u, err := url.Parse(target); err == nil && u.Hostname() != "" {
		c.trips.target = u
	}
	return c
}

// Source is "host".
func (c *Collector) Source() string { return metric.SourceHost }

// Start checks that /proc and /sys can be read.
func (c *Collector) Start(context.Context) error {
	var err error
	if c.proc, err = procfs.NewDefaultFS(); err != nil {
		return fmt.Errorf("collect from the host: %w (it needs Linux with /proc mounted)", err)
	}
	if c.block, err = blockdevice.NewDefaultFS(); err != nil {
		return fmt.Errorf("collect from the host: %w (it needs Linux with /sys mounted)", err)
	}
	if _, err := c.proc.Stat(); err != nil {
		return fmt.Errorf("collect from the host: %w", err)
	}
	return nil
}

// Run reads every second until ctx is done. Values that cannot be read are missing from
// the frame.
func (c *Collector) Run(ctx context.Context, sink collect.Sink) error {
	c.last, c.stops.proc, c.at = map[string]float64{}, c.proc, time.Now()
	probing, cancel := context.WithCancel(ctx)
	var sampling crash.Group
	defer func() { cancel(); sampling.Wait() }()
	c.read(probing) // the base of later increases
	sampling.Go(func() { c.stops.run(probing) })
	return collect.EverySecond(ctx, c.Source(), sink, func() []metric.Point { return c.read(probing) })
}

// Close has nothing to restore.
func (c *Collector) Close() error { return nil }

// points gathers the points of one reading.
type points struct {
	all  []metric.Point
	last map[string]float64 // counters at the last reading, by series key
	now  map[string]float64 // counters at this reading
}

func (p *points) gauge(name string, v float64, labels ...string) {
	p.all = append(p.all, metric.GaugePoint(metric.Of(name, labels...), v))
}

// increase adds an increase of a counter since the last reading.
func (p *points) increase(name string, v float64, labels ...string) {
	p.all = append(p.all, metric.CounterPoint(metric.Of(name, labels...), v))
}

// counter adds the increase since the last reading of a counter whose value is now v. A
// decrease counts as 0: the kernel's idle times decrease at times, and a device may have
// been replaced.
func (p *points) counter(name string, v float64, labels ...string) {
	series := metric.Of(name, labels...)
	key := series.Key()
	p.now[key] = v
	if before, ok := p.last[key]; ok {
		p.all = append(p.all, metric.CounterPoint(series, max(0, v-before)))
	}
}

func (c *Collector) read(ctx context.Context) []metric.Point {
	p := &points{last: c.last, now: make(map[string]float64, len(c.last))}
	c.cpu(p)
	c.pressure(p)
	c.memory(p)
	c.disks(p)
	c.network(p)
	c.processes(p)
	now := time.Now()
	c.stops.points(p, now.Sub(c.at).Seconds())
	c.at = now
	c.trips.points(p)
	c.trips.start(ctx)
	c.last = p.now
	return p.all
}
