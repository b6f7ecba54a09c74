package spec

import (
	"testing"

	"pgregory.net/rapid"
)

func TestAllowedShare(t *testing.T) {
	for text, want := range map[string]float64{
		"p(90)<5": 0.1, "p(95)<5": 0.05, "p(99.9)<5": 0.001, "p(99.9999999)<5": 1e-9,
		"rate<0.01": 0.01, "rate<=0": 0, "rate>0.75": 0.25, "max<5": 0, "missing==0": 0,
	} {
		var s SLO
		if problem := s.parseExpression(text); problem != "" {
			t.Fatal(problem)
		}
		if got := s.AllowedShare(); got != want {
			t.Errorf("%s allows a share of %v, want %v", text, got, want)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		s := SLO{Aggregate: Percentile, Quantile: rapid.Float64Range(0, 1-1e-15).Draw(rt, "quantile")}
		if got := s.AllowedShare(); got <= 0 || got > 1 {
			rt.Errorf("a share of %v", got)
		}
	})
}

func TestBasisIn(t *testing.T) {
	for _, c := range []struct {
		declared Basis
		scope    string
		want     Basis
	}{
		{"", ScopeSmoke, Counted},
		{"", ScopeCertificate, Inferred},
		{Counted, ScopeCertificate, Counted},
		{Inferred, ScopeSmoke, Inferred},
	} {
		if got := (SLO{Basis: c.declared}).BasisIn(c.scope); got != c.want {
			t.Errorf("declared %q, in scope %s: %s, want %s", c.declared, c.scope, got, c.want)
		}
	}
}
