package metric

import (
	"fmt"
	"math"
	"slices"
	"testing"

	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"
)

// pointOf is a metric with all values so far, as a sender with cumulative temporality
// exports it.
func pointOf(t *rapid.T, all, limits []float64, explicit bool, scale int, info histInfo, start, end float64) *metricspb.Metric {
	h := recorded(all)
	h.coarsen(scale)
	if explicit {
		h = explicitHist(t, all, limits, info)
		p := &metricspb.HistogramDataPoint{ExplicitBounds: limits, BucketCounts: make([]uint64, len(limits)+1), Count: h.total, StartTimeUnixNano: at(start), TimeUnixNano: at(end)}
		for _, v := range all { // with the buckets that hold nothing
			i, _ := slices.BinarySearch(limits, v)
			p.BucketCounts[i]++
		}
		p.Min, p.Max = h.exactExtremes()
		if info.hasSum {
			p.Sum = proto.Float64(h.sum)
		}
		m := explicitMetric(p)
		m.GetHistogram().AggregationTemporality = cumulative
		return m
	}
	h.completeExtremes(info)
	p := h.exponentialPoint()
	p.StartTimeUnixNano, p.TimeUnixNano = at(start), at(end)
	m := exponentialOf(p)
	m.GetExponentialHistogram().AggregationTemporality = cumulative
	return m
}

// Each increase of a cumulative histogram is consistent with the values recorded since
// the last export that arrived, whatever the form of its buckets, and also if the
// sender reduces its resolution meanwhile, is restarted, or its exports are lost.
func TestCumulativeHistograms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := NewAccumulation(opened)
		explicit := rapid.Bool().Draw(t, "explicit")
		limits := rapid.SliceOfNDistinct(rapid.Float64Range(0, 1e4), 0, 10, rapid.ID).Draw(t, "limits")
		slices.Sort(limits)
		info := histInfo{hasMin: rapid.Bool().Draw(t, "with min"), hasMax: rapid.Bool().Draw(t, "with max"), hasSum: explicit && rapid.Bool().Draw(t, "with sum")}
		scale, start, last := Scale, 1.0, 1.0
		var all, since []float64
		for i := range rapid.IntRange(1, 8).Draw(t, "exports") {
			now := float64(10 * (i + 1))
			if rapid.IntRange(0, 5).Draw(t, "restart") == 0 {
				start, all, since, scale = now-1, nil, nil, Scale
			}
			more := values(0).Draw(t, "values")
			all, since = append(all, more...), append(since, more...)
			scale -= rapid.SampledFrom([]int{0, 0, 1, 3}).Draw(t, "coarser")
			if rapid.IntRange(0, 4).Draw(t, "lost") == 0 {
				continue
			}
			frames, taken := receive(t, a, export("", nil, pointOf(t, all, limits, explicit, max(scale, minScale), info, start, now)), now)
			if len(taken.Response) > 0 {
				t.Fatalf("refused: %s", taken.Response)
			}
			got := frames[0].Points[0].Hist
			if err := got.check(); err != nil {
				t.Fatal(err)
			}
			if got.Count() != uint64(len(since)) {
				t.Fatalf("%d observations, want %d", got.Count(), len(since))
			}
			if first, want := frames[0].First(), opened.Unix()+int64(max(start, last)); first != want {
				t.Fatalf("from second %d, want %d", first, want)
			}
			checkBrackets(t, got, since)
			encoded, err := Encode(frames...)
			if err != nil {
				t.Fatal(err)
			}
			decoded, err := Decode(encoded)
			if err != nil {
				t.Fatal(err)
			}
			if diff := sameHist(got, decoded[0].Points[0].Hist); diff != "" {
				t.Fatalf("after a round trip: %s", diff)
			}
			since, last = nil, now
		}
	})
}

// checkBrackets compares a histogram with its values, at and between them.
func checkBrackets(t *rapid.T, h *Hist, all []float64) {
	all = slices.Sorted(slices.Values(all))
	for i, v := range all {
		q := float64(i+1) / float64(len(all))
		rank := h.rankOf(q)
		lower, upper, _ := h.Interval(q)
		if want := all[rank-1]; want < lower*0.995 || want > upper*1.005 {
			t.Fatalf("observation %d of %d is %g, got %g to %g", rank, len(all), want, lower, upper)
		}
		exact := uint64(len(all) - i)
		for j := i; j > 0 && all[j-1] == v; j-- {
			exact++
		}
		if lo, hi := h.AtLeast(v); lo > exact || hi < exact {
			t.Fatalf("%d are at least %g, got %d to %d", exact, v, lo, hi)
		}
	}
}

// The extremes of a cumulative histogram are those of an increase only if they changed.
func TestExtremesOfAnIncrease(t *testing.T) {
	limits, info := []float64{10, 100, 1000}, histInfo{hasMin: true, hasMax: true, hasSum: true}
	first := explicitHist(t, []float64{5, 50}, limits, info)
	for want, then := range map[string][]float64{
		"3 values, 10 to 60, sum 140": {5, 50, 20, 60, 60},
		"1 values, 60 to 60, sum 60":  {5, 50, 60},
		"2 values, 2 to 90, sum 92":   {5, 50, 2, 90},
		"0 values, 0 to 0, sum 0":     {5, 50},
	} {
		d, ok := explicitHist(t, then, limits, info).since(first)
		if !ok {
			t.Fatal(want)
		}
		lower, _, _ := d.Interval(0)
		_, upper, _ := d.Interval(1)
		if got := fmt.Sprintf("%d values, %.0f to %.0f, sum %.0f", d.Count(), math.Floor(lower), upper, d.Sum()); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for _, smaller := range [][]float64{{5}, {50, 60, 70}, {500, 501, 502}} {
		if d, ok := explicitHist(t, smaller, limits, info).since(first); ok {
			t.Errorf("%v contain %v", smaller, d)
		}
		if d, ok := recorded(smaller).since(recorded([]float64{5, 50})); ok {
			t.Errorf("%v contain %v", smaller, d)
		}
	}
}
