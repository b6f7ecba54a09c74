package document

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestMarshal(t *testing.T) {
	got, err := Marshal(struct {
		SLO    string         `json:"slo"`
		Counts map[string]int `json:"counts"`
	}{"p(95)<250", map[string]int{"b": 2, "a": 1}})
	if want := "{\n  \"slo\": \"p(95)<250\",\n  \"counts\": {\n    \"a\": 1,\n    \"b\": 2\n  }\n}\n"; err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := Marshal(math.NaN()); err == nil {
		t.Error("NaN is written")
	}
}

func TestRound(t *testing.T) {
	for v, want := range map[float64]float64{
		0: 0, 1.0 / 3: 0.333333, 1234567: 1.23457e6, -0.000012345678: -0.0000123457, math.MaxFloat64: 1.79769e308, math.Inf(1): math.Inf(1),
	} {
		if got := Round(v); got != want {
			t.Errorf("%g is rounded to %g, want %g", v, got, want)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		v := rapid.Float64().Draw(rt, "value")
		if short := Round(v); (short == 0) != (v == 0) || math.Abs(short-v) > math.Abs(v)*1e-5 {
			rt.Errorf("%g becomes %g", v, short)
		}
	})
	if !math.IsNaN(Round(math.NaN())) {
		t.Error("NaN is rounded to a number")
	}
}
