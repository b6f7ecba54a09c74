package k6

import (
	"testing"
	"time"

	"go.k6.io/k6/v2/metrics"

	"assay.dev/assay/internal/load/arrivals"
	"assay.dev/assay/internal/observe/metric"
)

// What a transaction sent, and whether it was its script that failed it.
func TestTransactionsThatTheScriptFails(t *testing.T) {
	const slow = 20 * time.Millisecond
	for name, c := range map[string]struct {
		txn              arrivals.Transaction
		request, failed  bool
		bytes            float64 // that k6 reports as sent
		checkFails       bool
		unsent, byScript bool
		undone           bool
	}{
		"completed":               {request: true},
		"completed, nothing sent": {txn: arrivals.Transaction{Silent: true}, unsent: true},
		"completed, a request on an open connection":        {txn: arrivals.Transaction{Silent: true}, bytes: 100},
		"throws before it sends anything":                   {txn: arrivals.Transaction{Silent: true, Outcome: arrivals.Failed}, unsent: true, byScript: true, undone: true},
		"throws after an attempt to connect":                {txn: arrivals.Transaction{Outcome: arrivals.Failed}},
		"throws on purpose, after a request that succeeds":  {txn: arrivals.Transaction{Outcome: arrivals.Failed}, request: true},
		"throws its own, after a request that succeeds":     {txn: arrivals.Transaction{Outcome: arrivals.Failed, OwnError: true}, request: true, byScript: true, undone: true},
		"throws its own, after a request that fails":        {txn: arrivals.Transaction{Outcome: arrivals.Failed, OwnError: true}, request: true, failed: true},
		"throws its own, after a check of an answer failed": {txn: arrivals.Transaction{Outcome: arrivals.Failed, OwnError: true}, request: true, checkFails: true},
		"hangs":                              {txn: arrivals.Transaction{Outcome: arrivals.TimedOut, Latency: 6 * time.Second, Interrupted: true}},
		"hangs on an open connection":        {txn: arrivals.Transaction{Outcome: arrivals.TimedOut, Latency: 6 * time.Second, Silent: true, Interrupted: true}, bytes: 100},
		"waits without having sent anything": {txn: arrivals.Transaction{Outcome: arrivals.TimedOut, Latency: 6 * time.Second, Silent: true}, unsent: true, undone: true},
		"dropped":                            {txn: arrivals.Transaction{Outcome: arrivals.Dropped, Latency: 5 * time.Second, Queueing: 5 * time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			k := newK6Metrics()
			a := newAggregate(Session{Run: "r", Flows: []Flow{{Scenario: "payment", SLOs: paySLOs(), Timeout: 5 * time.Second}}})
			t0 := time.Now().Add(-time.Minute)
			a.start(t0, t0.Truncate(time.Second))
			one := c.txn
			one.Scenario, one.Due = "payment", time.Second
			at := t0.Add(time.Second + slow)
			if one.Outcome != arrivals.Dropped {
				one.VU, one.Latency = "7", max(one.Latency, slow)
				a.add([]metrics.SampleContainer{&arrivals.TransactionStart{Scenario: "payment", Due: one.Due, VU: "7"}})
			}
			tags := k.registry.RootTagSet().With(arrivals.VUTag, "7").With("scenario", "payment")
			sample := func(m *metrics.Metric, value float64) metrics.Sample {
				return metrics.Sample{TimeSeries: metrics.TimeSeries{Metric: m, Tags: tags}, Time: at, Value: value}
			}
			if c.request {
				a.add([]metrics.SampleContainer{k.trail(at, "pay", "7", slow, c.failed)})
			}
			if c.checkFails {
				a.add([]metrics.SampleContainer{sample(k.builtin.Checks, 0)})
			}
			a.add([]metrics.SampleContainer{metrics.Samples{sample(k.builtin.DataSent, c.bytes)}, &one})
			got := pointsOf(a)[a.secondOf(one.Due)]
			count := func(name string, labels ...string) float64 {
				return got[metric.NewSeries(name, "", append(labels, "scenario", "payment")...).Key()]
			}
			outcome := metric.Outcomes[one.Outcome]
			if got := count(metric.TransactionsUnsent, "outcome", outcome); (got == 1) != c.unsent {
				t.Errorf("%g sent nothing, want %t", got, c.unsent)
			}
			if got := count(metric.ScriptFailed); (got == 1) != c.byScript {
				t.Errorf("%g failed by the script, want %t", got, c.byScript)
			}
			if got := count(metric.GeneratorUndone); (got == 1) != c.undone {
				t.Errorf("%g not completed because of generator or script, want %t", got, c.undone)
			}
		})
	}
}
