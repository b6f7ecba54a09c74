package verdict

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/synthetic"
)

// listed are the omissions of a verdict that classes of samples and unjudged metrics cause, as text.
func listed(v Verdict) (all []string) {
	for _, o := range v.LeftOut {
		if o.Reason == "unjudged-stage" {
			continue
		}
		text := fmt.Sprint(o.Reason, ": ", o.String())
		if o.Weighs {
			text += "; weighs"
		}
		all = append(all, text)
	}
	return all
}

// What the profile judges by no SLO is listed, and is in the claim where it could have changed the
// verdict.
func TestWhatNoSLOJudges(t *testing.T) {
	trend := synthetic.Percentile("settled_ms", 95, 250)
	failures := spec.SLO{Metric: metric.RequestFailed, Expression: "rate<0.1", Aggregate: spec.Rate, Operator: "<", Bound: 0.1}
	transactions := synthetic.Percentile(metric.TransactionDuration, 95, 5000)
	pay := metric.Label{Key: "name", Value: "pay"}
	for name, of := range map[string]struct {
		slos  []spec.SLO
		more  func(c *synthetic.Case)
		want  []string
		claim string
	}{
		"a trend alone": {
			[]spec.SLO{trend},
			func(c *synthetic.Case) { withSamples(c, trend, 100, 0) },
			[]string{
				"unjudged-latency: no SLO judges transaction_duration (p95 3000 ms, p99 3000 ms): 600 transactions; weighs",
				"unjudged-endpoints: no SLO judges http_req_duration{name:pay} (p95 3000 ms): 600 requests, 0 failed",
			},
			"no SLO judges transaction_duration (p95 3000 ms, p99 3000 ms)",
		},
		"transactions": {[]spec.SLO{transactions}, nil, nil, ""},
		"a slow endpoint of fast transactions": {
			[]spec.SLO{transactions, failures},
			func(c *synthetic.Case) {
				withSamples(c, synthetic.Percentile(metric.RequestDuration, 95, 1), 3, 3, "name", "search")
			},
			[]string{"unjudged-endpoints: no SLO judges http_req_duration{name:search} (p95 9000 ms): 90 requests, 0 failed; weighs"},
			"http_req_duration{name:search}",
		},
		"one of two endpoints": {
			[]spec.SLO{transactions, failures, synthetic.Percentile(metric.RequestDuration, 95, 5000, pay)},
			func(c *synthetic.Case) {
				withSamples(c, synthetic.Percentile(metric.RequestDuration, 95, 1), 3, 0, "name", "search")
			},
			[]string{"unjudged-endpoints: no SLO judges http_req_duration{name:search} (p95 20.0 ms): 90 requests, 0 failed"},
			"",
		},
		"one of two methods": {
			[]spec.SLO{transactions, failures, synthetic.Percentile(metric.RequestDuration, 95, 5000, metric.Label{Key: "method", Value: ""}, pay)},
			func(c *synthetic.Case) {
				withSamples(c, synthetic.Percentile(metric.RequestDuration, 95, 1), 3, 3, "name", "pay", "method", "PUT")
			},
			[]string{"unjudged-endpoints: no SLO judges http_req_duration{method:PUT,name:pay} (p95 9000 ms): 90 requests, 0 failed; weighs"},
			"",
		},
		"failures of an endpoint that no SLO selects": {
			[]spec.SLO{transactions, {Metric: metric.RequestFailed, Expression: "rate<0.1", Aggregate: spec.Rate, Operator: "<", Bound: 0.1, Selector: []metric.Label{pay}}},
			func(c *synthetic.Case) {
				withSamples(c, synthetic.Percentile(metric.RequestDuration, 95, 1), 3, 0, "name", "search")
				withSamples(c, failures, 3, 2, "name", "search")
			},
			[]string{"unjudged-endpoints: no SLO judges http_req_duration{name:search} (p95 20.0 ms): 90 requests, 60 failed; weighs"},
			"60 failed",
		},
		"failures without an SLO": {
			[]spec.SLO{transactions},
			func(c *synthetic.Case) {
				withSamples(c, synthetic.Percentile(metric.RequestDuration, 95, 1), 3, 0, "name", "search")
				withSamples(c, failures, 3, 2, "name", "search")
			},
			[]string{"unjudged-failures: no SLO judges http_req_failed: 690 requests, 60 failed; weighs"},
			"no SLO judges http_req_failed",
		},
		"checks": {
			[]spec.SLO{transactions},
			func(c *synthetic.Case) {
				checks := spec.SLO{Metric: metric.Checks, Aggregate: spec.Rate, Operator: ">"}
				withSamples(c, checks, 19, 0, "check", "status")
				withSamples(c, checks, 1, 1, "check", "amount", "group", "::pay")
			},
			[]string{`unjudged-checks: no SLO judges these checks of the script ("amount" failed 30 of 30 times): 600 checks, 30 failed; weighs`},
			`"amount" failed 30 of 30 times`,
		},
		"the checks that no SLO selects": {
			[]spec.SLO{transactions, {Metric: metric.Checks, Expression: "rate>0.9", Aggregate: spec.Rate, Operator: ">", Bound: 0.9, Selector: []metric.Label{{Key: "check", Value: "status"}}}},
			func(c *synthetic.Case) {
				checks := spec.SLO{Metric: metric.Checks, Aggregate: spec.Rate, Operator: ">"}
				withSamples(c, checks, 19, 0, "check", "status")
				withSamples(c, checks, 2, 0, "check", "amount")
			},
			[]string{`unjudged-checks: no SLO judges these checks of the script: 60 checks, 0 failed`},
			"",
		},
		"classes beyond the limit": {
			[]spec.SLO{transactions, failures, synthetic.Percentile(metric.RequestDuration, 95, 5000)},
			func(c *synthetic.Case) {
				withSamples(c, synthetic.Percentile(metric.RequestDuration, 95, 1), 100, 1, "overflow", "true")
			},
			[]string{"classes-pooled: http_req_duration: classes beyond the first 200 are judged only all together: 3000 requests; weighs"},
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := synthetic.Profile()
			p.Flows[0].SLOs = p.Flows[0].SLOs[2:5]
			c := synthetic.New(p, 2, func(int64) (float64, string) { return 3000, metric.Completed })
			c.Run.Plan.Profile.Flows[0].SLOs = append(slices.Clone(of.slos), p.Flows[0].SLOs...)
			if of.more != nil {
				of.more(c)
			}
			v := Judge(c.Record())
			if got := listed(v); v.Outcome != Pass || !slices.Equal(got, of.want) || !strings.Contains(v.Claim, of.claim) {
				t.Errorf("%v: %q\n%q, want\n%q", v.Outcome, v.Claim, got, of.want)
			}
		})
	}
}

// Each flow is asked for an SLO on its transactions, unless all flows have one in common.
func TestLatencyOfEachFlow(t *testing.T) {
	p := synthetic.Profile()
	p.Flows = []spec.Flow{
		flowOf("browse", synthetic.Percentile(metric.TransactionDuration, 95, 5000)),
		flowOf("pay", synthetic.Percentile("iteration_duration", 95, 5000)),
	}
	v := Judge(withFlows(p, synthetic.Healthy, synthetic.Healthy).Record())
	if got := listed(v); len(got) == 0 || !strings.HasPrefix(got[0], "unjudged-latency: pay: no SLO judges transaction_duration") || !strings.Contains(v.Claim, "pay: no SLO judges transaction_duration") {
		t.Errorf("%q: %s", got, v.Claim)
	}
	p.Common = []spec.SLO{synthetic.Percentile(metric.TransactionDuration, 95, 5000)}
	v = Judge(withFlows(p, synthetic.Healthy, synthetic.Healthy).Record())
	if got := listed(v); slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, "unjudged-latency") }) {
		t.Errorf("with a common SLO: %q", got)
	}
}

// The certificate lists each check with its passes and failures, the worst first.
func TestChecksAreListed(t *testing.T) {
	checks := spec.SLO{Metric: metric.Checks, Aggregate: spec.Rate, Operator: ">"}
	c := synthetic.New(synthetic.Profile(), 2, synthetic.Healthy)
	withSamples(c, checks, 20, 0, "check", "status")
	withSamples(c, checks, 10, 1, "check", "status", "group", "::pay")
	withSamples(c, checks, 1, 1, "check", "amount", "name", "x")
	withSamples(c, checks, 1, 0, "check", "amount")
	want := []certificate.Check{{Name: "amount", Passes: 30, Failures: 30}, {Group: "::pay", Name: "status", Passes: 270, Failures: 30}, {Name: "status", Passes: 600}}
	if got := Judge(c.Record()).Checks; !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
