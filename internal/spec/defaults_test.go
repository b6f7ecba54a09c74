package spec_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assay.dev/assay/internal/rulebook"
	"assay.dev/assay/internal/spec"
)

func TestDefaults(t *testing.T) {
	f := decode(t, "testdata/good/short.json")
	whole := spec.Load{
		Unit: "tps", Target: 80, Warmup: 5 * time.Second, Baseline: spec.Baseline{Rate: 20, For: 20 * time.Second},
		Ramp: 15 * time.Second, Hold: 60 * time.Second, Cooldown: 5 * time.Second,
	}
	with := func(change func(*spec.Load)) spec.Load {
		l := whole
		change(&l)
		return l
	}
	for name, want := range map[string]spec.Load{
		"three-lines":   whole,
		"baseline-rate": with(func(l *spec.Load) { l.Baseline.Rate = 30 }),
		"baseline-for":  with(func(l *spec.Load) { l.Baseline.For = 7 * time.Second }),
		"stages":        {Unit: "tps", Stages: []spec.Stage{{Rate: 5, For: 10 * time.Second, Judge: true}}},
		"longer":        with(func(l *spec.Load) { l.Hold, l.HoldMax = 10*time.Minute, 30*time.Minute }),
	} {
		p := f.Profiles[name]
		if diff := cmp.Diff(want, p.Flows[0].Load); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if p.Flows[0].Timeout != 10*time.Second || p.Marking != (spec.Marking{Header: "X-Assay-Run", Sampled: 0.01, Baggage: true}) {
			t.Errorf("%s: timeout %v, marking %+v", name, p.Flows[0].Timeout, p.Marking)
		}
	}
}

// A baseline that the file leaves out is scaled like one that it names.
func TestWithRateScalesTheDefaultBaseline(t *testing.T) {
	f := decode(t, "testdata/good/short.json")
	for name, want := range map[string]float64{"three-lines": 50, "baseline-rate": 75} {
		got, err := f.Profiles[name].WithRate(200)
		if err != nil || got.Flows[0].Load.Baseline.Rate != want {
			t.Errorf("%s: baseline %+v, error %v, wanted %g/s", name, got.Flows[0].Load.Baseline, err, want)
		}
	}
}

// stated are the defaults by their keys.
var stated = []statedDefault{
	{"load.unit", "phases/properties/unit", spec.DefaultUnit},
	{"load.unit", "stages/properties/unit", spec.DefaultUnit},
	length("load.warmup", "phases/properties/warmup", spec.DefaultWarmup),
	length("load.baseline.for", "phases/properties/baseline/properties/for", spec.DefaultBaselineFor),
	length("load.ramp", "phases/properties/ramp", spec.DefaultRamp),
	length("load.hold", "phases/properties/hold", spec.DefaultHold),
	length("load.cooldown", "phases/properties/cooldown", spec.DefaultCooldown),
	length("timeout", "profile/properties/timeout", spec.DefaultTimeout),
	{"marking.header", "profile/properties/marking/then/properties/header", spec.DefaultMarkingHeader},
	{"marking.sampled", "profile/properties/marking/then/properties/sampled", fmt.Sprint(spec.DefaultSampled)},
	{"marking.baggage", "profile/properties/marking/then/properties/baggage", "true"},
}

type statedDefault struct {
	key    string // key of a profile, as docs/profiles.md names it
	schema string // path of the property below $defs
	text   string
}

func length(key, schema string, d time.Duration) statedDefault {
	return statedDefault{key, schema, fmt.Sprintf("%.0fs", d.Seconds())}
}

// baselineRate is the one default that is no value of its own.
var baselineRate = fmt.Sprintf("%g %% of the target", spec.DefaultBaselineShare*100)

func TestSchemaStatesTheDefaults(t *testing.T) {
	var schema map[string]any
	if err := json.NewDecoder(bytes.NewReader(spec.Schema)).Decode(&schema); err != nil {
		t.Fatal(err)
	}
	property := func(path string) map[string]any {
		at := schema["$defs"].(map[string]any)
		for step := range strings.SplitSeq(path, "/") {
			at, _ = at[step].(map[string]any)
		}
		return at
	}
	for _, d := range stated {
		if got := fmt.Sprint(property(d.schema)["default"]); got != d.text {
			t.Errorf("%s: default %v, wanted %v", d.schema, got, d.text)
		}
	}
	if got := property("phases/properties/baseline/properties/rate")["description"].(string); !strings.Contains(got, "Default: "+baselineRate+".") {
		t.Errorf("baseline rate: %s", got)
	}
	if got := property("phases/properties/hold_max")["description"].(string); !strings.Contains(got, fmt.Sprintf("2, 3 or %d times", spec.MaxLooks)) {
		t.Errorf("hold_max: %s", got)
	}
	if got := property("phases/properties/hold")["description"].(string); !strings.Contains(got, fmt.Sprintf("a certificate needs %.0fs", rulebook.CertificateHold.Seconds())) {
		t.Errorf("hold: %s", got)
	}
}

func TestChapterStatesTheDefaults(t *testing.T) {
	chapter, err := os.ReadFile("../../docs/profiles.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := append([]statedDefault{{key: "load.baseline.rate", text: baselineRate}}, stated...)
	for _, d := range rows {
		if row := "| `" + d.key + "` | " + d.text + " |"; !strings.Contains(string(chapter), row) {
			t.Errorf("the table of defaults in docs/profiles.md has no %q", row)
		}
	}
}
