package verdict

import (
	"math"
	"slices"
	"strings"
	"testing"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/testing/synthetic"
)

// stalled is a fleet of two whose generator adds 300 ms to a twentieth of the
// transactions, by which they miss an SLO.
func stalled() *synthetic.Case {
	return synthetic.NewWith(synthetic.Profile(), 2, synthetic.Healthy, func(n int64) (lag, stalled float64) {
		if n%20 == 3 {
			return 0, 300
		}
		return 0, 0
	})
}

// A CPU quota that stops a worker is a limitation, and the cause of an INVALID run if the
// generator's own delay makes it INVALID.
func TestCPUThrottled(t *testing.T) {
	none := math.NaN()
	quota := func(c *synthetic.Case, worker string, seconds float64) { stopped(c, worker, worker, seconds) }
	late := func(c *synthetic.Case) { displace(c, 20, 4) }
	for name, tt := range map[string]struct {
		made     *synthetic.Case // nil: a healthy one
		change   func(c *synthetic.Case)
		observed float64 // none: no data
		outcome  Outcome // outcome of the rule and of the run
		detail   string
		limits   bool
	}{
		"no data":          {nil, func(*synthetic.Case) {}, none, Pass, "no CPU quota is known for the generator", false},
		"never throttled":  {nil, func(c *synthetic.Case) { quota(c, "worker/1", 0) }, 0, Pass, "a CPU quota throttled the generator (worker/1) for 0 % of the time", false},
		"within the limit": {nil, func(c *synthetic.Case) { quota(c, "worker/1", 0.019) }, 0.019, Pass, "a CPU quota throttled the generator (worker/1) for 1.9 % of the time", false},
		"the worst worker": {nil, func(c *synthetic.Case) {
			quota(c, "worker/0", 0.05)
			quota(c, "worker/1", 0.1)
		}, 0.1, Pass, "a CPU quota throttled the generator (worker/1) for 10 % of the time", true},
		"in pods": {nil, func(c *synthetic.Case) {
			inPods(c)
			quota(c, "worker/1", 0.1)
		}, 0.1, Pass, "a CPU quota throttled the generator (worker/1, pod shop/load-1 on node n1) for 10 % of the time", true},
		"a single pod": {synthetic.New(synthetic.Profile(), 1, synthetic.Healthy), func(c *synthetic.Case) {
			inPods(c)
			quota(c, "worker/0", 0.1)
		}, 0.1, Pass, "a CPU quota throttled the generator (pod shop/load-0 on node n0) for 10 % of the time", true},
		"a single worker": {synthetic.New(synthetic.Profile(), 1, synthetic.Healthy), func(c *synthetic.Case) { quota(c, "worker/0", 0.1) }, 0.1, Pass, "a CPU quota throttled the generator for 10 % of the time", true},
		"as the profile allows": {nil, func(c *synthetic.Case) {
			quota(c, "worker/1", 0.1)
			c.Run.Plan.Profile.Rules.Machine = new(0.2)
		}, 0.1, Pass, "a CPU quota throttled the generator (worker/1) for 10 % of the time", false},
		"the service alone": {nil, func(c *synthetic.Case) { stopped(c, "host", "service", 0.5) }, none, Pass, "no CPU quota is known for the generator", false},
		"and late": {nil, func(c *synthetic.Case) {
			quota(c, "worker/1", 0.1)
			late(c)
		}, 0.1, Invalid, "a CPU quota throttled the generator (worker/1) for 10 % of the time, and the generator's own delay breaks offered", false},
		"and arrivals are lost": {nil, func(c *synthetic.Case) {
			quota(c, "worker/1", 0.1)
			late(c)
			c.Frames[20].Points = append(c.Frames[20].Points, metric.CounterPoint(metric.NewSeries(metric.GeneratorDropped, ""), 1))
		}, 0.1, Invalid, "a CPU quota throttled the generator (worker/1) for 10 % of the time, and the generator's own delay breaks generator-drops and offered", false},
		"and its delay decides": {
			stalled(), func(c *synthetic.Case) { quota(c, "worker/1", 0.1) }, 0.1, Invalid,
			"a CPU quota throttled the generator (worker/1) for 10 % of the time, and the generator's own delay breaks generator-lag", false,
		},
		"and the system fails all the same": {
			synthetic.New(synthetic.Profile(), 2, func(n int64) (float64, string) { return 400, metric.Completed }),
			func(c *synthetic.Case) {
				quota(c, "worker/1", 0.1)
				late(c)
			}, 0.1, Fail, "a CPU quota throttled the generator (worker/1) for 10 % of the time", true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := tt.made
			if c == nil {
				c = healthy()
			}
			tt.change(c)
			v := Judge(c.Record())
			r := ruleOf(t, v, "cpu-throttled")
			if v.Outcome != tt.outcome || (r.Outcome == Invalid) != (tt.outcome == Invalid) || r.Detail != tt.detail || !strings.Contains(r.Advice, "limits.cpu, docker --cpus") {
				t.Errorf("%v: %s\n%v: %s", v.Outcome, v.Claim, r.Outcome, r.Detail)
			}
			if (r.Observed == nil) != math.IsNaN(tt.observed) || r.Observed != nil && math.Abs(*r.Observed-tt.observed) > 1e-9 {
				t.Errorf("observed %v, want %v", r.Observed, tt.observed)
			}
			if tt.outcome == Invalid && !strings.HasPrefix(v.Claim, "synthetic cannot be judged: "+tt.detail) {
				t.Errorf("claim: %s", v.Claim)
			}
			if limits := slices.Contains(v.Limitations, tt.detail+"; latencies include it"); limits != tt.limits {
				t.Errorf("limitations: %q", v.Limitations)
			}
			// The loss is stated once.
			if m := ruleOf(t, v, "machine"); strings.Contains(m.Detail, "generator") || m.Limitation != "" && tt.detail != "no CPU quota is known for the generator" {
				t.Errorf("machine: %s; limitation %q", m.Detail, m.Limitation)
			}
		})
	}
}

// Without quota the generator's delay is nobody's fault that is known.
func TestDelayWithoutQuota(t *testing.T) {
	c := stalled()
	stopped(c, "worker/1", "worker/1", 0.01)
	v := Judge(c.Record())
	if r := ruleOf(t, v, "cpu-throttled"); v.Outcome != Invalid || r.Outcome != Pass || ruleOf(t, v, "generator-lag").Outcome != Invalid {
		t.Errorf("%v: %s; %+v", v.Outcome, v.Claim, r)
	}
}

// Where workers report no schedule, it is not known that a delay breaks the run.
func TestThrottledWithoutSchedule(t *testing.T) {
	c := healthy()
	stopped(c, "worker/1", "worker/1", 0.1)
	for i, f := range c.Frames {
		c.Frames[i].Points = slices.DeleteFunc(f.Points, func(p metric.Point) bool {
			return p.Series.Name == metric.TransactionsScheduled || p.Series.Name == metric.GeneratorLag
		})
	}
	v := Judge(c.Record())
	if r := ruleOf(t, v, "cpu-throttled"); v.Outcome != Invalid || r.Outcome != Pass || r.Limitation == "" {
		t.Errorf("%v: %s; %+v", v.Outcome, v.Claim, r)
	}
}
