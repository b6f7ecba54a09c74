// SPDX-License-Identifier: Apache-2.0

package metric

import (
	"fmt"
	"math"

	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/proto"
)

// maxExplicit bounds the explicit bounds of a received histogram. OpenTelemetry's SDKs
// have 15 unless configured otherwise.
const maxExplicit = 1000

// acceptExplicit is accept for OTLP's explicit buckets: bucket i holds the observations
// in (limits[i-1], limits[i]], the last one those above all limits, which are float64 as
// bits. Without buckets, all observations may have any value.
func (h *Hist) acceptExplicit(limits, counts []uint64, n histInfo) error {
	if len(limits) == 0 && len(counts) == 0 {
		counts = []uint64{h.total}
	}
	switch {
	case len(limits) > maxExplicit:
		return fmt.Errorf("histogram has more than %d bounds", maxExplicit)
	case len(counts) != len(limits)+1:
		return fmt.Errorf("histogram has %d buckets for %d bounds", len(counts), len(limits))
	}
	b := &bounds{}
	for i, count := range counts {
		lower, upper := math.Inf(-1), math.Inf(1)
		if i > 0 {
			lower = math.Float64frombits(limits[i-1])
		}
		if i < len(limits) {
			upper = math.Float64frombits(limits[i])
		}
		switch {
		case !(lower < upper), i < len(limits) && math.IsInf(upper, 0):
			return fmt.Errorf("histogram has the bound %g after %g", upper, lower)
		case count == 0:
		case upper < 0:
			return fmt.Errorf("histogram holds negative observations")
		default:
			b.ranges = append(b.ranges, rangeBetween(lower, upper, count))
		}
	}
	if !n.hasSum && h.total > 0 {
		h.sum = math.NaN()
	}
	if len(b.ranges) > 0 {
		h.bounds = b
	}
	h.completeExtremes(n)
	return h.check()
}

// parts splits a histogram into such as OTLP can represent: one of exponential buckets,
// and one for each list of ranges that do not overlap. Only a merge needs more than one;
// the first has the sum of all.
func (h *Hist) parts() []*Hist {
	if h.bounds == nil || len(h.bounds.ranges) == 0 {
		return []*Hist{h}
	}
	var all []*Hist
	add := func(part *Hist) {
		for _, r := range part.ranges() {
			part.total += r.Count
		}
		for _, n := range part.counts {
			part.total += n
		}
		part.total += part.zero
		if len(all) == 0 {
			part.sum = h.sum
		}
		part.completeExtremes(histInfo{})
		all = append(all, part)
	}
	if h.zero > 0 || len(h.counts) > 0 {
		add(&Hist{zero: h.zero, offset: h.offset, counts: h.counts, coarse: h.coarse})
	}
	for rest := h.bounds.ranges; len(rest) > 0; {
		var layer, overlapping []Range
		for _, r := range rest {
			if len(layer) > 0 && r.Low <= layer[len(layer)-1].High {
				overlapping = append(overlapping, r)
			} else {
				layer = append(layer, r)
			}
		}
		rest = overlapping
		if len(all) == 0 && len(rest) == 0 {
			return []*Hist{h}
		}
		add(&Hist{bounds: &bounds{ranges: layer}})
	}
	return all
}

// ranges are the observations between explicit bounds.
func (h *Hist) ranges() []Range {
	if h.bounds == nil {
		return nil
	}
	return h.bounds.ranges
}

func (h *Hist) exponentialPoint() *metricspb.ExponentialHistogramDataPoint {
	d := &metricspb.ExponentialHistogramDataPoint{Count: h.total, ZeroCount: h.zero, Scale: int32(h.Scale()), Sum: proto.Float64(h.sum)}
	d.Min, d.Max = h.exactExtremes()
	if len(h.counts) > 0 {
		d.Positive = &metricspb.ExponentialHistogramDataPoint_Buckets{Offset: int32(h.offset), BucketCounts: h.counts}
	}
	return d
}

// explicitPoint omits the bounds of buckets that hold nothing.
func (h *Hist) explicitPoint() *metricspb.HistogramDataPoint {
	d := &metricspb.HistogramDataPoint{Count: h.total}
	if !math.IsNaN(h.sum) {
		d.Sum = proto.Float64(h.sum)
	}
	d.Min, d.Max = h.exactExtremes()
	last := math.Inf(-1)
	for _, r := range h.bounds.ranges {
		if lower := r.lower(); lower > last { // a gap
			d.ExplicitBounds, d.BucketCounts = append(d.ExplicitBounds, lower), append(d.BucketCounts, 0)
		}
		d.BucketCounts = append(d.BucketCounts, r.Count)
		if last = r.High; !math.IsInf(last, 1) {
			d.ExplicitBounds = append(d.ExplicitBounds, last)
		}
	}
	if !math.IsInf(last, 1) {
		d.BucketCounts = append(d.BucketCounts, 0)
	}
	return d
}

// exactExtremes are the extremes as OTLP has them; nil where they are not known.
func (h *Hist) exactExtremes() (lowest, highest *float64) {
	b := h.extremes()
	if h.total > 0 && b.lowest == h.min {
		lowest = &h.min
	}
	if h.total > 0 && b.highest == h.max {
		highest = &h.max
	}
	return lowest, highest
}
