package verdict

import (
	"testing"
	"time"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/synthetic"
)

// Where no request may fail, a request that failed only because of a generator stall
// does not fail its endpoint.
func TestEndpointWithoutOwnFailures(t *testing.T) {
	c := healthy()
	c.Run.Plan.Profile.Flows[0].SLOs = []spec.SLO{{Metric: metric.RequestFailed, Expression: "rate<=0", Aggregate: spec.Rate, Operator: "<="}}
	second := synthetic.T0.Add(c.Run.Plan.Load.Judged[0].Start).Unix() + 3
	for i, f := range c.Frames {
		if f.Source != "worker/0" || f.Second != second {
			continue
		}
		h := &metric.Hist{}
		h.Record(5, 1)
		count := func(name string, labels ...string) metric.Point {
			return metric.CounterPoint(metric.NewSeries(name, "", labels...), 1)
		}
		c.Frames[i].Points = append(f.Points, metric.HistPoint(metric.NewSeries(metric.RequestDuration, "ms", "name", "b"), h),
			count(metric.RequestFailed+metric.RateTotal, "name", "b"), count(metric.RequestFailed+metric.RateOccurred, "name", "b"),
			count(metric.Requests, "name", "b", "status", "0"),
			metric.CounterPoint(metric.NewSeries(metric.GeneratorStall, ""), 100))
	}
	c.Frames = recount(c)
	v := Judge(c.Record())
	if r := ruleOf(t, v, "per-class"); r.Outcome != Pass || v.Outcome == Fail || v.Outcome == Pass {
		t.Errorf("%v; %v: %s", v.Outcome, r.Outcome, r.Detail)
	}
}

// An endpoint whose every request violates the SLO is broken, however short the windows.
func TestEndpointOfShortWindows(t *testing.T) {
	c := synthetic.New(synthetic.Profile(), 1, synthetic.Healthy)
	c.Run.Plan.Profile.Flows[0].SLOs = []spec.SLO{synthetic.Percentile(metric.RequestDuration, 90, 500)}
	addEndpoint(c, "rare", 4, 4)
	addEndpoint(c, "pay", 400, 0)
	c.Frames = recount(c)
	hold := c.Run.Plan.Load.Judged[0]
	var short []plan.Window
	for i := range 4 {
		w := hold
		w.Start += time.Duration(6*i) * time.Second
		w.End = w.Start + 3*time.Second
		short = append(short, w)
	}
	c.Run.Plan.Load.Judged = short
	v := Judge(c.Record())
	if r := ruleOf(t, v, "per-class"); r.Outcome != Fail {
		t.Errorf("%v; %v: %s; %s", v.Outcome, r.Outcome, r.Detail, v.Claim)
	}
	if s := sloOf(t, v, "http_req_duration:p(90)<500"); s.Outcome != Pass {
		t.Errorf("the pool is %v", s.Outcome)
	}
}
