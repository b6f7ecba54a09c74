package spec_test

import (
	"testing"
	"time"

	"assay.dev/assay/internal/spec"
)

// In scope certificate an undecided run goes on up to three holds, unless the profile says
// otherwise or the load would be too long; a smoke ends with its hold.
func TestHoldMaxOfAScope(t *testing.T) {
	longer := decode(t, "testdata/good/short.json").Profiles["longer"]
	for name, c := range map[string]struct {
		scope               string
		hold, holdMax, want time.Duration
	}{
		"three holds":              {spec.ScopeCertificate, 10 * time.Minute, 0, 30 * time.Minute},
		"the profile's":            {spec.ScopeCertificate, 10 * time.Minute, 40 * time.Minute, 40 * time.Minute},
		"the hold alone":           {spec.ScopeCertificate, 10 * time.Minute, 10 * time.Minute, 10 * time.Minute},
		"as many as a day has":     {spec.ScopeCertificate, 10 * time.Hour, 0, 20 * time.Hour},
		"a smoke":                  {spec.ScopeSmoke, time.Minute, 0, 0},
		"too long to be prolonged": {spec.ScopeCertificate, 20 * time.Hour, 0, 0},
	} {
		p := longer.WithFlows(func(f *spec.Flow) { f.Load.Hold, f.Load.HoldMax = c.hold, c.holdMax })
		if got := p.InScope(c.scope).Flows[0].Load.HoldMax; got != c.want {
			t.Errorf("%s: hold_max %v, wanted %v", name, got, c.want)
		}
	}
	stages := longer.WithFlows(func(f *spec.Flow) {
		f.Load = spec.Load{Unit: "tps", Stages: []spec.Stage{{Rate: 10, For: 10 * time.Minute, Judge: true}}}
	})
	if got := stages.InScope(spec.ScopeCertificate).Flows[0].Load.HoldMax; got != 0 {
		t.Errorf("stages are prolonged to %v", got)
	}
}
