package spec_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/spec"
)

// A profile of which too many seconds would be judged by too many SLOs is refused, whether it
// is in a file, in a record, or has another hold; one of a day with 50 SLOs is not.
func TestJudgedSecondsAreBounded(t *testing.T) {
	t.Parallel()
	file := func(slos int, hold string) (spec.File, error) {
		all := slices.Repeat([]string{`"p(50)<100"`}, slos)
		for i := range all {
			all[i] = fmt.Sprintf(`"p(50)<%d"`, 100+i)
		}
		return spec.Decode("thresholds.json", fmt.Appendf(nil, `{"version": 1, "profiles": {"steady": {"scenario": "s.js",
			"load": {"target": 10, "warmup": "0s", "baseline": {"for": "1s"}, "ramp": "0s", "cooldown": "0s", "hold": %q}, "slo": {"http_req_duration": [%s]}}}}`, hold, strings.Join(all, ",")))
	}
	const problem = "seconds times SLOs, the limit is 5000000"
	if _, err := file(50, "23h"); err != nil {
		t.Error(err)
	}
	if _, err := file(61, "23h"); err == nil || !strings.Contains(err.Error(), problem) || strings.Contains(err.Error(), "\n") {
		t.Errorf("61 SLOs for 23 hours: %v", err)
	}
	f, err := file(61, "1h")
	if err != nil {
		t.Fatal(err)
	}
	p := f.Profiles["steady"]
	if _, err := p.WithHold(23 * time.Hour); err == nil || !strings.Contains(err.Error(), problem) || hint.Of(err) == "" {
		t.Errorf("with another hold: %v", err)
	}
	if err := p.Check(); err != nil {
		t.Error(err)
	}
	long := p.WithFlows(func(f *spec.Flow) { f.Load.Hold = 23 * time.Hour })
	staged := p.WithFlows(func(f *spec.Flow) {
		f.Load = spec.Load{Unit: "tps", Stages: []spec.Stage{{Rate: 10, For: 23 * time.Hour, Judge: true}}}
	})
	looks := p.WithFlows(func(f *spec.Flow) { f.Load.Hold, f.Load.HoldMax = 23*time.Hour/2, 23*time.Hour })
	flows := p
	flows.Flows = nil
	for i := range 4 {
		flows.Flows = append(flows.Flows, spec.Flow{Name: fmt.Sprint("f", i), Scenario: "s.js", Load: p.Flows[0].Load, Timeout: p.Flows[0].Timeout, SLOs: slices.Repeat(p.Flows[0].SLOs, 8)})
	}
	for name, of := range map[string]spec.Profile{"a hold": long, "a stage": staged, "looks": looks, "flows": flows} {
		if err := of.Check(); err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
