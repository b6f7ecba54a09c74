package verdict

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/synthetic"
)

// A run is judged by what the thresholds in its evidence ask for, or not at all: whoever
// changes its plan must change what was asked for, too.
func TestPlansThatNobodyAskedFor(t *testing.T) {
	slo := func(r *record.Plan) *spec.SLO { return &r.Profile.Flows[0].SLOs[len(r.Profile.Flows[0].SLOs)-1] }
	for name, tt := range map[string]struct {
		change func(p *record.Plan)
		want   string
	}{
		"as asked":    {func(*record.Plan) {}, ""},
		"other bound": {func(p *record.Plan) { slo(p).Bound, slo(p).Expression = 9000, "max<9000" }, "the SLO transaction_duration max<9000 is not what thresholds.json asks for"},
		"bound alone": {func(p *record.Plan) { slo(p).Bound = 9000 }, "is not what is stored beside it"},
		"no SLO": {func(p *record.Plan) {
			p.Profile.Flows[0].SLOs = append(p.Profile.Flows[0].SLOs[:1:1], p.Profile.Flows[0].SLOs[2:]...)
		}, "the absence of the SLO"},
		"one SLO twice": {func(p *record.Plan) {
			p.Profile.Flows[0].SLOs = append(p.Profile.Flows[0].SLOs[:len(p.Profile.Flows[0].SLOs)-1:len(p.Profile.Flows[0].SLOs)-1], p.Profile.Flows[0].SLOs[0])
		}, "the absence of the SLO transaction_duration max<2000"},
		"other basis":   {func(p *record.Plan) { slo(p).Basis = spec.Counted }, "the SLO transaction_duration max<2000"},
		"other rules":   {func(p *record.Plan) { p.Profile.Rules.GeneratorDrops = new(0.5) }, "rules is not what"},
		"other timeout": {func(p *record.Plan) { p.Profile.Flows[0].Timeout *= 2; replan(p, func(*spec.Load) {}) }, "timeout is not what"},
		"other target":  {func(p *record.Plan) { replan(p, func(l *spec.Load) { l.Target *= 2 }) }, "load is not what"},
		"overridden": {func(p *record.Plan) {
			replan(p, func(l *spec.Load) { l.Target, l.Baseline.Rate = 40, 10 })
			p.Overrides = map[string]string{"rate": "40"}
		}, ""},
		"overridden so": {func(p *record.Plan) {
			replan(p, func(l *spec.Load) { l.Hold = 60 * time.Second })
			p.Overrides = map[string]string{"hold": "1m0s"}
		}, ""},
		"other override": {func(p *record.Plan) {
			replan(p, func(l *spec.Load) { l.Target = 40 })
			p.Overrides = map[string]string{"rate": "30"}
		}, "load is not what"},
		"a step": {func(p *record.Plan) {
			replan(p, func(l *spec.Load) { l.Target = 40 })
			p.Overrides, p.Scope = map[string]string{"load": "40/s"}, spec.ScopeTrial
		}, ""},
		"a step with fewer SLOs": {func(p *record.Plan) { p.Profile.Flows[0].SLOs, p.Scope = p.Profile.Flows[0].SLOs[1:], spec.ScopeTrial }, ""},
		"a step as a certificate": {func(p *record.Plan) {
			replan(p, func(l *spec.Load) { l.Target = 40 })
			p.Overrides = map[string]string{"load": "40/s"}
		}, `unknown override "load"`},
		"an override without a name": {func(p *record.Plan) { p.Overrides = map[string]string{"": ""} }, `unknown override ""`},
		"other needs":                {func(p *record.Plan) { p.Profile.Needs = []string{"db"} }, "needs is not what"},
		"other environment":          {func(p *record.Plan) { p.Profile.Env = spec.Env{"A": "b"} }, "env is not what"},
		"no ledger":                  {func(p *record.Plan) { p.Profile.Flows[0].Ledger = nil }, "ledger is not what"},
		"a step by other SLOs": {func(p *record.Plan) {
			slo(p).Bound, slo(p).Expression = 9000, "max<9000"
			p.Scope = spec.ScopeTrial
		}, "the SLO transaction_duration max<9000"},
		"other window":     {func(p *record.Plan) { p.Load.Judged[0].Start += 10 * time.Second }, "is not what follows from the profile"},
		"other profile":    {func(p *record.Plan) { p.Profile.Name = "payment" }, `unknown profile "payment"`},
		"other thresholds": {func(p *record.Plan) { p.Thresholds.SHA256 = "sha256:" + strings.Repeat("1", 64) }, "made from other thresholds"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "run")
			c := synthetic.New(synthetic.Profile(), 1, synthetic.Healthy)
			w, err := c.Create(dir)
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(c.Run.Plan)
			if err != nil {
				t.Fatal(err)
			}
			var p record.Plan
			if err := json.Unmarshal(text, &p); err != nil {
				t.Fatal(err)
			}
			tt.change(&p)
			if text, err = json.Marshal(p); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "evidence", "plan.json"), text, 0o600); err != nil {
				t.Fatal(err)
			}
			c.Run.Facts.Ledger = record.LedgerFact{State: record.StateAbsent}
			if err := w.Environment(c.Run.Environment); err != nil {
				t.Fatal(err)
			}
			if err := w.Seal(c.Run.Facts); err != nil {
				t.Fatal(err)
			}
			_, err = record.Open(dir)
			if err == nil && tt.want != "" || err != nil && (tt.want == "" || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

// replan changes the load of a profile, and the plan with it.
func replan(p *record.Plan, change func(l *spec.Load)) {
	change(&p.Profile.Flows[0].Load)
	load, err := plan.New(p.Profile, len(p.Load.Workers), p.Load.Seed)
	if err != nil {
		panic(err)
	}
	p.Load = load
}

// Overrides of which only one order is valid are replayed in that of the command line: the
// shorter hold has no arrival at the profile's own rate.
func TestOverridesInTheirOrder(t *testing.T) {
	p := synthetic.Profile()
	p.Flows[0].Load.Target, p.Flows[0].Load.Baseline.Rate, p.Flows[0].Load.Hold = 0.05, 0.05, time.Minute
	c := synthetic.New(p, 1, synthetic.Healthy)
	dir := filepath.Join(t.TempDir(), "run")
	w, err := c.Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	rate, hold := 5.0, 10*time.Second
	override := spec.Override{Rate: &rate, Hold: &hold}
	asked, changed := c.Run.Plan, override.Texts()
	if asked.Profile, err = override.Apply(p); err != nil {
		t.Fatal(err)
	}
	asked.Overrides = changed
	replan(&asked, func(*spec.Load) {})
	text, err := json.Marshal(asked)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "evidence", "plan.json"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	c.Run.Facts.Ledger, c.Run.Facts.Ended = record.LedgerFact{State: record.StateAbsent}, synthetic.T0.Add(asked.Load.Duration())
	if err := w.Environment(c.Run.Environment); err != nil {
		t.Fatal(err)
	}
	if err := w.Seal(c.Run.Facts); err != nil {
		t.Fatal(err)
	}
	if _, err := record.Open(dir); err != nil {
		t.Error(err)
	}
}

// The file itself is in the evidence.
func TestThresholdsThatAreMissing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	c := synthetic.New(synthetic.Profile(), 1, synthetic.Healthy)
	w, err := c.Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "evidence", "thresholds.json")); err != nil {
		t.Fatal(err)
	}
	if err := w.Environment(c.Run.Environment); err != nil {
		t.Fatal(err)
	}
	if err := w.Seal(c.Run.Facts); err != nil {
		t.Fatal(err)
	}
	if _, err := record.Open(dir); err == nil || !strings.Contains(err.Error(), "the thresholds that it is made from cannot be read") || hint.Of(err) != hint.Of(record.ErrChanged) {
		t.Errorf("%v; hint %q", err, hint.Of(err))
	}
}
