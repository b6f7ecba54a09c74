package trial

import (
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/run"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/synthetic"
)

// What a run could not certify is refused before it starts, with what to do.
func TestRunsRefused(t *testing.T) {
	hold := func(d, scales time.Duration) spec.Profile {
		p := synthetic.Profile()
		p.Flows[0].Load.Hold = d
		p.Flows[0].SLOs = append(p.Flows[0].SLOs, spec.SLO{Metric: metric.TimeToScale, Aggregate: spec.Max, Operator: "<", Bound: float64(scales / time.Millisecond)})
		return p
	}
	flows := func(judge bool) spec.Profile {
		p := synthetic.Profile()
		p.Flows = []spec.Flow{p.Flows[0], p.Flows[0]}
		for i, name := range []string{"a", "b"} {
			p.Flows[i].Name = name
			p.Flows[i].Load = spec.Load{Unit: "tps", Stages: []spec.Stage{
				{Rate: 10, For: 20 * time.Second, Judge: true}, {Rate: 30, For: 20 * time.Second, Judge: judge && i == 1},
			}}
		}
		return p
	}
	for name, c := range map[string]struct {
		profile spec.Profile
		scope   string
		want    string // empty: it runs
	}{
		"too little is left":      {hold(600*time.Second, 30*time.Second), "", "recoveries may take 30s; lengthen it with --hold 630s, or say --scope smoke"},
		"enough is left":          {hold(630*time.Second, 30*time.Second), "", ""},
		"a smoke":                 {hold(600*time.Second, 30*time.Second), spec.ScopeSmoke, ""},
		"too short":               {hold(60*time.Second, 30*time.Second), spec.ScopeCertificate, "holds its target for 1m0s; lengthen it with --hold 10m"},
		"nothing judges the peak": {flows(false), "", `runs at 60/s from second 20 on; write "judge": true`},
		"a flow judges it":        {flows(true), "", ""},
	} {
		shared := run.Options{}
		shared.Runs = t.TempDir()
		shared.Scope = c.scope
		_, err := Runs(shared, []spec.Profile{c.profile}, "")
		problem, remedy, _ := strings.Cut(c.want, "; ")
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), problem) || !strings.Contains(hint.Of(err), remedy)):
			t.Errorf("%s: %v (%s)", name, err, hint.Of(err))
		}
	}
}
