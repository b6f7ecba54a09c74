package quantity

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestFormat(t *testing.T) {
	for _, c := range []struct {
		v    float64
		unit string
		want string
	}{
		{36.742, "ms", "36.7 ms"},
		{0.6126, "ms", "0.61 ms"},
		{0.0293, "ms", "0.029 ms"},
		{0.0001, "ms", "<0.001 ms"},
		{-0.0001, "ms", ">-0.001 ms"},
		{0, "ms", "0 ms"},
		{5, "ms", "5.00 ms"},
		{9.999, "ms", "10.0 ms"},
		{99.96, "ms", "100 ms"},
		{0.9996, "ms", "1.00 ms"},
		{9982.4, "ms", "9980 ms"},
		{123456789, "ms", "123000000 ms"},
		{-15.094, "ms", "-15.1 ms"},
		{3.9871, "ms/tx", "3.99 ms/tx"},
		{21.74, "s", "21.7 s"},
		{30, "s", "30 s"},
		{50, "1/s", "50/s"},
		{19.333, "1/s", "19.3/s"},
		{1234.56, "1/s", "1235/s"},
		{0.986, "share", "98.6 %"},
		{0.3, "share", "30 %"},
		{0.035, "share", "3.5 %"},
		{0.04573, "share", "4.57 %"},
		{1, "share", "100 %"},
		{0.9997, "share", "99.97 %"},
		{0.9999999, "share", "99.99999 %"},
		{1.0004, "share", "100.04 %"},
		{0.000001, "share", "<0.001 %"},
		{0, "share", "0 %"},
		{1.2493, "ratio", "1.249"},
		{1, "ratio", "1.000"},
		{0.0512, "ratio", "0.051"},
		{12.3456, "ratio", "12.35"},
		{1002.4, "ratio", "1002"},
		{0.0004, "ratio", "<0.001"},
		{0.1993, "sessions", "0.20"},
		{0.0178, "sessions", "0.018"},
		{30000, "count", "30000"},
		{3, "", "3"},
		{12.5, "", "12.5"},
		{0.25, "", "0.25"},
		{33.3333, "", "33.3"},
		{7, "frames", "7 frames"},
		{512, "By", "512 B"},
		{1536, "By", "1.5 KiB"},
		{1023, "By", "1.00 KiB"},
		{8_345_231_360, "By", "7.77 GiB"},
		{math.NaN(), "", "-"},
		{math.Inf(1), "", "-"},
	} {
		if got := Format(c.v, c.unit); got != c.want {
			t.Errorf("%v %s is %q, want %q", c.v, c.unit, got, c.want)
		}
	}
}

func TestExact(t *testing.T) {
	for v, want := range map[float64]string{100: "100", 97.65625: "97.65625", 0.1 + 0.2: "0.3", 1e6: "1000000", 0.0001: "0.0001"} {
		if got := Exact(v); got != want {
			t.Errorf("%v is %s, want %s", v, got, want)
		}
	}
	for _, c := range []struct {
		v          float64
		unit, want string
	}{{250, "ms", "250 ms"}, {0.07, "share", "7 %"}, {0.999, "share", "99.9 %"}, {0, "count", "0"}} {
		if got := Limit(c.v, c.unit); got != c.want {
			t.Errorf("limit %v %s is %s, want %s", c.v, c.unit, got, c.want)
		}
	}
}

func TestNear(t *testing.T) {
	for _, c := range []struct {
		v, limit   float64
		unit, want string
	}{
		{36.742, 500, "ms", "36.7 ms"},
		{249.83, 250, "ms", "249.8 ms"},
		{250, 250, "ms", "250 ms"},
		{250.004, 250, "ms", "250.004 ms"},
		{9982.4, 9981, "ms", "9982 ms"},
		{0.0496, 0.05, "", "0.0496"},
		{0.010003, 0.01, "share", "1.0003 %"},
		{0.0100002, 0.02, "share", "1.00 %"},
		{0.01, 0.02, "share", "1 %"},
	} {
		if got := Near(c.v, c.limit, c.unit); got != c.want {
			t.Errorf("%v near %v is %s, want %s", c.v, c.limit, got, c.want)
		}
	}
}

func TestMissing(t *testing.T) {
	v, n := 3.14159, int64(7)
	for want, got := range map[string]string{
		"-": Optional(nil, "ms"), "3.14 ms": Optional(&v, "ms"), "3.14": OptionalValue(&v, "ms"), "7": Count(&n),
		"": Range(nil, nil, "ms"), "3.14 to -": Range(&v, nil, "ms"), "- to 3.14": Range(nil, &v, "ms"),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if Count(nil) != NoData || OptionalValue(nil, "s") != NoData {
		t.Error("no data becomes a number")
	}
}

// The text of any value is plain decimal notation, and close to the value.
func TestAnyNumber(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		v := rapid.OneOf(rapid.Float64(), rapid.Float64Range(-2000, 2000), rapid.Float64Range(-1, 1)).Draw(rt, "v")
		unit := rapid.SampledFrom([]string{"ms", "s", "1/s", "share", "ratio", "sessions", "count", ""}).Draw(rt, "unit")
		shown := Value(v, unit)
		if strings.ContainsAny(shown, "eE+, ") {
			rt.Errorf("%g %s is %q", v, unit, shown)
		}
		if (shown == "0") != (v == 0) {
			rt.Errorf("%g %s is %q", v, unit, shown)
		}
		at, err := strconv.ParseFloat(shown, 64)
		if err != nil {
			return // no data, or too small to be written out
		}
		want, off := v, 0.05
		if unit == "share" {
			want *= 100
			if (at == 100) != (math.Abs(want-100) < 1e-9) {
				rt.Errorf("%g is %q", v, shown)
			}
		}
		if math.Abs(want) >= 1 {
			off = 0.005
		}
		off = max(off, 0.0005/math.Abs(want)) // three decimals at most
		if math.Abs(at-want) > off*math.Abs(want)*(1+1e-9) {
			rt.Errorf("%g %s is %q", v, unit, shown)
		}
	})
}

// Rounding never moves a value to its limit or across it.
func TestNearAnyLimit(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		limit := rapid.Float64Range(0.01, 10_000).Draw(rt, "limit")
		v := limit * (1 + rapid.Float64Range(-0.01, 0.01).Draw(rt, "off"))
		at, err := strconv.ParseFloat(strings.TrimSuffix(Near(v, limit, "ms"), " ms"), 64)
		if err != nil {
			rt.Fatal(err)
		}
		if math.Abs(v-limit) > 1e-6 && ((at < limit) != (v < limit) || (at > limit) != (v > limit)) {
			rt.Errorf("%g near %g is %g", v, limit, at)
		}
	})
}
