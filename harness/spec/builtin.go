package spec

import (
	"fmt"
	"slices"

	"assay/harness/observe/metric"
)

// Types of metrics, as k6 names them.
const (
	trend   = "trend"
	rate    = "rate"
	counter = "counter"
	gauge   = "gauge"
)

// readerLag is the type of metrics that say how far a reader is behind.
const readerLag = "lag of a reader"

// recoveryTime is reserved for the time a system takes back to its SLOs.
const recoveryTime = "recovery_time"

// timed are the trends whose samples are times in milliseconds: ours, and
// those of k6 v1.8 (metrics/builtin.go).
var timed = []string{
	metric.TransactionDuration,
	"group_duration", "grpc_req_duration", "iteration_duration",
	"http_req_blocked", "http_req_connecting", "http_req_duration", "http_req_receiving",
	"http_req_sending", "http_req_tls_handshaking", "http_req_waiting",
	"ws_connecting", "ws_ping", "ws_session_duration",
}

// builtin is the type of each metric that needs no registering by a script.
var builtin = func() map[string]string {
	types := map[string]string{
		"checks": rate, "http_req_failed": rate,
		"data_received": counter, "data_sent": counter, "dropped_iterations": counter,
		"http_reqs": counter, "iterations": counter,
		"ws_msgs_received": counter, "ws_msgs_sent": counter, "ws_sessions": counter,
		"vus": gauge, "vus_max": gauge,
		metric.Transactions: counter, metric.TransactionsScheduled: counter,
	}
	for _, name := range timed {
		types[name] = trend
	}
	return types
}()

// Latency reports whether the SLO bounds a percentile of times, in
// milliseconds. A trend that a script registers may measure anything.
func (s SLO) Latency() bool {
	return s.Aggregate == Percentile && slices.Contains(timed, s.Metric)
}

// SLOs stand on trends (p, max) and rates (rate) alone. Their samples can each
// keep or break the bound, which is what the verdict counts. A counter has no
// such samples: throughput is judged by itself, as completed over scheduled.
// A gauge holds a few readings of which most of the time is not seen.

// forms says which expressions a type of metric takes.
var forms = map[string]string{
	trend:            "p(95)<250 or max<1000",
	rate:             "rate<0.01",
	LedgerMetric:     "missing==0 or duplicated==0",
	PersistLagMetric: "max<5000 or p(99)<1000",
	readerLag:        "max<5000 or p(95)<1000",
	"":               "p(95)<250 or max<1000 on a trend, rate<0.01 on a rate",
}

// fits says why the aggregate does not go with a metric of that type.
func (s SLO) fits(kind string) (problem string) {
	ok := false
	switch kind {
	case trend, PersistLagMetric, readerLag:
		ok = s.Aggregate == Percentile || s.Aggregate == Max
	case rate:
		ok = s.Aggregate == Rate
	case LedgerMetric:
		ok = s.Aggregate == Exact
	case counter:
		return fmt.Sprintf("%s is a counter: SLOs stand on trends and rates (throughput is judged without one)", s.Metric)
	case gauge:
		return fmt.Sprintf("%s is a gauge: SLOs stand on trends and rates", s.Metric)
	default:
		ok = s.Aggregate != Exact
	}
	if ok {
		return ""
	}
	what := "is a " + kind
	switch kind {
	case LedgerMetric:
		what = "counts"
	case PersistLagMetric, readerLag:
		what = "is a time"
	case "":
		what = "has no " + s.Count
	}
	return fmt.Sprintf("%s %s: use %s", s.Metric, what, forms[kind])
}

// kind is the type of a metric as far as the file alone can tell; "" for one
// that the script would have to register.
func kind(name string) string {
	if name == LedgerMetric || name == PersistLagMetric {
		return name
	}
	if (SLO{Metric: name}).OfReaders() {
		return readerLag
	}
	return builtin[name]
}
