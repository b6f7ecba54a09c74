package effect

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// someRuns draws metrics of runs, with ties among them.
func someRuns(t *rapid.T, name string, from, to int) []float64 {
	return rapid.SliceOfN(rapid.OneOf(
		rapid.Float64Range(0.001, 1e6),
		rapid.Map(rapid.IntRange(1, 5), func(n int) float64 { return float64(n) }),
	), from, to).Draw(t, name)
}

// measure are the paired and the unpaired effect; Paired uses as many of b as of a.
var measure = map[string]func(a, b []float64) (Effect, bool){
	"paired": func(a, b []float64) (Effect, bool) {
		n := min(len(a), len(b))
		pairs := make([]Pair, n)
		for i := range pairs {
			pairs[i] = Pair{a[i], b[i]}
		}
		return Paired(pairs)
	},
	"unpaired": Unpaired,
}

func check(t *testing.T, property func(t *rapid.T, measure func(a, b []float64) (Effect, bool))) {
	for name, m := range measure {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { property(t, m) })
		})
	}
}

func same(t *rapid.T, what string, got, want Effect, invert bool) {
	t.Helper()
	if invert {
		want.Ratio = 1 / want.Ratio
		if want.Interval != nil {
			want.Interval = &Interval{1 / want.Interval.Upper, 1 / want.Interval.Lower}
		}
	}
	if (got.Interval == nil) != (want.Interval == nil) || (got.P == nil) != (want.P == nil) {
		t.Fatalf("%s: %+v, want %+v", what, got, want)
	}
	close := func(name string, x, y float64) {
		if math.Abs(x-y) > 1e-9*math.Abs(y) {
			t.Fatalf("%s: %s is %v, want %v", what, name, x, y)
		}
	}
	close("ratio", got.Ratio, want.Ratio)
	if got.Interval != nil {
		close("lower", got.Interval.Lower, want.Interval.Lower)
		close("upper", got.Interval.Upper, want.Interval.Upper)
		close("p", *got.P, *want.P)
	}
}

func TestEqualIsNeverChanged(t *testing.T) {
	check(t, func(t *rapid.T, measure func(a, b []float64) (Effect, bool)) {
		a := someRuns(t, "a", 1, 20)
		e, ok := measure(a, a)
		if !ok || e.Ratio != 1 {
			t.Fatalf("%+v, %v", e, ok)
		}
		if d := Decide(e, Holm([]*float64{e.P})[0], 1e-6); d == Changed {
			t.Fatalf("changed: %+v", e)
		}
	})
}

func TestSwapInverts(t *testing.T) {
	check(t, func(t *rapid.T, measure func(a, b []float64) (Effect, bool)) {
		a, b := someRuns(t, "a", 1, 20), someRuns(t, "b", 1, 20)
		there, _ := measure(a, b)
		back, ok := measure(b, a)
		if !ok {
			t.Fatal("no effect")
		}
		same(t, "swapped", back, there, true)
		if x, y := Decide(there, there.P, 0.03), Decide(back, back.P, 0.03); x != y {
			t.Fatalf("%s one way and %s the other", x, y)
		}
	})
}

func TestUnitDoesNotMatter(t *testing.T) {
	check(t, func(t *rapid.T, measure func(a, b []float64) (Effect, bool)) {
		a, b := someRuns(t, "a", 1, 20), someRuns(t, "b", 1, 20)
		// A power of two preserves ties.
		scale := math.Pow(2, float64(rapid.IntRange(-20, 20).Draw(t, "scale")))
		scaled := func(values []float64) []float64 {
			out := make([]float64, len(values))
			for i, v := range values {
				out[i] = v * scale
			}
			return out
		}
		want, _ := measure(a, b)
		got, _ := measure(scaled(a), scaled(b))
		// Rounding may break ties of logarithms: p and the interval may change by as
		// much as one tie, but the ratio may not.
		if math.Abs(got.Ratio-want.Ratio) > 1e-9*want.Ratio {
			t.Fatalf("ratio %v, want %v", got.Ratio, want.Ratio)
		}
		if (got.Interval == nil) != (want.Interval == nil) {
			t.Fatalf("%+v, want %+v", got, want)
		}
		if i := want.Interval; i != nil {
			same(t, "interval", Effect{1, got.Interval, new(float64)}, Effect{1, i, new(float64)}, false)
		}
	})
}

func TestOrderDoesNotMatter(t *testing.T) {
	check(t, func(t *rapid.T, measure func(a, b []float64) (Effect, bool)) {
		n := rapid.IntRange(1, 20).Draw(t, "n")
		a, b := someRuns(t, "a", n, n), someRuns(t, "b", n, n)
		want, _ := measure(a, b)
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		r.Shuffle(n, func(i, j int) { a[i], a[j], b[i], b[j] = a[j], a[i], b[j], b[i] })
		got, _ := measure(a, b)
		same(t, "shuffled", got, want, false)
	})
}

func TestIntervalContainsRatio(t *testing.T) {
	check(t, func(t *rapid.T, measure func(a, b []float64) (Effect, bool)) {
		e, _ := measure(someRuns(t, "a", 1, 20), someRuns(t, "b", 1, 20))
		if i := e.Interval; i != nil && (i.Lower > e.Ratio || e.Ratio > i.Upper || *e.P <= 0 || *e.P > 1) {
			t.Fatalf("%v in %+v, p %v", e.Ratio, *i, *e.P)
		}
	})
}

func TestNoRatio(t *testing.T) {
	for name, m := range measure {
		for _, bad := range []float64{0, -1, math.NaN(), math.Inf(1)} {
			if e, ok := m([]float64{1, bad}, []float64{1, 1}); ok {
				t.Errorf("%s of A = %v: %+v", name, bad, e)
			}
			if e, ok := m([]float64{1, 1}, []float64{1, bad}); ok {
				t.Errorf("%s of B = %v: %+v", name, bad, e)
			}
		}
		if e, ok := m(nil, nil); ok {
			t.Errorf("%s of nothing: %+v", name, e)
		}
	}
}

func TestTooFew(t *testing.T) {
	for name, tooFew := range map[string]int{"paired": 5, "unpaired": 3} {
		for n := 1; n <= tooFew+1; n++ {
			var a, b []float64
			for i := range n {
				a, b = append(a, 1+float64(i)/100), append(b, 100+float64(i))
			}
			e, _ := measure[name](a, b)
			if (e.Interval != nil) != (n > tooFew) || (e.P != nil) != (n > tooFew) {
				t.Errorf("%s of %d: %+v", name, n, e)
			}
			if d := Decide(e, e.P, 0.03); (d == Changed) != (n > tooFew) {
				t.Errorf("%s of %d: %s", name, n, d)
			}
		}
	}
	if e, _ := Unpaired([]float64{1}, []float64{2, 3, 4, 5, 6, 7, 8, 9}); e.Interval != nil {
		t.Errorf("one run against many: %+v", e)
	}
}

func TestDecide(t *testing.T) {
	significant, not := 0.05, 0.0501
	for _, c := range []struct {
		lower, upper float64
		p            *float64
		want         Decision
	}{
		{0.98, 1.02, &not, Equivalent},
		{0.98, 1.02, &significant, Equivalent}, // a difference, and one that does not matter
		{1 / 1.03, 1.03, &not, Equivalent},
		{0.96, 1.02, &significant, Undetermined},
		{1.02, 1.2, &significant, Undetermined},
		{0.5, 2, &significant, Undetermined},
		{1.03, 1.2, &significant, Undetermined},
		{1.04, 1.2, &significant, Changed},
		{1.04, 1.2, &not, Undetermined},
		{1.04, 1.2, nil, Undetermined},
		{0.5, 0.97, &significant, Changed},
		{0.5, 1 / 1.03, &significant, Undetermined},
	} {
		if got := Decide(Effect{1, &Interval{c.lower, c.upper}, c.p}, c.p, 0.03); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
	if got := Decide(Effect{Ratio: 2}, &significant, 0.03); got != Undetermined {
		t.Errorf("without an interval: %s", got)
	}
}
