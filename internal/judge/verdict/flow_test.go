package verdict

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/rulebook"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/synthetic"
	"github.com/google/go-cmp/cmp"
)

// flowOf is a flow of 20 transactions per second that are judged from second 10 on, with an
// SLO on their latency.
func flowOf(name string, slo spec.SLO) spec.Flow {
	slo.Flow = name
	return spec.Flow{
		Name: name, Scenario: name + ".js", Timeout: 10 * time.Second, SLOs: []spec.SLO{slo},
		Load: spec.Load{Unit: "tps", Stages: []spec.Stage{{Rate: 5, For: 10 * time.Second}, {Rate: 20, For: 30 * time.Second, Judge: true}}},
	}
}

// withFlows simulates a run of several flows on one worker, each against a system of its
// own.
func withFlows(p spec.Profile, systems ...synthetic.System) *synthetic.Case {
	c := synthetic.New(p, 1, synthetic.Healthy)
	c.Run.Ledger = nil
	own := metric.WorkerSource(0)
	closing := slices.IndexFunc(c.Frames, func(f metric.Frame) bool { return f.Source == own && f.Closing })
	last := c.Frames[closing]
	drop(c, func(f metric.Frame) bool { return f.Source == own })
	var frames []metric.Frame
	for i, of := range p.Flows {
		for _, f := range synthetic.New(p.Alone(of), 1, systems[i]).Frames {
			if f.Source != own || f.Closing {
				continue
			}
			at := slices.IndexFunc(frames, func(g metric.Frame) bool { return g.Second == f.Second })
			if at < 0 {
				f.Sequence, at = uint64(len(frames)+1), len(frames)
				frames = append(frames, metric.Frame{Source: own, Sequence: f.Sequence, Second: f.Second})
			}
			for _, pt := range f.Points {
				switch {
				case slices.Contains([]string{metric.WorkerCPU, metric.WorkerRunQueue, metric.WorkerCPUs}, pt.Series.Name):
					if i > 0 { // figures of the process, which all flows share
						continue
					}
				case pt.Series.Label("slo") == "":
					labels := []string{"scenario", of.Name}
					for _, l := range pt.Series.Labels {
						labels = append(labels, l.Key, l.Value)
					}
					pt.Series = metric.NewSeries(pt.Series.Name, pt.Series.Unit, labels...)
				}
				frames[at].Points = append(frames[at].Points, pt)
			}
		}
	}
	c.Frames = append(append(c.Frames, frames...), last)
	c.Frames[len(c.Frames)-1].Sequence = retotal(c, last) + 1
	return c
}

// Rules that a profile relaxes are limitations of each flow whose SLOs need a stricter one,
// and those on machines of the run. (600 samples are too few to decide p(99.9).)
func TestRelaxedRulesOfFlows(t *testing.T) {
	p := synthetic.Profile()
	p.Flows = []spec.Flow{
		flowOf("orders", synthetic.Percentile(metric.TransactionDuration, 99.9, 2000)),
		flowOf("views", synthetic.Percentile(metric.TransactionDuration, 80, 2000)),
	}
	p.Rules = spec.Rules{Offered: new(0.01), Machine: new(0.1)}
	v := Judge(withFlows(p, synthetic.Healthy, synthetic.Healthy).Record())
	got := slices.DeleteFunc(v.Limitations, func(text string) bool { return !strings.Contains(text, "the profile relaxes") })
	want := []string{
		"orders: the profile relaxes rule offered to 1 % (default: 0.01 %)",
		"the profile relaxes rule machine to 10 % (default: 2 %)",
	}
	if v.Outcome != Inconclusive || !slices.Equal(got, want) {
		t.Errorf("%s: %s; %q, want %q", v.Outcome, v.Claim, got, want)
	}
}

// The totals of a run are those of all flows: there is none while one flow has no data.
func TestTotalsOfFlowsWithoutData(t *testing.T) {
	p := synthetic.Profile()
	slo := synthetic.Percentile(metric.TransactionDuration, 80, 2000)
	p.Flows = []spec.Flow{flowOf("orders", slo), flowOf("views", slo)}
	c := withFlows(p, synthetic.Healthy, synthetic.Healthy)
	if v := Judge(c.Record()); v.Rate.Scheduled == nil || *v.Rate.Scheduled != 1200 || *v.Rate.Achieved != 40 || *v.Outcomes.Completed != 1200 || *v.Rate.Dropped != 0 {
		t.Errorf("%+v, %+v", v.Rate, v.Outcomes)
	}
	for i, f := range c.Frames {
		c.Frames[i].Points = slices.DeleteFunc(f.Points, func(pt metric.Point) bool { return pt.Series.Label("scenario") == "views" })
	}
	v := Judge(c.Record())
	for name, missing := range map[string]bool{
		"scheduled": v.Rate.Scheduled == nil, "completed": v.Rate.Completed == nil, "dropped": v.Rate.Dropped == nil, "achieved": v.Rate.Achieved == nil,
		"outcomes": v.Outcomes == Outcomes{},
	} {
		if !missing {
			t.Errorf("%s: a total without the flow that has no data", name)
		}
	}
	if v.Flows[0].Rate.Completed == nil || *v.Flows[0].Rate.Completed != 600 {
		t.Errorf("%+v", v.Flows[0].Rate)
	}
}

// Flows that reach their targets one after the other never made the sum of both.
func TestRateOfFlowsOneAfterTheOther(t *testing.T) {
	p := synthetic.Profile()
	slo := synthetic.Percentile(metric.TransactionDuration, 80, 2000)
	orders, views := flowOf("orders", slo), flowOf("views", slo)
	orders.Load.Stages = append(orders.Load.Stages, spec.Stage{Rate: 1, For: 30 * time.Second})
	views.Load.Stages = []spec.Stage{{Rate: 1, For: 40 * time.Second}, {Rate: 20, For: 30 * time.Second, Judge: true}}
	p.Flows = []spec.Flow{orders, views}
	v := Judge(withFlows(p, synthetic.Healthy, synthetic.Healthy).Record())
	if v.Outcome != Pass || v.Rate.Target != 20 || v.Rate.Lowest != 20 || *v.Rate.Achieved != 20 || *v.Rate.Completed != 1200 {
		t.Errorf("%s: %s: %+v", v.Outcome, v.Claim, v.Rate)
	}
}

// The most frequent error that a claim names is one of the flow that failed.
func TestClaimNamesTheFlowsOwnError(t *testing.T) {
	p := synthetic.Profile()
	slo := synthetic.Percentile(metric.TransactionDuration, 80, 2000)
	p.Flows = []spec.Flow{flowOf("orders", slo), flowOf("views", slo)}
	c := withFlows(p, func(n int64) (float64, string) {
		if n%3 == 0 {
			return 5, metric.Failed
		}
		return synthetic.Healthy(n)
	}, synthetic.Healthy)
	for i, f := range c.Frames {
		if f.Source == metric.WorkerSource(0) && !f.Closing {
			c.Frames[i].Points = append(f.Points,
				metric.CounterPoint(metric.Of(metric.ErrorsByClass, "where", metric.AtClient, "class", metric.ErrorReset, "scenario", "orders"), 6),
				metric.CounterPoint(metric.Of(metric.ErrorsByClass, "where", metric.AtClient, "class", "HTTP 404", "scenario", "views"), 9),
				metric.CounterPoint(metric.Of(metric.ErrorsByClass, "where", metric.AtClient, "class", metric.ErrorReset, "scenario", "views"), 1))
		}
	}
	v := Judge(c.Record())
	if !strings.Contains(v.Claim, "orders: 200 of 600 transactions were not completed (200 failed, most frequent error: connection reset)") {
		t.Error(v.Claim)
	}
	if len(v.Errors) != 2 || v.Errors[0].Class != "HTTP 404" || v.Errors[0].Count != 270 || v.Errors[1].Count != 210 {
		t.Errorf("the errors of the run are %+v", v.Errors)
	}
}

// Each rule about a flow is applied once to each, and its result is the flow's and the run's.
func TestRulesAreAppliedOnceToEachFlow(t *testing.T) {
	before, applied := maps.Clone(checks), map[string]int{}
	t.Cleanup(func() { checks = before })
	for id, decide := range before {
		checks[id] = func(p *part) Rule {
			applied[id]++
			return decide(p)
		}
	}
	p := synthetic.Profile()
	slo := synthetic.Percentile(metric.TransactionDuration, 80, 2000)
	p.Flows = []spec.Flow{flowOf("orders", slo), flowOf("views", slo)}
	c := withFlows(p, synthetic.Healthy, synthetic.Healthy)
	for i, f := range c.Frames { // views loses arrivals
		if f.Source == metric.WorkerSource(0) && !f.Closing {
			c.Frames[i].Points = append(f.Points, metric.CounterPoint(metric.Of(metric.GeneratorDropped, "scenario", "views"), 2))
		}
	}
	v := Judge(c.Record())
	for _, r := range rulebook.All() {
		want := 1
		if r.EachFlow {
			want = 2
		}
		if r.ID != rulebook.Faults && applied[r.ID] != want {
			t.Errorf("%s is applied %d times, want %d", r.ID, applied[r.ID], want)
		}
	}
	if v.Outcome != Invalid || v.Flows[0].Outcome != Pass || v.Flows[1].Outcome != Invalid || !strings.Contains(v.Claim, "views: the generator lost 60 of 600 arrivals") {
		t.Errorf("%s, %s, %s: %s", v.Outcome, v.Flows[0].Outcome, v.Flows[1].Outcome, v.Claim)
	}
}

// Each rule of the rulebook has a check, and each check a rule.
func TestEachRuleHasACheck(t *testing.T) {
	all := func(rulebook.Rule) bool { return true }
	if diff := cmp.Diff(slices.Sorted(slices.Values(rulebook.IDs(all))), slices.Sorted(maps.Keys(checks))); diff != "" {
		t.Error(diff)
	}
}
