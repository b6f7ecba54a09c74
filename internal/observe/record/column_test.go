package record

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"assay.dev/assay/internal/observe/metric"
)

// A column returns what was added: every bit, in the order of seconds and sequences, or, of
// points with the same ones, of values, or, of gauges, of their arrival.
func TestColumnReturnsWhatWasAdded(t *testing.T) {
	seconds := rapid.OneOf(rapid.Int64Range(1_795_000_000, 1_795_000_010), rapid.SampledFrom([]int64{0, -1, math.MinInt64, math.MaxInt64}))
	numbers := rapid.OneOf(rapid.Uint64Range(0, 20), rapid.SampledFrom([]uint64{1 << 63, math.MaxUint64}))
	values := rapid.OneOf(
		rapid.Map(rapid.IntRange(-300, 300), func(i int) float64 { return float64(i) }), rapid.Float64(),
		rapid.SampledFrom([]float64{math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), maxWhole, -maxWhole, maxWhole - 1, math.MaxInt64, math.MaxFloat64}),
	)
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]metric.Kind{metric.Counter, metric.Gauge}).Draw(t, "kind")
		c := &column{}
		var want []point
		for range rapid.IntRange(0, 30).Draw(t, "points") {
			p := point{seconds.Draw(t, "second"), numbers.Draw(t, "sequence"), values.Draw(t, "value")}
			c.add(p, kind)
			want = append(want, p)
			if rapid.IntRange(0, 9).Draw(t, "sort") == 0 {
				c.sort(kind)
				slices.SortStableFunc(want, func(a, b point) int { return a.compare(b, kind) })
			}
		}
		c.sort(kind)
		slices.SortStableFunc(want, func(a, b point) int { return a.compare(b, kind) })
		for at := c.read(); at.more; at.next() {
			if len(want) == 0 {
				t.Fatalf("one more: %v", at.point)
			}
			w := want[0]
			if at.second != w.second || at.sequence != w.sequence || math.Float64bits(at.value) != math.Float64bits(w.value) {
				t.Fatalf("got %v, want %v", at.point, w)
			}
			want = want[1:]
		}
		if len(want) > 0 {
			t.Fatalf("missing: %v", want)
		}
	})
}

// The counters and gauges of a usual stream take a few bytes for each second.
func TestColumnIsSmall(t *testing.T) {
	const n = 1000
	c := &column{}
	for i := range int64(n) {
		c.add(point{second: 1_795_000_000 + i, sequence: uint64(2 * i), value: float64(i % 60)}, metric.Counter)
	}
	if bytes := float64(len(c.packed)) / n; bytes > 3.1 {
		t.Errorf("a value takes %.1f bytes", bytes)
	}
}

// A set of sequences agrees with a map, and holds one range for sequences that follow
// each other.
func TestSequences(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s sequences
		model := map[uint64]bool{}
		for _, n := range rapid.SliceOf(rapid.OneOf(rapid.Uint64Range(1, 30), rapid.SampledFrom([]uint64{math.MaxUint64, math.MaxUint64 - 1}))).Draw(t, "sequences") {
			if added := s.add(n); added == model[n] {
				t.Fatalf("%d was added: %t", n, added)
			}
			model[n] = true
		}
		ranges := 0
		for n := range model {
			if !model[n-1] {
				ranges++
			}
		}
		if s.count != uint64(len(model)) || len(s.ranges) != ranges {
			t.Fatalf("%d in %v, want %d in %d ranges", s.count, s.ranges, len(model), ranges)
		}
	})
}
