package verdict

import (
	"strings"
	"testing"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/synthetic"
)

func TestAllowance(t *testing.T) {
	for _, tt := range []struct {
		p    float64
		n    int64
		want int64
	}{
		{95, 100, 5},
		{95, 99, 4},
		{90, 100, 10},
		{99, 100, 1},
		{99, 99, 0},
		{99.9, 1000, 1},
		{99.9, 999, 0},
		{99.99, 10_000, 1},
		{50, 3, 1},
		{95, 0, 0},
		{95, 1, 0},
		{70, 10, 3},
		{80, 5, 1},
		{99.9, 9_000_000_000_000_000, 9_000_000_000_000},
	} {
		if got := allowedViolations(synthetic.Percentile("m", tt.p, 1), tt.n); got != tt.want {
			t.Errorf("p(%g) of %d samples allows %d violations, want %d", tt.p, tt.n, got, tt.want)
		}
	}
	if got := allowedViolations(spec.SLO{Aggregate: spec.Max}, 1000); got != 0 {
		t.Errorf("a maximum allows %d violations", got)
	}
}

// violate is a system in which k transactions, spread over the hold, take more than
// 250 ms or fail; the transactions before the hold do not.
func violate(k int64, latency float64, outcome string) synthetic.System {
	const before, held = 110, 600
	return func(n int64) (float64, string) {
		if i := n - before; k > 0 && i > 0 && i <= held && i*k/held > (i-1)*k/held {
			return latency, outcome
		}
		return 50, metric.Completed
	}
}

// A system that leaves most transactions uncompleted fails, although its ledger is empty
// and later steps of the transaction have no samples. One that completes them must have
// data for each SLO.
func TestFailureIsNotHiddenByMissingData(t *testing.T) {
	for name, tt := range map[string]struct {
		system synthetic.System
		want   Outcome
		slo    Outcome // outcome of the SLOs that have no data
	}{
		"all failed": {func(int64) (float64, string) { return 5, metric.Failed }, Fail, Inconclusive},
		"one in 50": {func(n int64) (float64, string) {
			return 5, map[bool]string{true: metric.Failed, false: metric.Completed}[n%50 == 0]
		}, Fail, Inconclusive},
		"all completed":                {synthetic.Healthy, Invalid, Invalid},
		"all failed, then interrupted": {func(int64) (float64, string) { return 5, metric.Failed }, Fail, Inconclusive},
	} {
		c := synthetic.New(synthetic.Profile(), 1, tt.system)
		c.Run.Facts.Interrupted = strings.HasSuffix(name, "interrupted")
		c.Run.Plan.Profile.Flows[0].SLOs = append(c.Run.Plan.Profile.Flows[0].SLOs, synthetic.Percentile("http_req_duration", 95, 200, metric.Label{Key: "name", Value: "read back"}))
		c.Run.Ledger.Acknowledged, c.Run.Ledger.Persisted, c.Run.Ledger.Lags = 0, 0, nil
		v := Judge(c.Record())
		r := ruleOf(t, v, "data")
		if v.Outcome != tt.want || (r.Outcome == Pass) != (tt.want == Fail) || (r.Limitation == "") != (tt.want == Invalid) || *r.Observed != 4 {
			t.Errorf("%s: %v: %s; %+v", name, v.Outcome, v.Claim, r)
		}
		for _, id := range []string{"http_req_duration{name:read back}:p(95)<200", "ledger:missing==0", "persist_lag:max<5000"} {
			if s := sloOf(t, v, id); s.Outcome != tt.slo || s.Observed != nil {
				t.Errorf("%s: %s is %v", name, id, s.Outcome)
			}
		}
	}
}

// Among 600 samples 30 may violate p(95): at most half as many PASS by count, at least
// twice as many FAIL, and in between the inferred test decides.
func TestTheCountDecides(t *testing.T) {
	const latency, requests = "transaction_duration:p(95)<250", "http_req_duration{name:pay}:p(95)<250"
	for _, tt := range []struct {
		system     synthetic.System
		slo        string
		violations int64
		want       Outcome
	}{
		{violate(15, 250, metric.Completed), latency, 15, Pass}, // the bound itself violates
		{violate(30, 250, metric.Completed), latency, 30, Inconclusive},
		{violate(60, 250, metric.Completed), latency, 60, Fail},
		{violate(600, 250, metric.Completed), latency, 600, Fail},
		{violate(60, 249.99, metric.Completed), latency, 0, Pass},
		{violate(60, 10, metric.Failed), latency, 60, Fail}, // a quick failure is no quick success
		{violate(60, 10, metric.TimedOut), latency, 60, Fail},
		{violate(60, 10, metric.Dropped), latency, 60, Fail},
		{violate(60, 10, metric.Failed), requests, 60, Fail},
		{violate(45, 300, metric.Dropped), requests, 0, Pass}, // it issued none
		{violate(30, 10, metric.Failed), "http_req_failed:rate<0.1", 30, Pass},
		{violate(60, 10, metric.Failed), "http_req_failed:rate<0.1", 60, Inconclusive}, // exactly 10 %
		{violate(120, 10, metric.Failed), "http_req_failed:rate<0.1", 120, Fail},
		{violate(1, 10, metric.Failed), "throughput:completed/scheduled>=0.99", 1, Pass},
		{violate(3, 10, metric.Failed), "throughput:completed/scheduled>=0.99", 3, Pass},
		{violate(6, 10, metric.Failed), "throughput:completed/scheduled>=0.99", 6, Inconclusive},
		{violate(7, 10, metric.Dropped), "throughput:completed/scheduled>=0.99", 7, Fail},
		{violate(1, 2000, metric.Completed), "transaction_duration:max<2000", 1, Fail},
		{violate(1, 1999.9, metric.Completed), "transaction_duration:max<2000", 0, Pass},
	} {
		v := Judge(synthetic.New(synthetic.Profile(), 1, tt.system).Record())
		s := sloOf(t, v, tt.slo)
		if s.Outcome != tt.want || *s.Violations != tt.violations {
			t.Errorf("%s with %d violations is %v, want %d, %v", tt.slo, *s.Violations, s.Outcome, tt.violations, tt.want)
		}
		if s.Outcome == Fail && v.Outcome != Fail {
			t.Errorf("%s fails, the run is %v", tt.slo, v.Outcome)
		}
		if s.Lower != nil && s.Upper != nil && (*s.Lower > *s.Observed || *s.Observed > *s.Upper) {
			t.Errorf("%s: %g is not within %g and %g", tt.slo, *s.Observed, *s.Lower, *s.Upper)
		}
	}
}

// Thresholds other than the run's have no counter: the histogram decides where its
// bounds are narrow enough.
func TestIntervalsDecideWhereNoCounterExists(t *testing.T) {
	judge := func(system synthetic.System, slos ...spec.SLO) Verdict {
		r := synthetic.New(synthetic.Profile(), 2, system).Record()
		r.Plan.Profile.Flows[0].SLOs = slos
		return Judge(r)
	}
	p95 := func(bound float64) spec.SLO { return synthetic.Percentile(metric.TransactionDuration, 95, bound) }
	for name, tt := range map[string]struct {
		system synthetic.System
		slo    spec.SLO
		lo, hi int64
		want   Outcome
	}{
		"clear pass":              {violate(40, 300, metric.Completed), p95(400), 0, 0, Pass},
		"clear fail":              {violate(60, 300, metric.Completed), p95(200), 60, 60, Fail},
		"within a bucket":         {violate(45, 300, metric.Completed), p95(299.9), 30, 45, Inconclusive},
		"few enough either way":   {violate(15, 300, metric.Completed), p95(299.9), 15, 15, Pass},
		"above the maximum":       {violate(45, 300, metric.Completed), p95(300.1), 0, 0, Pass},
		"failures are violations": {violate(60, 10, metric.Failed), p95(200), 60, 60, Fail},
		"failures may be slow":    {violate(60, 300, metric.Failed), p95(200), 60, 120, Fail},
		"failed requests": {
			violate(60, 10, metric.Failed),
			synthetic.Percentile("http_req_duration", 95, 200, metric.Label{Key: "name", Value: "pay"}), 60, 60, Fail,
		},
		"failed requests under an unknown label": {
			violate(31, 10, metric.Failed),
			synthetic.Percentile("http_req_duration", 95, 200, metric.Label{Key: "status", Value: "200"}), 0, 31, Inconclusive,
		},
		"the maximum is exact": {
			violate(3, 300, metric.Completed),
			spec.SLO{Metric: metric.TransactionDuration, Expression: "max<299.9", Aggregate: spec.Max, Operator: "<", Bound: 299.9},
			3, 3, Fail,
		},
		"at the maximum, which is allowed": {
			violate(3, 300, metric.Completed),
			spec.SLO{Metric: metric.TransactionDuration, Expression: "max<=300", Aggregate: spec.Max, Operator: "<=", Bound: 300},
			0, 0, Pass,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := judge(tt.system, tt.slo).SLOs[0]
			lo, hi := s.AtLeast, s.AtMost
			if s.Violations != nil {
				lo, hi = s.Violations, s.Violations
			}
			if lo == nil || *lo != tt.lo || *hi != tt.hi || s.Outcome != tt.want {
				t.Errorf("%v, violations in [%v, %v], want %v in [%d, %d]", s.Outcome, *lo, *hi, tt.want, tt.lo, tt.hi)
			}
		})
	}
	rates := judge(violate(60, 10, metric.Failed),
		spec.SLO{Metric: "http_req_failed", Expression: "rate<=0.2", Aggregate: spec.Rate, Operator: "<=", Bound: 0.2},
		spec.SLO{Metric: "http_req_failed", Expression: "rate>0.2", Aggregate: spec.Rate, Operator: ">", Bound: 0.2})
	for i, want := range []struct {
		violations int64
		outcome    Outcome
	}{{60, Pass}, {540, Fail}} {
		s := rates.SLOs[i]
		if *s.Violations != want.violations || s.Outcome != want.outcome || *s.Observed != 0.1 {
			t.Errorf("%s: %d violations, %v, %g observed", s.Expression, *s.Violations, s.Outcome, *s.Observed)
		}
	}
}

func TestLedgerSLOs(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(c *synthetic.Case)
		slo    string
		want   Outcome
	}{
		"duplicated": {func(c *synthetic.Case) { c.Run.Ledger.Duplicated = 1 }, "ledger:duplicated==0", Fail},
		"missing":    {func(c *synthetic.Case) { c.Run.Ledger.Missing = 1 }, "ledger:missing==0", Fail},
		"persisted late": {func(c *synthetic.Case) {
			c.Run.Ledger.Lags[99]--
			c.Run.Ledger.Lags[5000]++
		}, "persist_lag:max<5000", Fail},
		"never persisted": {func(c *synthetic.Case) { c.Run.Ledger.Missing = 1 }, "persist_lag:max<5000", Fail},
		"persisted at last": {func(c *synthetic.Case) {
			c.Run.Plan.Profile.Flows[0].SLOs = append(c.Run.Plan.Profile.Flows[0].SLOs, synthetic.Percentile(metric.PersistLag, 99.9, 99))
		}, "persist_lag:p(99.9)<99", Fail},
		"persisted nearly always": {func(c *synthetic.Case) {
			c.Run.Plan.Profile.Flows[0].SLOs = append(c.Run.Plan.Profile.Flows[0].SLOs, synthetic.Percentile(metric.PersistLag, 99, 99))
		}, "persist_lag:p(99)<99", Pass},
	} {
		t.Run(name, func(t *testing.T) {
			c := healthy()
			tt.change(c)
			s := sloOf(t, Judge(c.Record()), tt.slo)
			if s.Outcome != tt.want {
				t.Errorf("%s is %v with %d of %d", tt.slo, s.Outcome, *s.Violations, *s.Samples)
			}
		})
	}
}

// A script's own trend has the unit of its samples; without any it is a time.
func TestUnitOfATrendWithoutData(t *testing.T) {
	c := synthetic.New(synthetic.Profile(), 1, synthetic.Healthy)
	c.Run.Plan.Profile.Flows[0].SLOs = append(c.Run.Plan.Profile.Flows[0].SLOs, synthetic.Percentile("gateway_time", 95, 200))
	if s := sloOf(t, Judge(c.Record()), "gateway_time:p(95)<200"); s.Unit != "ms" || s.Observed != nil || s.Outcome == Pass {
		t.Errorf("%+v", s)
	}
}

func TestUndecidedReason(t *testing.T) {
	for want, s := range map[string]certificate.SLO{
		"has no data": {},
		"has between 1 and 8 violations of 100 samples, 5 allowed": {Samples: new(int64(100)), AtLeast: new(int64(1)), AtMost: new(int64(8)), Allowed: new(int64(5))},
		"has 5 violations of 100 samples, 5 allowed":               {Samples: new(int64(100)), Violations: new(int64(5)), Allowed: new(int64(5))},
		"has 5 violations of 100 samples, 5 allowed: too close to the limit to call": {
			Samples: new(int64(100)), Violations: new(int64(5)), Allowed: new(int64(5)), Basis: spec.Counted,
		},
	} {
		if got := (SLO{SLO: s}).undecidedReason(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
