package plan_test

import (
	"testing"
	"time"

	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/spec"
)

// The target of flows is what they hold together: two that reach their targets one after the
// other, or meet for less time than either holds its own, never made the sum of both.
func TestTargetOfFlows(t *testing.T) {
	t.Parallel()
	judged := func(rate float64, minutes int) spec.Stage {
		return spec.Stage{Rate: rate, For: time.Duration(minutes) * time.Minute, Judge: true}
	}
	other := func(rate float64, minutes int) spec.Stage {
		return spec.Stage{Rate: rate, For: time.Duration(minutes) * time.Minute}
	}
	for name, c := range map[string]struct {
		a, b           []spec.Stage
		target, lowest float64
	}{
		"together":            {[]spec.Stage{judged(500, 10)}, []spec.Stage{judged(300, 10)}, 800, 800},
		"one after the other": {[]spec.Stage{judged(500, 10), other(1, 10)}, []spec.Stage{other(1, 10), judged(500, 10)}, 500, 500},
		"both judged":         {[]spec.Stage{judged(500, 10), judged(1, 10)}, []spec.Stage{judged(1, 10), judged(500, 10)}, 501, 501},
		"for a minute":        {[]spec.Stage{judged(500, 10)}, []spec.Stage{other(1, 9), judged(500, 10)}, 500, 500},
		"but for a second":    {[]spec.Stage{judged(500, 10)}, []spec.Stage{{Rate: 1, For: time.Second}, judged(500, 10)}, 1000, 500},
		"within the other":    {[]spec.Stage{judged(400, 20)}, []spec.Stage{other(10, 5), judged(50, 10)}, 450, 400},
		"a peak":              {[]spec.Stage{judged(400, 10), judged(800, 1)}, []spec.Stage{judged(50, 11)}, 850, 450},
		"not judged beside":   {[]spec.Stage{judged(400, 10)}, []spec.Stage{other(300, 10), judged(50, 10)}, 400, 50},
	} {
		p := spec.Profile{Name: "p"}
		for i, stages := range [][]spec.Stage{c.a, c.b} {
			p.Flows = append(p.Flows, spec.Flow{Name: string(rune('a' + i)), Timeout: time.Second, Load: spec.Load{Unit: "tps", Stages: stages}})
		}
		got, err := plan.New(p, 1, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got.Target != c.target || got.LowestJudged() != c.lowest {
			t.Errorf("%s: %g to %g/s, want %g to %g/s", name, got.LowestJudged(), got.Target, c.lowest, c.target)
		}
	}
}
