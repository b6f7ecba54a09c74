// SPDX-License-Identifier: Apache-2.0

package record

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/semconv"
)

const (
	// maxPushed is the longest interval, in seconds, for which pushed metrics are read: of
	// longer ones too little is known about when their increase was (ours).
	maxPushed = 10
	// keepPushed is for how many seconds a level counts that is not pushed again: sums over
	// pools and instances would lack it.
	keepPushed = 10
)

// Pushed is what services pushed by OTLP under the names of OpenTelemetry's semantic
// conventions.
type Pushed struct {
	// Senders are the senders of a service's metrics, sorted. The metrics are read only if there is
	// one sender.
	Senders []string
	Longest int64 // longest time that an increase may be spread over, s
	Read    bool  // the timeline has metrics of a service that it has from a sender
}

// TooRare reports whether the intervals are too long for the metrics to be read.
func (p Pushed) TooRare() bool { return p.Longest > maxPushed }

// Pushed says what was pushed.
func (t *Timeline) Pushed() Pushed { return t.pushed }

// ReadPushed adds the metrics of the service that it pushed, as if they had been scraped,
// without those that were. It is to be called once, when all
// frames have been added.
//
// Only what a single service has sent is read: nobody knows which of several is the target,
// and a request to one may be part of a request to another.
func (t *Timeline) ReadPushed() {
	t.findSenders()
	if len(t.pushed.Senders) != 1 || t.pushed.TooRare() {
		return
	}
	values := map[string]map[int64]float64{} // by series of the catalogue
	from := map[string]string{}              // the name that a series is read from
	fastest := map[int64]float64{}
	for _, m := range semconv.Metrics {
		key := m.As.Key()
		if m.Beside {
			key += m.Name
		}
		if other, ok := from[key]; t.has(m.As) || ok && other != m.Name {
			continue
		}
		points := t.pushedPoints(m)
		if len(points) == 0 {
			continue
		}
		from[key] = m.Name
		if values[m.As.Key()] == nil {
			values[m.As.Key()] = map[int64]float64{}
		}
		addSeconds(values[m.As.Key()], m, points)
		if m.As.Name == metric.ServiceQueries {
			fastest = fastestStatements(m, points)
		}
	}
	t.addBySecond(metric.Of(metric.ServiceQueryFastest), fastest)
	for _, m := range semconv.Metrics {
		t.addBySecond(m.As, values[m.As.Key()])
		delete(values, m.As.Key())
	}
	t.pushed.Read = len(from) > 0
}

// findSenders finds the senders of metrics of a service: of its requests, statements or
// pool. CPU time is sent by other programs too.
func (t *Timeline) findSenders() {
	senders := map[string]bool{}
	for _, m := range semconv.Metrics {
		if m.As.Name == metric.ServiceCPU || m.As.Name == metric.ServiceCPUs {
			continue
		}
		for _, p := range t.Foreign(m.Name, nil, All) {
			senders[p.Source] = true
			if p.Kind != metric.Gauge {
				t.pushed.Longest = max(t.pushed.Longest, p.Over.Seconds()-1)
			}
		}
	}
	t.pushed.Senders = slices.Sorted(maps.Keys(senders))
}

// has reports whether a series was measured without OTLP.
func (t *Timeline) has(s metric.Series) bool {
	return slices.ContainsFunc(t.of(s.Name), func(other *timeSeries) bool { return other.series.Key() == s.Key() })
}

// pushedPoints are the points of a metric that count, if they are as in the conventions, and
// not of too long an interval.
func (t *Timeline) pushedPoints(m semconv.Metric) []Foreign {
	kind := metric.Histogram
	if m.Part == semconv.Value {
		d, _ := metric.Find(m.As.Name)
		kind = d.Kind
	}
	return slices.DeleteFunc(t.Foreign(m.Name, nil, All), func(p Foreign) bool {
		_, ok := m.Factor(p.Series.Unit)
		return !ok || p.Kind != metric.Gauge && p.Over.Seconds()-1 > maxPushed || p.Source != t.pushed.Senders[0] || p.Kind != kind || m.Of != nil && !m.Of(p.Series.Label)
	})
}

// addSeconds adds the points of a metric by second. An increase is spread evenly over the
// seconds that its interval touches, and a level counts until the next of its series.
func addSeconds(to map[int64]float64, m semconv.Metric, points []Foreign) {
	for i, p := range points {
		factor, _ := m.Factor(p.Series.Unit)
		value, over := p.Value, p.Over
		switch m.Part {
		case semconv.Count:
			value = float64(p.Count())
		case semconv.Sum:
			h := &metric.Hist{}
			p.Merge(h)
			value = h.Sum()
		}
		if math.IsNaN(value) { // a histogram without its sum
			continue
		}
		if p.Kind == metric.Gauge {
			over.From = over.To - 1
			over.To += keepPushed
			if i+1 < len(points) && points[i+1].Series.Key() == p.Series.Key() {
				over.To = min(over.To, points[i+1].Over.From)
			}
		} else {
			value /= float64(over.Seconds())
		}
		for second := over.From; second < over.To; second++ {
			to[second] += factor * value
		}
	}
}

// fastestStatements is the time within which the fastest tenth of the statements ended, in
// ms, of those whose interval ends in a second.
func fastestStatements(m semconv.Metric, points []Foreign) map[int64]float64 {
	hists, fastest := map[int64]*metric.Hist{}, map[int64]float64{}
	for _, p := range points {
		second := p.Over.To - 1
		if hists[second] == nil {
			hists[second] = &metric.Hist{}
		}
		p.Merge(hists[second])
		unit, _ := semconv.Milliseconds(cmp.Or(p.Series.Unit, m.Unit))
		if _, upper, ok := hists[second].Interval(metric.FastestShare); ok && !math.IsInf(upper, 1) {
			fastest[second] = upper * unit
		}
	}
	return fastest
}

// addBySecond adds a series of the service's.
func (t *Timeline) addBySecond(s metric.Series, values map[int64]float64) {
	t.source(metric.SourceService, t.left)
	d, _ := metric.Find(s.Name)
	for _, second := range slices.Sorted(maps.Keys(values)) {
		p := metric.CounterPoint(s, values[second])
		if d.Kind == metric.Gauge {
			p = metric.GaugePoint(s, values[second])
		}
		f := metric.Frame{Source: metric.SourceService, Second: second}
		t.seriesOf(p, f, t.left).add(f, p, t.left)
	}
}
