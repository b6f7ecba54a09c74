package k6

import (
	"testing"
	"time"

	"go.k6.io/k6/v2/lib/netext/httpext"
	"go.k6.io/k6/v2/metrics"
	"gopkg.in/guregu/null.v3"

	"assay.dev/assay/internal/load/arrivals"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
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

// A request that the client does not send, as its URL or a header of it is none, is a mistake of the
// script, unless the system has redirected it.
func TestRequestsThatAreNone(t *testing.T) {
	none := []string{"status", "0", "error_code", "1000", "error"}
	scheme, header := append(none, `unsupported protocol scheme ""`), append(none, `net/http: invalid header field value for "Authorization"`)
	for name, c := range map[string]struct {
		requests         [][]string
		unsent, byScript float64
	}{
		"a URL without a scheme":   {[][]string{scheme}, 1, 1},
		"a header of two lines":    {[][]string{header}, 1, 1},
		"a host that it blocks":    {[][]string{{"status", "0", "error_code", "1111", "error", "hostname (shop.test) is in a blocked pattern (*)"}}, 1, 1},
		"after one that was sent":  {[][]string{{"status", "200"}, header}, 0, 1},
		"after one that failed":    {[][]string{{"status", "500"}, header}, 0, 0},
		"where a redirect leads":   {[][]string{{"status", "302"}, scheme}, 0, 0},
		"one that is not answered": {[][]string{append(none, "EOF")}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFailures(spec.Expected{})
			f.add([]metrics.SampleContainer{&arrivals.TransactionStart{Scenario: "s", VU: "1"}})
			for _, tags := range c.requests {
				trail := f.http(tags[1], null.BoolFrom(tags[1] == "0" || tags[1] == "500")).(*httpext.Trail)
				for i := range trail.Samples {
					trail.Samples[i].Tags = f.tags(tags...)
				}
				f.add([]metrics.SampleContainer{trail})
			}
			f.add([]metrics.SampleContainer{&arrivals.Transaction{Scenario: "s", VU: "1", Silent: c.unsent > 0}})
			got := pointsOf(f.aggregate)[f.t0.Unix()]
			unsent := got[metric.Of(metric.TransactionsUnsent, "scenario", "s", "outcome", metric.Failed).Key()]
			byScript := got[metric.Of(metric.ScriptFailed, "scenario", "s").Key()]
			undone := got[metric.Of(metric.GeneratorUndone, "scenario", "s").Key()]
			if unsent != c.unsent || byScript != c.byScript || undone != c.byScript {
				t.Errorf("%g sent nothing, %g failed by the script, %g not completed because of it", unsent, byScript, undone)
			}
		})
	}
}
