package spec_test

import (
	"fmt"
	"strings"
	"testing"

	"assay.dev/assay/internal/spec"
)

// A profile whose load ends, or rises again, before it can show whether settle_time and
// time_to_scale were kept is refused; one that leaves just enough time is not.
func TestTimeToJudgeChangesInLoad(t *testing.T) {
	const (
		low, judged = `{"rate": 50, "for": "20s"}`, `{"rate": 100, "for": "60s", "judge": true}`
		after       = `{"rate": 100, "for": "30s"}`
		settle      = `"settle_time": ["max<20000"]`
		scale       = `"time_to_scale": ["max<20000"]`
	)
	overload := func(rate, seconds int) string {
		return fmt.Sprintf(`{"rate": %d, "for": "%ds", "overload": true}`, rate, seconds)
	}
	stages := func(all ...string) string { return `"stages": [` + strings.Join(all, ", ") + `]` }
	for name, tt := range map[string]struct{ load, slo, want string }{
		"enough": {stages(low, judged, overload(150, 20), after), settle + ", " + scale, ""},
		"too short an end": {
			stages(judged, overload(150, 20), `{"rate": 100, "for": "29s"}`), settle,
			"the load ends 29s after the overload in stage 2: too early to judge settle_time, for which 30s are needed",
		},
		"the ramp down counts": {stages(judged, overload(150, 20), `{"rate": 100, "for": "20s", "ramp": "10s"}`), settle, ""},
		// The second is a part of the first.
		"adjacent overloads":      {stages(judged, overload(150, 20), overload(200, 30), after), settle, ""},
		"adjacent, with too less": {stages(judged, overload(200, 20), overload(150, 30), `{"rate": 100, "for": "5s"}`), settle, "the load ends 5s after the overload in stage 3"},
		"another overload": {
			stages(judged, overload(150, 20), `{"rate": 100, "for": "20s"}`, overload(150, 20), after), settle,
			"the load rises again 20s after the overload in stage 2: too early to judge settle_time, for which 30s are needed",
		},
		"another overload, in time": {stages(judged, overload(150, 20), after, overload(150, 20), after), settle, ""},
		"a step up": {
			stages(judged, overload(150, 20), `{"rate": 50, "for": "20s"}`, judged), settle,
			"the load rises again 20s after the overload in stage 2",
		},
		"a ramp up": {
			stages(judged, overload(150, 20), `{"rate": 50, "for": "20s"}`, `{"rate": 100, "ramp": "20s", "for": "60s"}`), settle,
			"the load rises again 20s after the overload in stage 2",
		},
		"a step, then an overload": {
			stages(low, `{"rate": 100, "for": "15s", "judge": true}`, overload(150, 20), after), `"goodput": ["rate>0.9"], ` + scale,
			"the load rises again 15s after the step up in stage 2: too early to judge time_to_scale, for which 30s are needed",
		},
		"a step, then the end": {
			stages(low, `{"rate": 100, "for": "15s", "judge": true}`, `{"rate": 20, "for": "10s"}`), scale,
			"the load ends 25s after the step up in stage 2",
		},
		"a hold":                     {`"target": 100, "hold": "25s"`, scale, ""},
		"too short a hold":           {`"target": 100, "hold": "20s"`, scale, "the load ends 25s after the step up to the hold"},
		"a hold that may be shorter": {`"target": 100, "hold": "25s", "hold_max": "100s"`, scale, "the load ends 25s after the step up to the hold"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := spec.Decode("t.json", []byte(`{"version": 1, "profiles": {"p": {"scenario": "s.js", "load": {`+tt.load+`},
				"slo": {"transaction_duration": ["p(95)<250"], `+tt.slo+`}}}}`))
			switch {
			case tt.want == "" && err != nil, tt.want != "" && err == nil:
				t.Errorf("%v, want %q", err, tt.want)
			case err != nil && (!strings.Contains(err.Error(), tt.want) || len(err.(spec.Errors)) != 1 || err.(spec.Errors)[0].Next == ""):
				t.Errorf("%v, want %q and a hint", err, tt.want)
			}
		})
	}
}
