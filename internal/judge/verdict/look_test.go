package verdict

import (
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/synthetic"
)

// looking is a hold with a number of looks, one every ten minutes, judged at one of
// them, of a system with a share of slow transactions.
func looking(looks, at int, share float64) *synthetic.Case {
	p := synthetic.Profile()
	p.Flows[0].Load.Hold, p.Flows[0].Load.HoldMax = 600*time.Second, time.Duration(looks)*600*time.Second
	p.Flows[0].SLOs = []spec.SLO{synthetic.Percentile(metric.TransactionDuration, 95, 250)}
	every := int64(1 / share)
	c := synthetic.New(p, 1, func(n int64) (float64, string) {
		if n%every == 0 {
			return 400, metric.Completed
		}
		return 50 + float64(n*37%100)/10, metric.Completed
	})
	c.Run.Plan.Scope = "certificate"
	c.Run.Facts.Look = at
	c.Run.Plan.Load = c.Run.Plan.Load.At(at)
	return c
}

// A look that decides ends the hold, otherwise it continues. The samples up to the look
// are judged, at the level of that look.
func TestLooks(t *testing.T) {
	if names := Undecided(looking(3, 1, 0.02).Record()); len(names) != 0 {
		t.Errorf("far from the limit: %q", names)
	}
	if names := Undecided(looking(3, 1, 0.2).Record()); len(names) != 0 {
		t.Errorf("broken, and undecided: %q", names)
	}
	names := Undecided(looking(3, 1, 0.05).Record())
	if len(names) != 1 || !strings.Contains(names[0], "transaction_duration p(95)<250") {
		t.Errorf("at the limit: %q", names)
	}
	v := Judge(looking(3, 2, 0.02).Record())
	if v.Outcome != Pass || v.Window.Seconds != 1200 || *v.Rate.Scheduled != 24_000 {
		t.Errorf("%v: %s, %+v", v.Outcome, v.Claim, v.Window)
	}
	if one, three := alpha(newEvidence(looking(1, 0, 0.02).Record())), alpha(newEvidence(looking(3, 1, 0.02).Record())); three >= one {
		t.Errorf("a look of three spends %g, one of one %g", three, one)
	}
}
