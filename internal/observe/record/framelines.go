// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"math"
	"time"

	"assay.dev/assay/internal/observe/metric"
)

// frameLine is the JSON line of one point of one frame.
type frameLine struct {
	Source   string `json:"source"`
	Sequence uint64 `json:"sequence"`
	Second   int64  `json:"second"`
	// Seconds is the length of the interval that ends with Second, if it has several seconds.
	Seconds int64             `json:"seconds,omitempty"`
	Closing bool              `json:"closing,omitempty"`
	Metric  string            `json:"metric"`
	Unit    string            `json:"unit,omitempty"`
	Labels  map[string]string `json:"labels,omitempty"`
	Value   *float64          `json:"value,omitempty"`
	Count   *uint64           `json:"count,omitempty"`
	Sum     *float64          `json:"sum,omitempty"`
	percentiles
	Lower     *percentiles   `json:"lower,omitempty"` // between which the percentiles lie, of a sender with coarser buckets than ours
	Upper     *percentiles   `json:"upper,omitempty"`
	Exemplars []exemplarLine `json:"exemplars,omitempty"`
}

// exemplarLine is an exemplar within the line of its point.
type exemplarLine struct {
	TraceID string            `json:"trace_id"`
	Time    time.Time         `json:"time"`
	Value   *float64          `json:"value,omitempty"`
	Labels  map[string]string `json:"labels,omitempty"`
}

type percentiles struct {
	P50 *float64 `json:"p50,omitempty"`
	P95 *float64 `json:"p95,omitempty"`
	P99 *float64 `json:"p99,omitempty"`
	Max *float64 `json:"max,omitempty"`
}

// percentilesOf are the finite values of a function of q.
func percentilesOf(at func(q float64) (float64, bool)) (p percentiles) {
	for q, into := range map[float64]**float64{0.5: &p.P50, 0.95: &p.P95, 0.99: &p.P99, 1: &p.Max} {
		if v, ok := at(q); ok {
			*into = finite(v)
		}
	}
	return p
}

// WriteLines writes the points of all frames of a sealed run folder as JSON lines:
// counters and gauges with a value, histograms with a count, a sum and percentiles,
// in the metric's unit, and with the observations that are named by their trace. JSON has
// no form for NaN and infinite values, which a script or a
// foreign sender may send: their fields are omitted.
func WriteLines(w io.Writer, dir string) error {
	if err := CheckSeal(dir); err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	encoder := json.NewEncoder(out)
	err := EachFrame(dir, func(f metric.Frame) error {
		for _, p := range f.Points {
			if err := encoder.Encode(lineOf(f, p)); err != nil {
				return err
			}
		}
		return nil
	})
	return errors.Join(err, out.Flush())
}

func lineOf(f metric.Frame, p metric.Point) frameLine {
	l := frameLine{Source: f.Source, Sequence: f.Sequence, Second: f.Second, Closing: f.Closing, Metric: p.Series.Name, Unit: p.Series.Unit}
	if f.Length > 1 {
		l.Seconds = f.Length
	}
	l.Labels = byKey(p.Series.Labels)
	if p.Kind != metric.Histogram {
		l.Value = finite(p.Value)
		return l
	}
	count := p.Hist.Count()
	l.Count, l.Sum = &count, finite(p.Hist.Sum())
	l.percentiles = percentilesOf(p.Hist.Quantile)
	if p.Hist.Coarse() {
		lower := percentilesOf(func(q float64) (float64, bool) { v, _, ok := p.Hist.Interval(q); return v, ok })
		upper := percentilesOf(func(q float64) (float64, bool) { _, v, ok := p.Hist.Interval(q); return v, ok })
		l.Lower, l.Upper = &lower, &upper
	}
	for _, e := range p.Exemplars {
		l.Exemplars = append(l.Exemplars, exemplarLine{hex.EncodeToString(e.TraceID[:]), time.Unix(0, e.Nanos).UTC(), finite(e.Value), byKey(e.Labels)})
	}
	return l
}

// byKey is nil without labels.
func byKey(labels []metric.Label) (all map[string]string) {
	for _, label := range labels {
		if all == nil {
			all = map[string]string{}
		}
		all[label.Key] = label.Value
	}
	return all
}

// finite returns a pointer to v; nil if JSON cannot represent it.
func finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}
