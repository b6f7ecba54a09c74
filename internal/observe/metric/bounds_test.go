package metric

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// histOf is a histogram of values as some sender makes it: with our buckets, coarser
// exponential ones, or explicit ones; with its extremes and its sum, or without.
func histOf(t *rapid.T, all []float64) (h *Hist, form string) {
	info := histInfo{
		hasMin: rapid.Bool().Draw(t, "with min"), hasMax: rapid.Bool().Draw(t, "with max"),
		hasSum: rapid.Bool().Draw(t, "with sum"),
	}
	h = recorded(all)
	switch form = rapid.SampledFrom([]string{"ours", "exponential", "explicit"}).Draw(t, "form"); form {
	case "exponential":
		h.coarsen(rapid.IntRange(minScale, Scale).Draw(t, "scale"))
		h.completeExtremes(info)
	case "explicit":
		limits := rapid.SliceOfNDistinct(rapid.OneOf(
			// The default bounds of the SDKs.
			rapid.SampledFrom([]float64{0, 5, 10, 25, 50, 75, 100, 250, 500, 750, 1000, 2500, 5000, 7500, 10000}),
			rapid.Float64Range(0, 1e6), rapid.SampledFrom(append([]float64{0}, all...)), rapid.Just(-3.5),
		), 0, 20, rapid.ID).Draw(t, "limits")
		slices.Sort(limits)
		h = explicitHist(t, all, limits, info)
	}
	return h, form
}

// explicitHist counts values in explicit buckets as OpenTelemetry's SDKs do.
func explicitHist(t rapid.TB, all, limits []float64, info histInfo) *Hist {
	h := &Hist{total: uint64(len(all))}
	bits, counts := make([]uint64, len(limits)), make([]uint64, len(limits)+1)
	for i, limit := range limits {
		bits[i] = math.Float64bits(limit)
	}
	for i, v := range all {
		at, _ := slices.BinarySearch(limits, v)
		counts[at]++
		h.sum += v
		if i == 0 {
			h.min, h.max = v, v
		}
		h.min, h.max = min(h.min, v), max(h.max, v)
	}
	if err := h.acceptExplicit(bits, counts, info); err != nil {
		t.Fatal(err)
	}
	return h
}

// several are histograms of several senders, merged, and all their values.
func several(t *rapid.T) (h *Hist, all []float64) {
	h = &Hist{}
	for range rapid.IntRange(1, 4).Draw(t, "senders") {
		some := values(0).Draw(t, "values")
		one, _ := histOf(t, some)
		h.Merge(one)
		all = append(all, some...)
	}
	slices.Sort(all)
	return h, all
}

// slack is for values on an exponential bucket's end, which rounding may put into the
// neighbouring bucket.
const slack = 1e-12

// Whatever the senders' buckets, counts and quantiles are within what AtLeast and
// Interval state.
func TestMergedHistogramsBracketTheTruth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h, all := several(t)
		if err := h.check(); err != nil {
			t.Fatal(err)
		}
		if h.Count() != uint64(len(all)) {
			t.Fatalf("%d observations of %d", h.Count(), len(all))
		}
		if len(all) == 0 {
			if _, _, ok := h.Interval(0.5); ok {
				t.Fatal("an empty histogram has a median")
			}
			return
		}
		limit := rapid.OneOf(rapid.SampledFrom(all), rapid.Float64Range(-1, 1e7), rapid.SampledFrom([]float64{0, 5, 250, 1000})).Draw(t, "limit")
		exact := uint64(0)
		for _, v := range all {
			if v >= limit {
				exact++
			}
		}
		if lo, hi := h.AtLeast(limit); lo > exact || exact > hi || hi > h.Count() {
			t.Fatalf("%d of %d are at least %g, got %d to %d", exact, len(all), limit, lo, hi)
		}
		before := [3]float64{math.Inf(-1), math.Inf(-1), math.Inf(-1)}
		for _, q := range []float64{0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1} {
			exact := all[max(int(math.Ceil(q*float64(len(all)))), 1)-1]
			lower, upper, ok := h.Interval(q)
			v, _ := h.Quantile(q)
			if h.bounds == nil && h.coarse == 0 { // our own resolution
				lower, upper = lower*0.995, upper*1.005
			}
			if !ok || exact < lower*(1-slack) || exact > upper*(1+slack) || !(lower <= v) || !(v <= upper) {
				t.Fatalf("p%g is %g, got %g to %g, %g", 100*q, exact, lower, upper, v)
			}
			now := [3]float64{lower, v, upper}
			for i := range now {
				if now[i] < before[i] {
					t.Fatalf("p%g %v after %v", 100*q, now, before)
				}
			}
			before = now
		}
		if lowest, _ := h.Min(); all[0] > lowest*(1+slack) {
			t.Fatalf("min %g, the smallest is %g", lowest, all[0])
		}
		if highest, _ := h.Max(); all[len(all)-1] < highest*(1-slack) {
			t.Fatalf("max %g, the largest is %g", highest, all[len(all)-1])
		}
	})
}

// What is merged first does not matter, nor whether it was packed.
func TestMergeOfSeveralForms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, _ := several(t)
		b, _ := several(t)
		c, _ := several(t)
		want := merged(a, b, c)
		for order, got := range map[string]*Hist{"c b a": merged(c, b, a), "b a c": merged(b, a, c), "a (b c)": merged(a, merged(b, c))} {
			if diff := sameHist(want, got); diff != "" {
				t.Fatalf("%s: %s", order, diff)
			}
		}
		got := a.Clone()
		for _, h := range []*Hist{b, c} {
			packed := h.Pack()
			got.MergePacked(&packed)
		}
		if diff := sameHist(want, got); diff != "" {
			t.Fatalf("packed: %s", diff)
		}
		before := a.Clone()
		a.Merge(b)
		a.Record(3, 1)
		a.Reset()
		if diff := sameHist(merged(before, b, c), want); diff != "" {
			t.Fatalf("a copy has changed: %s", diff)
		}
	})
}

// A merge of several forms is encoded as several points, which merge to the same counts
// and to bounds that are not tighter.
func TestMergedHistogramsEncode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h, all := several(t)
		data, err := Encode(Frame{Source: "otlp/x", Points: []Point{HistPoint(NewSeries("h", "ms"), h)}})
		if err != nil {
			t.Fatal(err)
		}
		frames, err := Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		got := &Hist{}
		for _, p := range frames[0].Points {
			got.Merge(p.Hist)
		}
		if got.Count() != uint64(len(all)) || math.Abs(got.Sum()-h.Sum()) > 1e-9*math.Abs(h.Sum()) {
			t.Fatalf("%d observations with a sum of %g, want %d and %g", got.Count(), got.Sum(), len(all), h.Sum())
		}
		for _, limit := range append(slices.Clone(all), 0.5, 100) {
			lo, hi := h.AtLeast(limit)
			if l, u := got.AtLeast(limit); l > lo || u < hi || l > u {
				t.Fatalf("at least %g: %d to %d, before %d to %d", limit, l, u, lo, hi)
			}
		}
	})
}

// A bound of a sender's buckets that is the limit of an SLO makes the counts exact, but
// for samples at the bound itself.
func TestLimitAtABucketsBound(t *testing.T) {
	h := explicitHist(t, []float64{100, 249, 250, 251, 400, 900}, []float64{100, 250, 500}, histInfo{})
	for _, c := range []struct {
		limit  float64
		lo, hi uint64
	}{
		{250, 3, 5}, {math.Nextafter(250, 300), 3, 3}, // <250 and <=250
		{100, 5, 6}, {math.Nextafter(100, 300), 5, 5}, {300, 1, 3}, {501, 0, 1}, {1e9, 0, 1}, {50, 5, 6}, {0, 6, 6},
	} {
		if lo, hi := h.AtLeast(c.limit); lo != c.lo || hi != c.hi {
			t.Errorf("%d to %d are at least %g, want %d to %d", lo, hi, c.limit, c.lo, c.hi)
		}
	}
	if lower, upper, _ := h.Interval(1); lower != 500 || !math.IsInf(upper, 1) {
		t.Errorf("the largest is between %g and %g", lower, upper)
	}
	if v, _ := h.Quantile(1); math.Abs(v-500) > 1e-9 {
		t.Errorf("the largest is shown as %g", v)
	}
	known := explicitHist(t, []float64{120, 130, 180}, []float64{100, 250, 500}, histInfo{hasMin: true, hasMax: true})
	if lo, hi := known.AtLeast(181); lo != 0 || hi != 0 {
		t.Errorf("%d to %d are above the maximum", lo, hi)
	}
	if lower, upper, _ := known.Interval(0.5); lower != 120 || upper != 180 {
		t.Errorf("the median is between %g and %g", lower, upper)
	}
}

func TestUnknownSumIsNoMean(t *testing.T) {
	h := explicitHist(t, []float64{1, 2}, []float64{5}, histInfo{})
	if mean, ok := h.Mean(); ok {
		t.Errorf("mean %g", mean)
	}
	h.Merge(recorded([]float64{3}))
	if mean, ok := h.Mean(); ok {
		t.Errorf("mean %g after a merge", mean)
	}
}
