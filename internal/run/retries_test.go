//go:build long

package run_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/judge/diagnose"
	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/spec"
)

// A bank that is slow for 3 s: a service that sends calls again without a pause keeps it
// overloaded for the rest of the run, which the diagnosis says.
func TestLongMetastableRetries(t *testing.T) {
	t.Parallel()
	cpus(t, 0.3)
	expect(t, verdict.Fail, func(t *testing.T) verdict.Verdict {
		v, found, last := slowFor3s(t, 3)
		if got := last(metric.StubAbandoned); got < 0.8 {
			t.Errorf("%.2f of the last calls are abandoned", got)
		}
		if v.Outcome == verdict.Fail && found.Component == diagnose.Undetermined {
			v.Outcome = verdict.Inconclusive // a machine that is too busy to name a cause
			return v
		}
		if v.Outcome == verdict.Fail && (found.Component != diagnose.Downstream || found.Cause != diagnose.Retries || !strings.Contains(found.Sentence, "it has not recovered in the ")) {
			t.Errorf("bottleneck %+v", found)
		}
		return v
	})
}

// The same service without retries recovers.
func TestLongRecoveryWithoutRetries(t *testing.T) {
	t.Parallel()
	cpus(t, 0.3)
	_, found, last := slowFor3s(t, 0)
	if got := last(metric.StubAnswered); got < 0.8 {
		t.Errorf("%.2f of the last calls are answered", got)
	}
	if found.Cause != "" {
		t.Errorf("bottleneck %+v", found)
	}
}

// slowFor3s certifies the reference service with a stub that is slow for 3 s at the start of
// the hold. last is the share of an outcome in the calls of the last 4 s.
func slowFor3s(t *testing.T, retries int) (v verdict.Verdict, found certificate.Bottleneck, last func(outcome string) float64) {
	t.Helper()
	b := startBank(t, `{"name": "charge", "match": "POST /charge", "latency": {"fixed": "40ms"}, "concurrency": 3},
		{"name": "inquiry", "match": "GET /charge/{id}", "latency": {"fixed": "5ms"}, "background": true}`,
		`{"name": "slow", "from": "13s", "for": "3s", "endpoints": ["charge"], "latency_factor": 20}`)
	s := serve(t, "mariadb", "--gateway-retries", strconv.Itoa(retries), "--gateway-patience", "200ms", "--reconcile-after", "1m", "--gateway-url", b.url)
	// 3 slots of 40 ms take 75 calls a second: those of 30 payments, and not 4 times as many.
	o := s.payments(t, spec.Load{
		Unit: "tps", Target: 30, Warmup: 2 * time.Second, Baseline: spec.Baseline{Rate: 8, For: 8 * time.Second}, Hold: 14 * time.Second, Cooldown: time.Second,
	})
	o.Profile.Flows[0].SLOs = []spec.SLO{{Metric: metric.TransactionDuration, Expression: "p(50)<400", Aggregate: spec.Percentile, Quantile: 0.5, Operator: "<", Bound: 400}}
	o.Profile.Abort = nil
	o.StubToken = stubToken
	o.Profile.Stubs = map[string]spec.Stub{"bank": {URL: b.url}}
	r := certify(t, o)
	v = verdict.Judge(r)
	found = *diagnose.Of(r, v).Bottleneck
	t.Logf("%s %s %q", v.Claim, found.Sentence, found.Evidence)
	return v, found, func(outcome string) float64 {
		span, charge := record.Span{From: judged(r).To - 4, To: judged(r).To}, metric.Label{Key: "endpoint", Value: "charge"}
		all, _ := r.Timeline.Sum(metric.StubCalls, []metric.Label{charge}, span)
		n, _ := r.Timeline.Sum(metric.StubCalls, []metric.Label{charge, {Key: "outcome", Value: outcome}}, span)
		return n / all
	}
}
