package receiver

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"assay.dev/assay/internal/observe/collect"
	"assay.dev/assay/internal/observe/metric"
)

// Delays measures how late the workers' reports are: from the end of the second that a
// worker reports on until the report is passed on.
type Delays struct {
	now func() time.Time

	mu    sync.Mutex
	worst map[string]time.Duration // by worker, since the last reading
}

var _ collect.Collector = (*Delays)(nil)

// NewDelays makes an empty collector.
func NewDelays() *Delays { return &Delays{now: time.Now, worst: map[string]time.Duration{}} }

// Add notes a frame that was passed on. Transactions are counted in the second in which
// they were scheduled, so that only the frame about the worker itself is of the second
// before it was sent.
func (d *Delays) Add(f metric.Frame) {
	if !metric.IsWorker(f.Source) || !slices.ContainsFunc(f.Points, func(p metric.Point) bool { return p.Series.Name == metric.WorkerCPU }) {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.worst[f.Source] = max(d.worst[f.Source], d.now().Sub(time.Unix(f.Second+1, 0)))
}

// Source is "receiver".
func (d *Delays) Source() string { return metric.SourceReceiver }

// Start has nothing to prepare.
func (d *Delays) Start(context.Context) error { return nil }

// Run reports every second until ctx is done.
func (d *Delays) Run(ctx context.Context, sink collect.Sink) error {
	return collect.EverySecond(ctx, d.Source(), sink, d.read)
}

// Close has nothing to restore.
func (d *Delays) Close() error { return nil }

func (d *Delays) read() (points []metric.Point) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, source := range slices.Sorted(maps.Keys(d.worst)) {
		ms := float64(d.worst[source]) / float64(time.Millisecond)
		points = append(points, metric.GaugePoint(metric.Of(metric.ReceiveDelay, "worker", source), ms))
	}
	clear(d.worst)
	return points
}
