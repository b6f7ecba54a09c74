package stats

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestCount(t *testing.T) {
	for _, tt := range []struct {
		what string
		q    float64
		n, k int64
		want Outcome
	}{
		{"none of enough", 0.01, 500, 0, Holds},
		{"none of too few", 0.01, 499, 0, Undecided},
		{"half of what is allowed", 0.05, 3000, 75, Holds},
		{"half of an odd number", 0.01, 700, 3, Holds},
		{"more than half of an odd number", 0.01, 700, 4, Undecided},
		{"close below", 0.05, 3000, 76, Undecided},
		{"close above", 0.05, 3000, 299, Undecided},
		{"twice what is allowed", 0.05, 3000, 300, Broken},
		{"few allowed, twice that", 0.01, 300, 6, Undecided},
		{"few allowed, ten violate", 0.01, 300, 10, Broken},
		{"all of a few", 0.05, 2, 2, Broken},
		{"the only one", 0.05, 1, 1, Undecided},
		{"all of a few, where most may", 0.9, 20, 20, Undecided},
		{"half of all, where nearly all may", 0.9, 100, 45, Holds},
		{"half may, three quarters do", 0.5, 500, 375, Broken},
		{"half may, nearly three quarters do", 0.5, 500, 374, Undecided},
		{"a third may, twice that do", 0.33, 300, 198, Broken},
		{"most may, half of the rest keep it", 0.9, 100, 95, Broken},
		{"all may", 1, 100, 100, Undecided},
		{"a bound of none", 0, 100, 0, Holds},
		{"one over a bound of none", 0, 100, 1, Broken},
		{"no data", 0.05, 0, 0, Undecided},
		{"no data, none may", 0, 0, 0, Undecided},
	} {
		if got := Count(tt.q, tt.n, tt.k); got != tt.want {
			t.Errorf("%s: %d of %d is %v, want %v", tt.what, tt.k, tt.n, got, tt.want)
		}
	}
}

// A percentile's share of violations is exact despite floating point.
func TestAllowedIsExact(t *testing.T) {
	for _, tt := range []struct {
		q    float64
		n, a int64
	}{{1 - 0.9, 100, 10}, {1 - 0.95, 3000, 150}, {1 - 0.999, 60_000, 60}, {1 - 0.99, 599, 5}, {0, 9, 0}, {1, 9, 9}, {0.01, 0, 0}} {
		if got := Allowed(tt.q, tt.n); got != tt.a {
			t.Errorf("%g of %d allows %d, want %d", tt.q, tt.n, got, tt.a)
		}
	}
}

// More violations never give a better result, and Holds is below the allowed number.
// Needed samples allow as many violations as a decision needs, and one fewer does not.
func TestNeeded(t *testing.T) {
	for q, want := range map[float64]int64{0.05: 100, 0.01: 500, 0.001: 5000, 0.03: 167, 1 - 0.9: 50, 1: 5, 0: math.MaxInt64, 1e-10: math.MaxInt64} {
		if got := Needed(q); got != want {
			t.Errorf("%g needs %d samples, want %d", q, got, want)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		q := rapid.Float64Range(1e-9, 1).Draw(rt, "q")
		if n := Needed(q); Allowed(q, n) < MinAllowed || Allowed(q, n-1) >= MinAllowed {
			rt.Errorf("%g needs %d samples, and allows %d of them, %d of one fewer", q, n, Allowed(q, n), Allowed(q, n-1))
		}
	})
}

func TestCountIsMonotone(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		q := rapid.Float64Range(0, 1).Draw(rt, "q")
		n := rapid.Int64Range(0, 1_000_000).Draw(rt, "n")
		k := rapid.Int64Range(0, n).Draw(rt, "k")
		more := rapid.Int64Range(k, n).Draw(rt, "more")
		a, b := Count(q, n, k), Count(q, n, more)
		if a == Broken && b != Broken || b == Holds && a != Holds {
			rt.Errorf("%d of %d: %v; %d: %v", k, n, a, more, b)
		}
		if a == Holds && k > Allowed(q, n) || a == Broken && k <= Allowed(q, n) {
			rt.Errorf("%d of %d is %v, %d are allowed", k, n, a, Allowed(q, n))
		}
	})
}
