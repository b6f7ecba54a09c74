package spec_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"assay.dev/assay/internal/spec"
)

func TestWithHoldAndHoldMax(t *testing.T) {
	longer := decode(t, "testdata/good/short.json").Profiles["longer"] // 10m, up to 30m
	for name, c := range map[string]struct{ before, hold, want time.Duration }{
		"still three looks":      {30 * time.Minute, 10 * time.Minute, 30 * time.Minute},
		"still a multiple":       {30 * time.Minute, 15 * time.Minute, 30 * time.Minute},
		"as many looks, shorter": {30 * time.Minute, time.Minute, 3 * time.Minute},
		"as many looks, longer":  {30 * time.Minute, 20 * time.Minute, time.Hour},
		"no multiple":            {30 * time.Minute, 11 * time.Minute, 33 * time.Minute},
		"as long as it may be":   {30 * time.Minute, 30 * time.Minute, 30 * time.Minute},
		"there was none":         {0, 20 * time.Minute, 0},
	} {
		p := longer.WithFlows(func(f *spec.Flow) { f.Load.HoldMax = c.before })
		got, err := p.WithHold(c.hold)
		if err != nil || got.Flows[0].Load.Hold != c.hold || got.Flows[0].Load.HoldMax != c.want {
			t.Errorf("%s: hold %v, up to %v, error %v; wanted %v", name, got.Flows[0].Load.Hold, got.Flows[0].Load.HoldMax, err, c.want)
		}
	}
	// The whole load may take a day, with all its looks.
	if _, err := longer.WithHold(8 * time.Hour); err == nil || err.Error() != "profiles.longer.load.hold_max: the load up to here lasts 24h0m40s, more than 24h0m0s" {
		t.Errorf("error %v", err)
	}
	hold := time.Minute
	got, err := spec.LoadChange{Hold: &hold}.Apply(longer)
	if err != nil || got.Flows[0].Load.HoldMax != 3*time.Minute {
		t.Errorf("an experiment's hold: %+v, error %v", got.Flows[0].Load, err)
	}
}

// Whatever the new hold, hold_max is a whole number of looks, and a hold with a single
// look keeps a single look.
func TestWithHoldKeepsLooksWhole(t *testing.T) {
	p := decode(t, "testdata/good/short.json").Profiles["longer"]
	rapid.Check(t, func(t *rapid.T) {
		seconds := rapid.IntRange(10, 5000)
		looks := rapid.IntRange(1, spec.MaxLooks).Draw(t, "looks")
		p := p.WithFlows(func(*spec.Flow) {})
		p.Flows[0].Load.Hold = time.Duration(seconds.Draw(t, "hold")) * time.Second
		p.Flows[0].Load.HoldMax = 0
		if looks > 1 {
			p.Flows[0].Load.HoldMax = time.Duration(looks) * p.Flows[0].Load.Hold
		}
		got, err := p.WithHold(time.Duration(seconds.Draw(t, "new hold")) * time.Second)
		if err != nil {
			t.Fatal(err)
		}
		l := got.Flows[0].Load
		if l.HoldMax != 0 && (looks == 1 || l.HoldMax%l.Hold != 0 || l.HoldMax < l.Hold || l.HoldMax > spec.MaxLooks*l.Hold) {
			t.Fatalf("%d looks, hold %v became %v, up to %v", looks, p.Flows[0].Load.Hold, l.Hold, l.HoldMax)
		}
	})
}

// A record holds the profile as JSON: it is read back as it was.
func TestProfilesInRecords(t *testing.T) {
	for _, file := range []string{"full", "short", "stages", "lag"} {
		for name, want := range decode(t, "testdata/good/"+file+".json").Profiles {
			data, err := json.Marshal(want)
			if err != nil {
				t.Fatal(err)
			}
			var got spec.Profile
			if err := json.Unmarshal(data, &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
	}
}
