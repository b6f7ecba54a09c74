package k6

import (
	"maps"
	"slices"
	"strconv"

	"assay.dev/assay/internal/observe/ledger"
	"assay.dev/assay/internal/observe/metric"
)

// drained is what take removed from the aggregate.
type drained struct {
	seconds []int64 // in order
	buckets []*bucket
	series  []metric.Series
	kinds   []metric.Kind
	entries []ledger.Entry
	refused error // what the script has done so far that ends the run
}

// take removes every second before end, and the acknowledged identities.
func (a *aggregate) take(end int64) drained {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := drained{entries: a.entries, refused: a.refused, series: a.index.series, kinds: a.index.kinds}
	a.entries = nil
	for _, second := range slices.Sorted(maps.Keys(a.seconds)) {
		if second < end {
			t.seconds, t.buckets = append(t.seconds, second), append(t.buckets, a.seconds[second])
			delete(a.seconds, second)
		}
	}
	return t
}

// recycle resets the buckets of t for reuse; they must not be read any more.
func (a *aggregate) recycle(t drained) {
	for _, b := range t.buckets {
		clear(b.values)
		clear(b.touched)
		clear(b.examples)
		for _, h := range b.hists {
			if h != nil {
				h.Reset()
			}
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	const most = 16 // more seconds than are in use at once, except after a long stall
	a.free = append(a.free, t.buckets[:min(len(t.buckets), max(0, most-len(a.free)))]...)
}

// points returns the bucket's points in the order of the series.
func (b *bucket) points(series []metric.Series, kinds []metric.Kind) []metric.Point {
	var points []metric.Point
	for i, touched := range b.touched {
		if !touched {
			continue
		}
		p := metric.Point{Series: series[i], Kind: kinds[i], Value: b.values[i]}
		if kinds[i] == metric.Histogram {
			p.Value, p.Hist, p.Exemplars = 0, b.hists[i], b.examples[i].all()
		}
		points = append(points, p)
	}
	return points
}

// closing returns the points of the closing frame: the totals of the stream.
func (a *aggregate) closing(frames uint64) []metric.Point {
	a.mu.Lock()
	defer a.mu.Unlock()
	points := []metric.Point{
		metric.CounterPoint(metric.Of(metric.WorkerFrames), float64(frames)),
		metric.CounterPoint(metric.Of(metric.WorkerSeed, "seed", strconv.FormatUint(a.seed, 10)), 1),
	}
	if t := a.first; t != nil {
		points = append(points, metric.GaugePoint(metric.Of(metric.WorkerStartDelay), milliseconds(t.Lag+t.Queueing)))
	}
	for _, name := range slices.Sorted(maps.Keys(a.index.totals)) {
		points = append(points, metric.CounterPoint(metric.Of(metric.WorkerSamples, "metric", name), float64(*a.index.totals[name])))
	}
	return points
}

// bucket is one second so far: values and histograms by series.
type bucket struct {
	values  []float64
	hists   []*metric.Hist
	touched []bool
	// examples are exemplars by series, few.
	examples map[int]*kept
}

func (b *bucket) grow(i int) {
	for len(b.values) <= i {
		b.values, b.hists, b.touched = append(b.values, 0), append(b.hists, nil), append(b.touched, false)
	}
	b.touched[i] = true
}

func (b *bucket) count(i int, v float64) {
	b.grow(i)
	b.values[i] += v
}

func (b *bucket) set(i int, v float64) {
	b.grow(i)
	b.values[i] = v
}

func (b *bucket) observe(i int, v float64) {
	b.grow(i)
	if b.hists[i] == nil {
		b.hists[i] = &metric.Hist{}
	}
	b.hists[i].Record(v, 1)
}
