package metric

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// sameHist returns the difference of two histograms. Sums may differ by the order of
// additions.
func sameHist(a, b *Hist) string {
	trim := func(h *Hist) Hist {
		c := *h
		if first, last, ok := h.used(); ok {
			c.counts, c.offset = h.counts[first:last+1], h.offset+first
		} else {
			c.counts, c.offset = nil, 0
		}
		if c.sum = 0; c.total == 0 {
			c.coarse, c.min, c.max, c.bounds = 0, 0, 0, nil // undefined
		}
		return c
	}
	p, q := trim(a), trim(b)
	if !slices.Equal(p.counts, q.counts) {
		return "buckets: " + cmp.Diff(p.counts, q.counts)
	}
	p.counts, q.counts = nil, nil // cmp is slow for thousands of buckets
	if diff := cmp.Diff(p, q, cmp.AllowUnexported(Hist{}, bounds{})); diff != "" {
		return diff
	}
	return cmp.Diff(a.sum, b.sum, cmpopts.EquateApprox(1e-9, 1e-9), cmpopts.EquateNaNs())
}

// values are realistic times, some of them 0.
func values(least int) *rapid.Generator[[]float64] {
	value := rapid.OneOf(
		rapid.Float64Range(1e-3, 1e7),
		rapid.Map(rapid.Float64Range(-3, 7), func(e float64) float64 { return math.Pow(10, e) }),
		rapid.Map(rapid.IntRange(-9, 23), func(e int) float64 { return math.Ldexp(1, e) }), // edges of buckets
		rapid.Just(0.0),
	)
	return rapid.SliceOfN(value, least, 200)
}

func recorded(values []float64) *Hist {
	h := &Hist{}
	for _, v := range values {
		h.Record(v, 1)
	}
	return h
}

// hists are histograms of our resolution, or coarser ones as of other senders.
var hists = rapid.Custom(func(t *rapid.T) *Hist {
	h, _ := histOf(t, values(0).Draw(t, "values"))
	return h
})

func merged(all ...*Hist) *Hist {
	h := &Hist{}
	for _, m := range all {
		h.Merge(m)
	}
	return h
}

func TestMergeIsAssociativeAndCommutative(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := hists.Draw(t, "a"), hists.Draw(t, "b"), hists.Draw(t, "c")
		want := merged(a, b, c)
		if err := want.check(); err != nil {
			t.Fatal(err)
		}
		if want.total != a.total+b.total+c.total {
			t.Fatalf("%d observations of %d, %d and %d", want.total, a.total, b.total, c.total)
		}
		into := a.Clone()
		into.Merge(merged(b, c))
		for order, got := range map[string]*Hist{"c b a": merged(c, b, a), "b a c": merged(b, a, c), "a (b c)": merged(a, merged(b, c)), "into a": into} {
			if diff := sameHist(want, got); diff != "" {
				t.Fatalf("%s: %s", order, diff)
			}
		}
	})
}

func TestMergeEqualsRecordingBoth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := values(0).Draw(t, "a"), values(0).Draw(t, "b")
		if diff := sameHist(recorded(slices.Concat(a, b)), merged(recorded(a), recorded(b))); diff != "" {
			t.Fatal(diff)
		}
	})
}

// TestRecordAnything: the invariants hold for any float64.
func TestRecordAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h, n := &Hist{}, uint64(0)
		if rapid.Bool().Draw(t, "reused") {
			h = hists.Draw(t, "before")
			h.Reset()
			if diff := sameHist(&Hist{}, h); diff != "" {
				t.Fatal(diff)
			}
		}
		special := rapid.SampledFrom([]float64{math.Inf(1), math.NaN(), math.MaxFloat64, math.SmallestNonzeroFloat64, 0, -1})
		for _, v := range rapid.SliceOfN(rapid.OneOf(rapid.Float64(), special), 0, 20).Draw(t, "values") {
			times := rapid.Uint64Range(0, 1e6).Draw(t, "times")
			h.Record(v, times)
			n += times
		}
		if err := h.check(); err != nil {
			t.Fatal(err)
		}
		if h.Count() != n {
			t.Fatalf("count %d, want %d", h.Count(), n)
		}
	})
}

func TestQuantilesAreWithinHalfAPercent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := values(1).Draw(t, "values")
		h := recorded(all)
		slices.Sort(all)
		before := math.Inf(-1)
		for _, q := range []float64{0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1} {
			got, ok := h.Quantile(q)
			exact := all[max(int(math.Ceil(q*float64(len(all)))), 1)-1]
			if !ok || math.Abs(got-exact) > 0.005*exact {
				t.Fatalf("p%g is %g, want %g", q*100, got, exact)
			}
			if got < before {
				t.Fatalf("p%g is %g, below the previous percentile %g", q*100, got, before)
			}
			before = got
		}
		lowest, _ := h.Min()
		highest, _ := h.Max()
		if lowest != all[0] || highest != all[len(all)-1] {
			t.Fatalf("min %g, max %g", lowest, highest)
		}
	})
}

func TestAtLeastBracketsTheCount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := values(1).Draw(t, "values")
		h := recorded(all)
		scale := rapid.SampledFrom([]int{Scale, Scale, 3, 0, minScale}).Draw(t, "scale")
		h.coarsen(scale)
		limit := rapid.OneOf(rapid.SampledFrom(all), rapid.Float64Range(-1, 1e7), rapid.Map(rapid.IntRange(-9, 23), func(e int) float64 { return math.Ldexp(1, e) })).Draw(t, "limit")
		exact := uint64(0)
		for _, v := range all {
			if v >= limit {
				exact++
			}
		}
		if lo, hi := h.AtLeast(limit); lo > exact || exact > hi || hi > h.Count() {
			t.Fatalf("%d of %d are at least %g, got %d to %d", exact, len(all), limit, lo, hi)
		}
	})
}

// TestCoarseningEqualsRecordingCoarsely: a coarse bucket is the union of finer ones.
// Rounding may put a value on a bucket's bound into its neighbour at either scale, so
// such values are omitted.
func TestCoarseningEqualsRecordingCoarsely(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scale := rapid.IntRange(minScale, Scale).Draw(t, "scale")
		fine, coarse := &Hist{}, &Hist{coarse: Scale - scale}
		for _, v := range values(0).Draw(t, "values") {
			position := math.Log2(v) * (1 << Scale)
			if v > 0 && math.Abs(position-math.Round(position)) < 1e-6 {
				continue
			}
			fine.Record(v, 1)
			coarse.Record(v, 1)
		}
		fine.coarsen(scale)
		if diff := sameHist(coarse, fine); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestEmptyHistHasNoNumbers(t *testing.T) {
	h := &Hist{}
	for name, f := range map[string]func() (float64, bool){
		"mean": h.Mean, "min": h.Min, "max": h.Max, "median": func() (float64, bool) { return h.Quantile(0.5) },
	} {
		if v, ok := f(); ok {
			t.Errorf("%s of an empty histogram is %g", name, v)
		}
	}
	if lo, hi := h.AtLeast(0); lo != 0 || hi != 0 {
		t.Errorf("%d to %d observations of an empty histogram are at least 0", lo, hi)
	}
}
