package verdict

import (
	"fmt"
	"slices"
	"strings"
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

// withSamples adds so many samples of a metric to each frame of a worker: times of 20 ms, slow of
// them 9 s; or of a rate, good ones, slow of them bad.
func withSamples(c *synthetic.Case, s spec.SLO, perSecond, slow int, labels ...string) {
	inEachFrame(func(f *metric.Frame) {
		if s.Aggregate == spec.Rate {
			occurred := perSecond - slow
			if !s.AtLeast() {
				occurred = slow
			}
			f.Points = append(f.Points, metric.CounterPoint(metric.NewSeries(s.Metric+metric.RateTotal, "", labels...), float64(perSecond)),
				metric.CounterPoint(metric.NewSeries(s.Metric+metric.RateOccurred, "", labels...), float64(occurred)))
			return
		}
		h := &metric.Hist{}
		h.Record(20, uint64(perSecond-slow))
		h.Record(9000, uint64(slow))
		f.Points = append(f.Points, metric.HistPoint(metric.NewSeries(s.Metric, "ms", labels...), h))
	})(c)
	c.Frames = recount(c)
}

// Two samples of a hundred are of a class that always violates the SLO, whatever the metric
// and the label that sets the class apart: they are judged by themselves.
func TestEachClassIsJudged(t *testing.T) {
	atLeast := func(name string) spec.SLO {
		return spec.SLO{Metric: name, Expression: "rate>0.9", Aggregate: spec.Rate, Operator: ">", Bound: 0.9}
	}
	below := func(name string) spec.SLO {
		return spec.SLO{Metric: name, Expression: "rate<0.05", Aggregate: spec.Rate, Operator: "<", Bound: 0.05}
	}
	p95 := func(name string, selector ...metric.Label) spec.SLO {
		return synthetic.Percentile(name, 95, 250, selector...)
	}
	for name, of := range map[string]struct {
		slo       spec.SLO
		fast, bad []string
		broken    string
	}{
		"an endpoint":               {p95("http_req_waiting"), []string{"name", "a"}, []string{"name", "b"}, "http_req_waiting{name:b}"},
		"a method":                  {p95("http_req_duration"), []string{"name", "a", "method", "GET"}, []string{"name", "a", "method", "PUT"}, "http_req_duration{method:PUT,name:a}"},
		"a method, by name":         {p95("http_req_duration", metric.Label{Key: "name", Value: "a"}), []string{"name", "a", "method", "GET"}, []string{"name", "a", "method", "PUT"}, "http_req_duration{method:PUT,name:a}"},
		"failures of a method":      {below("http_req_failed"), []string{"name", "a", "method", "GET"}, []string{"name", "a", "method", "PUT"}, "http_req_failed{method:PUT,name:a}"},
		"an endpoint of a group":    {p95("http_req_duration"), []string{"name", "a", "group", "::x"}, []string{"name", "a", "group", "::y"}, `http_req_duration{group:\:\:y,name:a}`},
		"a gRPC call":               {p95("grpc_req_duration"), []string{"name", "/shop.Shop/Find"}, []string{"name", "/shop.Shop/Pay"}, "grpc_req_duration{name:/shop.Shop/Pay}"},
		"a gRPC method":             {p95("grpc_req_duration"), []string{"name", "rpc", "method", "Find"}, []string{"name", "rpc", "method", "Pay"}, "grpc_req_duration{method:Pay,name:rpc}"},
		"a gRPC service":            {below("grpc_req_failed"), []string{"name", "rpc", "service", "shop", "method", "Get"}, []string{"name", "rpc", "service", "bank", "method", "Get"}, "grpc_req_failed{name:rpc,service:bank}"},
		"a WebSocket":               {p95("ws_session_duration"), []string{"name", "ws://a"}, []string{"name", "ws://b"}, `ws_session_duration{name:ws\://b}`},
		"a statement":               {p95("sql_duration"), []string{"name", "query"}, []string{"name", "exec"}, "sql_duration{name:exec}"},
		"failures of a statement":   {below("sql_failed"), []string{"name", "query"}, []string{"name", "exec"}, "sql_failed{name:exec}"},
		"a group":                   {p95("group_duration"), []string{"group", "::browse"}, []string{"group", "::pay"}, `group_duration{group:\:\:pay}`},
		"an iteration":              {p95("iteration_duration"), nil, []string{"name", "refund"}, "iteration_duration{name:refund}"},
		"a trend by name":           {p95("settled_ms"), []string{"name", "card"}, []string{"name", "wire"}, "settled_ms{name:wire}"},
		"a trend by group":          {p95("settled_ms"), nil, []string{"group", "::wire"}, `settled_ms{group:\:\:wire}`},
		"a rate by name":            {atLeast("confirmed"), []string{"name", "card"}, []string{"name", "wire"}, "confirmed{name:wire}"},
		"a check":                   {atLeast("checks"), []string{"check", "status"}, []string{"check", "amount"}, "checks{check:amount}"},
		"a check of a group":        {atLeast("checks"), []string{"check", "status", "group", "::a"}, []string{"check", "status", "group", "::b"}, `checks{check:status,group:\:\:b}`},
		"beyond the limit":          {p95("http_req_duration"), []string{"name", "a"}, []string{"overflow", "true"}, "http_req_duration{name:,overflow:true}"},
		"no name, beyond the limit": {p95("http_req_duration"), []string{"name", "a", "overflow", "true"}, []string{"overflow", "true"}, "http_req_duration{name:,overflow:true}"},
		"a name beyond the limit":   {p95("http_req_duration"), []string{"name", "a", "group", "::x"}, []string{"name", "a", "overflow", "true"}, "http_req_duration{method:,name:a,overflow:true}"},
	} {
		t.Run(name, func(t *testing.T) {
			p := synthetic.Profile()
			p.Flows[0].SLOs = p.Flows[0].SLOs[2:]
			c := synthetic.New(p, 2, synthetic.Healthy)
			c.Run.Plan.Profile.Flows[0].SLOs = append([]spec.SLO{of.slo}, p.Flows[0].SLOs...)
			withSamples(c, of.slo, 980, 0, of.fast...)
			healthy := Judge(c.Record())
			withSamples(c, of.slo, 20, 20, of.bad...)
			v := Judge(c.Record())
			if s := v.SLOs[0]; s.Outcome != Pass || healthy.Outcome != Pass {
				t.Errorf("the pool is %v, without the class %v: %s", s.Outcome, healthy.Outcome, healthy.Claim)
			}
			if v.Outcome != Fail || !strings.Contains(v.Claim, "broken for a single class: "+of.broken+" "+of.slo.Expression+" (600 of 600 violate it)") {
				t.Errorf("%v: %s", v.Outcome, v.Claim)
			}
		})
	}
}

// A check that always fails breaks the SLO on checks as soon as that is more than chance among
// so many checks; with fewer samples it is a limitation by its name.
func TestCheckThatAlwaysFails(t *testing.T) {
	rate := spec.SLO{Metric: metric.Checks, Expression: "rate>0.9", Aggregate: spec.Rate, Operator: ">", Bound: 0.9}
	for runs, want := range map[int]Outcome{3: Pass, 4: Fail} {
		p := synthetic.Profile()
		p.Flows[0].SLOs = p.Flows[0].SLOs[2:]
		c := synthetic.New(p, 2, synthetic.Healthy)
		c.Run.Plan.Profile.Flows[0].SLOs = append([]spec.SLO{rate}, p.Flows[0].SLOs...)
		for i := range 19 {
			withSamples(c, rate, 10, 0, "check", fmt.Sprint("check ", i))
		}
		left, from := runs, synthetic.T0.Add(c.Run.Plan.Load.Judged[0].Start).Unix()
		inEachFrame(func(f *metric.Frame) {
			if f.Second >= from && left > 0 {
				left--
				f.Points = append(f.Points, metric.CounterPoint(metric.NewSeries("checks.total", "", "check", "amount"), 1),
					metric.CounterPoint(metric.NewSeries("checks.occurred", "", "check", "amount"), 0))
			}
		})(c)
		c.Frames = recount(c)
		v := Judge(c.Record())
		r := ruleOf(t, v, "per-class")
		named := fmt.Sprintf("checks{check:amount} rate>0.9 (%d of %d violate it)", runs, runs)
		if v.Outcome != want || !strings.Contains(r.Detail+r.Limitation, named) {
			t.Errorf("%d runs: %v; %s; %s", runs, v.Outcome, r.Detail, r.Limitation)
		}
	}
}

// A class that breaks the SLO in one of several windows is not hidden by the others.
func TestClassIsJudgedInEachWindow(t *testing.T) {
	slo := synthetic.Percentile("group_duration", 50, 250)
	p := synthetic.Profile()
	p.Flows[0].SLOs = p.Flows[0].SLOs[2:]
	c := synthetic.New(p, 2, synthetic.Healthy)
	c.Run.Plan.Profile.Flows[0].SLOs = append([]spec.SLO{slo}, p.Flows[0].SLOs...)
	withSamples(c, slo, 900, 0, "group", "::browse")
	hold := c.Run.Plan.Load.Judged[0]
	var windows []plan.Window
	for i := range 2 {
		w := hold
		w.Start += time.Duration(15*i) * time.Second
		w.End = w.Start + 15*time.Second
		windows = append(windows, w)
	}
	c.Run.Plan.Load.Judged = windows
	from := synthetic.T0.Add(windows[1].Start).Unix()
	inEachFrame(func(f *metric.Frame) {
		ms := 20.0
		if f.Second >= from && f.Second < from+15 {
			ms = 9000
		}
		h := &metric.Hist{}
		h.Record(ms, 9)
		h.Record(20, 1)
		f.Points = append(f.Points, metric.HistPoint(metric.NewSeries("group_duration", "ms", "group", "::pay"), h))
	})(c)
	c.Frames = recount(c)
	v := Judge(c.Record())
	if r := ruleOf(t, v, "per-class"); v.SLOs[0].Outcome != Pass || r.Outcome != Fail {
		t.Errorf("the pool is %v; %v: %s; %s", v.SLOs[0].Outcome, r.Outcome, r.Detail, r.Limitation)
	}
}

// An SLO that all flows have in common judges each flow by itself.
func TestFlowsOfACommonSLO(t *testing.T) {
	p := synthetic.Profile()
	p.Common, p.Flows = []spec.SLO{synthetic.Percentile(metric.TransactionDuration, 40, 250)}, []spec.Flow{
		flowOf("browse", synthetic.Percentile(metric.TransactionDuration, 95, 60_000)),
		flowOf("pay", synthetic.Percentile(metric.TransactionDuration, 95, 60_000)),
	}
	c := withFlows(p, synthetic.Healthy, func(int64) (float64, string) { return 3000, metric.Completed })
	v := Judge(c.Record())
	if r := ruleOf(t, v, "per-class"); !strings.Contains(r.Detail, "transaction_duration{scenario:pay} p(40)<250") || v.Outcome != Fail {
		t.Errorf("%v: %s", v.Outcome, r.Detail)
	}
}

// A class for which the profile has an SLO of its own is judged by that one.
func TestClassWithItsOwnSLO(t *testing.T) {
	pool, own := synthetic.Percentile("http_req_duration", 95, 250), synthetic.Percentile("http_req_duration", 95, 20_000, metric.Label{Key: "name", Value: "export"})
	p := synthetic.Profile()
	p.Flows[0].SLOs = p.Flows[0].SLOs[2:]
	c := synthetic.New(p, 2, synthetic.Healthy)
	c.Run.Plan.Profile.Flows[0].SLOs = append([]spec.SLO{pool, own}, p.Flows[0].SLOs...)
	withSamples(c, pool, 980, 0, "name", "a")
	withSamples(c, pool, 20, 20, "name", "export")
	if v := Judge(c.Record()); v.Outcome != Pass {
		t.Errorf("%v: %s", v.Outcome, v.Claim)
	}
}

// Transactions whose iterations have another name are judged by themselves.
func TestTransactionsAreJudgedByName(t *testing.T) {
	c := synthetic.New(synthetic.Profile(), 2, func(n int64) (float64, string) {
		if n%50 == 7 {
			return 1900, metric.Completed
		}
		return 20, metric.Completed
	})
	c.Run.Plan.Profile.Flows[0].SLOs = slices.DeleteFunc(slices.Clone(c.Run.Plan.Profile.Flows[0].SLOs), func(s spec.SLO) bool { return metric.IsRequestTime(s.Metric) })
	if v := Judge(c.Record()); v.Outcome != Pass {
		t.Fatalf("unnamed: %v: %s", v.Outcome, v.Claim)
	}
	for i := range c.Frames {
		f := &c.Frames[i]
		if f.Closing || !metric.IsWorker(f.Source) {
			continue
		}
		for _, p := range pointsNamed(f, metric.TransactionDuration) {
			_, bad := p.Hist.AtLeast(1000)
			if bad == 0 {
				continue
			}
			refunds, others := &metric.Hist{}, &metric.Hist{}
			refunds.Record(1900, bad)
			others.Record(20, p.Hist.Count()-bad)
			p.Hist = others
			f.Points = append(f.Points, metric.HistPoint(metric.Of(metric.TransactionDuration, "name", "refund"), refunds),
				metric.CounterPoint(metric.Of(metric.Transactions, "name", "refund", "outcome", metric.Completed), float64(bad)))
			for _, all := range pointsNamed(f, metric.Transactions) {
				if all.Series.Label("name") == "" && all.Series.Label("outcome") == metric.Completed {
					all.Value -= float64(bad)
				}
			}
		}
	}
	if v := Judge(c.Record()); v.Outcome != Fail || !strings.Contains(v.Claim, "broken for a single class: transaction_duration{name:refund} p(95)<250 (12 of 12 violate it)") {
		t.Errorf("%v: %s", v.Outcome, v.Claim)
	}
}
