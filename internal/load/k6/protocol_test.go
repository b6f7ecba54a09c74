package k6

import (
	"strings"
	"testing"
	"time"

	"go.k6.io/k6/v2/metrics"

	"assay.dev/assay/internal/load/arrivals"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
)

// gRPC requests and WebSockets count as requests: by their names, with their failures, which
// violate SLOs on their durations, fail their transactions and have a class.
func TestCallsAreRequests(t *testing.T) {
	k := newK6Metrics()
	rate := func(name string) spec.SLO {
		return spec.SLO{Metric: name, Expression: "rate<0.1", Aggregate: spec.Rate, Operator: "<", Bound: 0.1}
	}
	slow := spec.SLO{Metric: metric.GRPC.Duration(), Expression: "p(95)<100", Aggregate: spec.Percentile, Quantile: 0.95, Operator: "<", Bound: 100}
	slos := []spec.SLO{rate(metric.GRPC.Failed), rate(metric.WebSocket.Failed), slow}
	a := newAggregate(Session{Run: "r", Flows: []Flow{{Scenario: "s", SLOs: slos}}})
	t0 := time.Unix(100, 0)
	a.start(t0, t0)
	sample := func(of *metrics.Metric, value float64, tags ...string) metrics.Sample {
		set := k.registry.RootTagSet().With(arrivals.VUTag, "1").With("scenario", "s")
		for i := 0; i < len(tags); i += 2 {
			set = set.With(tags[i], tags[i+1])
		}
		return metrics.Sample{TimeSeries: metrics.TimeSeries{Metric: of, Tags: set}, Time: t0.Add(2 * time.Second), Value: value}
	}
	session := func(tags ...string) metrics.SampleContainer {
		return metrics.ConnectedSamples{Samples: []metrics.Sample{sample(k.builtin.WSSessions, 1, tags...), sample(k.builtin.WSConnecting, 5, tags...)}}
	}
	transaction := func(all ...metrics.SampleContainer) {
		a.add([]metrics.SampleContainer{&arrivals.TransactionStart{Scenario: "s", VU: "1"}})
		a.add(all)
		a.add([]metrics.SampleContainer{&arrivals.Transaction{Scenario: "s", VU: "1"}})
	}
	grpc := k.builtin.GRPCReqDuration
	transaction(
		sample(grpc, 20, "method", "Pay", "name", "/shop/Pay", "status", "0"),
		sample(grpc, 1, "status", "1"), // reflection, or a check of health, which k6 cancels
		session("name", "feed", "status", "101"),
		sample(grpc, 20, "method", "Find", "name", "/shop/Find", "status", "5", "expected_status", "0,5"),
	)
	transaction(sample(grpc, 30, "method", "Pay", "name", "/shop/Pay", "status", "14"))
	transaction(session("name", "feed", "status", "503"))
	transaction(session("name", "feed"))
	if a.refused != nil {
		t.Fatal(a.refused)
	}
	got := pointsOf(a)[100]
	for key, want := range map[string]float64{
		"grpc_reqs{name:/shop/Pay,scenario:s,status:0}":                               1,
		"grpc_reqs{name:/shop/Pay,scenario:s,status:14}":                              1,
		"grpc_req_failed.total{method:Find,name:/shop/Find,scenario:s}":               1,
		"grpc_req_failed.occurred{method:Find,name:/shop/Find,scenario:s}":            0,
		"grpc_reqs{scenario:s,status:1}":                                              1,
		"grpc_req_duration{method:Pay,name:/shop/Pay,scenario:s}":                     2,
		"grpc_req_failed.total{method:Pay,name:/shop/Pay,scenario:s}":                 2,
		"grpc_req_failed.total{scenario:s}":                                           0,
		"grpc_req_failed.occurred{method:Pay,name:/shop/Pay,scenario:s}":              1,
		"ws_sessions{name:feed,scenario:s}":                                           1,
		"ws_sessions{name:feed,scenario:s,status:503}":                                1,
		"ws_connecting{name:feed,scenario:s}":                                         3,
		"ws_failed.total{name:feed,scenario:s}":                                       3,
		"ws_failed.occurred{name:feed,scenario:s}":                                    2,
		"transactions{outcome:completed,scenario:s}":                                  1,
		"transactions{outcome:failed,scenario:s}":                                     3,
		"errors_by_class{class:gRPC Unavailable,scenario:s,where:client}":             1,
		"errors_by_class{class:HTTP 503,scenario:s,where:client}":                     1,
		"errors_by_class{class:WebSocket not opened,scenario:s,where:client}":         1,
		metric.Of(metric.Violations, "slo", slow.ID()).Key():                          1,
		metric.Of(metric.Violations, "slo", rate(metric.WebSocket.Failed).ID()).Key(): 2,
	} {
		if got[key] != want {
			t.Errorf("%s is %v, want %v", key, got[key], want)
		}
	}
	if t.Failed() {
		t.Log(got)
	}
	a.add([]metrics.SampleContainer{sample(grpc, 20)})
	if a.refused == nil || !strings.Contains(a.refused.Error(), "adds samples to grpc_req_duration") {
		t.Errorf("a script adds samples to gRPC's durations: %v", a.refused)
	}
}
