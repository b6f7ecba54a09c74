package otlp

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// deltas turns totals since the start of the process into increases since the last
// successful push. Gauges are unchanged. Summaries, of which Go's own metrics have one,
// are left out, as quantiles have no difference; so are histograms of fixed buckets,
// which the registry does not have.
//
// The SDK's reader calls it from one goroutine at a time.
type deltas struct {
	from        sdk.Producer
	since       time.Time // time of the last successful push
	at          time.Time // time of the last push
	before, now totals
}

// series identifies one series of totals.
type series struct {
	metric string
	labels attribute.Distinct
}

type totals struct {
	sums  map[series]float64
	hists map[series]metricdata.ExponentialHistogramDataPoint[float64]
}

// acknowledge makes the last push the base of later differences.
func (d *deltas) acknowledge() { d.before, d.since = d.now, d.at }

// Produce collects one push.
func (d *deltas) Produce(ctx context.Context) ([]metricdata.ScopeMetrics, error) {
	d.at = time.Now()
	d.now = totals{map[series]float64{}, map[series]metricdata.ExponentialHistogramDataPoint[float64]{}}
	scopes, err := d.from.Produce(ctx)
	for i := range scopes {
		var kept []metricdata.Metrics
		for _, m := range scopes[i].Metrics {
			switch data := m.Data.(type) {
			case metricdata.Gauge[float64]:
			case metricdata.Sum[float64]:
				d.sum(m.Name, &data)
				m.Data = data
			case metricdata.ExponentialHistogram[float64]:
				d.histogram(m.Name, &data)
				m.Data = data
			default:
				continue
			}
			kept = append(kept, m)
		}
		scopes[i].Metrics = kept
	}
	return scopes, err
}

func (d *deltas) sum(name string, data *metricdata.Sum[float64]) {
	data.Temporality = metricdata.DeltaTemporality
	for i := range data.DataPoints {
		p := &data.DataPoints[i]
		key := series{name, p.Attributes.Equivalent()}
		d.now.sums[key] = p.Value
		p.Value -= d.before.sums[key]
		p.StartTime, p.Time = d.since, d.at
	}
}

func (d *deltas) histogram(name string, data *metricdata.ExponentialHistogram[float64]) {
	data.Temporality = metricdata.DeltaTemporality
	for i := range data.DataPoints {
		p := &data.DataPoints[i]
		key := series{name, p.Attributes.Equivalent()}
		d.now.hists[key] = *p
		before := d.before.hists[key]
		p.Count -= before.Count
		p.Sum -= before.Sum
		p.ZeroCount -= before.ZeroCount
		// Durations have no negative buckets.
		p.PositiveBucket = since(p.PositiveBucket, before.PositiveBucket)
		p.StartTime, p.Time = d.since, d.at
	}
}

// since subtracts earlier buckets from current ones. Both have the same resolution, as
// the registry does not bound a histogram's size, and the current ones contain the
// earlier ones.
func since(now, before metricdata.ExponentialBucket) metricdata.ExponentialBucket {
	counts := append([]uint64(nil), now.Counts...)
	for i, n := range before.Counts {
		if n > 0 {
			counts[int(before.Offset-now.Offset)+i] -= n
		}
	}
	return metricdata.ExponentialBucket{Offset: now.Offset, Counts: counts}
}
