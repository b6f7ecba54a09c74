package k6

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"go.k6.io/k6/v2/lib/netext/httpext"
	"go.k6.io/k6/v2/metrics"
	"gopkg.in/guregu/null.v3"

	"assay.dev/assay/internal/load/arrivals"
	"assay.dev/assay/internal/load/sql"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
)

// failures makes requests of a VU, one per transaction, with what a script says of them.
type failures struct {
	k6Metrics
	*aggregate
	t0 time.Time
}

func newFailures(expected spec.Expected) failures {
	f := failures{newK6Metrics(), newAggregate(Session{Run: "r", Flows: []Flow{{Scenario: "s", Expected: expected}}}), time.Unix(100, 0)}
	f.aggregate.start(f.t0, f.t0)
	return f
}

func (f failures) tags(tags ...string) *metrics.TagSet {
	set := f.registry.RootTagSet().With(arrivals.VUTag, "1").With("scenario", "s")
	for i := 0; i < len(tags); i += 2 {
		set = set.With(tags[i], tags[i+1])
	}
	return set
}

func (f failures) sample(of *metrics.Metric, value float64, tags ...string) metrics.Sample {
	return metrics.Sample{TimeSeries: metrics.TimeSeries{Metric: of, Tags: f.tags(tags...)}, Time: f.t0.Add(time.Second), Value: value}
}

// http is a request of which the script's callback says whether it has failed; null: it has
// no callback.
func (f failures) http(status string, callback null.Bool) metrics.SampleContainer {
	tags := metrics.TagsAndMeta{Tags: f.tags("status", status)}
	trail := &httpext.Trail{EndTime: f.t0.Add(time.Second), Failed: callback}
	trail.SaveSamples(f.builtin, &tags)
	if callback.Valid {
		trail.Samples = append(trail.Samples, f.sample(f.builtin.HTTPReqFailed, boolToFloat(callback.Bool), "status", status))
	}
	return trail
}

func (f failures) transaction(all ...metrics.SampleContainer) {
	f.add([]metrics.SampleContainer{&arrivals.TransactionStart{Scenario: "s", VU: "1"}})
	f.add(all)
	f.add([]metrics.SampleContainer{&arrivals.Transaction{Scenario: "s", VU: "1"}})
}

// What was on the wire decides whether a request has failed, whatever its script says of it,
// unless the profile expects it. What the script excuses beyond that is counted.
func TestWireDecidesFailures(t *testing.T) {
	none, excused, failed := null.Bool{}, null.BoolFrom(false), null.BoolFrom(true)
	http := func(status string, callback null.Bool) func(failures) metrics.SampleContainer {
		return func(f failures) metrics.SampleContainer { return f.http(status, callback) }
	}
	grpc := func(status, expected string) func(failures) metrics.SampleContainer {
		return func(f failures) metrics.SampleContainer {
			return f.sample(f.builtin.GRPCReqDuration, 20, "method", "Pay", "status", status, "expected_status", expected)
		}
	}
	health := func(status string) func(failures) metrics.SampleContainer {
		return func(f failures) metrics.SampleContainer {
			return f.sample(f.builtin.GRPCReqDuration, 20, "status", status)
		}
	}
	ws := func(tags ...string) func(failures) metrics.SampleContainer {
		return func(f failures) metrics.SampleContainer {
			return metrics.ConnectedSamples{Samples: []metrics.Sample{f.sample(f.builtin.WSSessions, 1, tags...), f.sample(f.builtin.WSConnecting, 5, tags...)}}
		}
	}
	profile := spec.Expected{HTTP: []int{0, 503, 404}, GRPC: []int{14}, WebSocket: []int{0, 403}}
	for _, c := range []struct {
		name     string
		of       *metric.Protocol
		request  func(failures) metrics.SampleContainer
		expected spec.Expected
		fails    bool
		by       string // who excuses it
	}{
		{"an answer", metric.HTTP, http("200", excused), spec.Expected{}, false, ""},
		{"an answer without a callback", metric.HTTP, http("302", none), spec.Expected{}, false, ""},
		{"an answer that the callback calls a failure", metric.HTTP, http("200", failed), spec.Expected{}, true, ""},
		{"the same, whatever the profile expects", metric.HTTP, http("200", failed), profile, true, ""},
		{"HTTP 500 without a callback", metric.HTTP, http("500", none), spec.Expected{}, true, ""},
		{"HTTP 500, expected", metric.HTTP, http("500", excused), spec.Expected{}, true, ""},
		{"HTTP 599, expected", metric.HTTP, http("599", excused), spec.Expected{}, true, ""},
		{"a status that is none of HTTP", metric.HTTP, http("777", excused), spec.Expected{}, true, ""},
		{"no answer without a callback", metric.HTTP, http("0", none), spec.Expected{}, true, ""},
		{"no answer, expected", metric.HTTP, http("0", excused), spec.Expected{}, true, ""},
		{"HTTP 404", metric.HTTP, http("404", failed), spec.Expected{}, true, ""},
		{"HTTP 404 without a callback", metric.HTTP, http("404", none), spec.Expected{}, false, metric.ByScript},
		{"HTTP 404, expected", metric.HTTP, http("404", excused), spec.Expected{}, false, metric.ByScript},
		{"HTTP 503 that the profile expects", metric.HTTP, http("503", failed), profile, false, metric.ByProfile},
		{"HTTP 500 that the profile does not", metric.HTTP, http("500", excused), profile, true, ""},
		{"no answer that the profile expects", metric.HTTP, http("0", none), profile, false, metric.ByProfile},
		{"HTTP 404 that both expect", metric.HTTP, http("404", excused), profile, false, metric.ByProfile},
		{"gRPC OK", metric.GRPC, grpc("0", ""), spec.Expected{}, false, ""},
		{"gRPC OK that the script does not expect", metric.GRPC, grpc("0", "5"), spec.Expected{}, true, ""},
		{"gRPC NOT_FOUND", metric.GRPC, grpc("5", ""), spec.Expected{}, true, ""},
		{"gRPC NOT_FOUND, expected", metric.GRPC, grpc("5", "0,5"), spec.Expected{}, false, metric.ByScript},
		{"gRPC CANCELLED, expected", metric.GRPC, grpc("1", "0,1"), spec.Expected{}, true, ""},
		{"gRPC UNKNOWN, expected", metric.GRPC, grpc("2", "0,2"), spec.Expected{}, true, ""},
		{"gRPC DEADLINE_EXCEEDED, expected", metric.GRPC, grpc("4", "0,4"), spec.Expected{}, true, ""},
		{"gRPC INTERNAL, expected", metric.GRPC, grpc("13", "0,13"), spec.Expected{}, true, ""},
		{"a code that gRPC does not have, expected", metric.GRPC, grpc("99", "0,99"), spec.Expected{}, true, ""},
		{"gRPC UNAVAILABLE that the profile expects", metric.GRPC, grpc("14", ""), profile, false, metric.ByProfile},
		{"a check of health that is not answered", nil, health("14"), spec.Expected{}, true, ""},
		{"a check of health", nil, health("0"), spec.Expected{}, false, ""},
		{"reflection, which k6 cancels", nil, health("1"), spec.Expected{}, false, ""},
		{"reflection in a version that the server does not have", nil, health("12"), spec.Expected{}, false, ""},
		{"a check of health that the profile expects to fail", nil, health("14"), profile, false, metric.ByProfile},
		{"an opened WebSocket", metric.WebSocket, ws("status", "101"), spec.Expected{}, false, ""},
		{"a refused WebSocket", metric.WebSocket, ws("status", "500"), spec.Expected{}, true, ""},
		{"a refused WebSocket, expected", metric.WebSocket, ws("status", "403", "expected_status", "101,403"), spec.Expected{}, true, ""},
		{"a WebSocket without an answer, expected", metric.WebSocket, ws("expected_status", "101,0"), spec.Expected{}, true, ""},
		{"a refused WebSocket that the profile expects", metric.WebSocket, ws("status", "403"), profile, false, metric.ByProfile},
		{"a WebSocket without an answer that the profile expects", metric.WebSocket, ws(), profile, false, metric.ByProfile},
	} {
		f := newFailures(c.expected)
		f.transaction(c.request(f))
		sums, counts := pointsOf(f.aggregate), map[string]float64{}
		for _, points := range sums {
			for key, n := range points {
				counts[key] += n
			}
		}
		outcome := metric.Completed
		if c.fails {
			outcome = metric.Failed
		}
		if counts["transactions{outcome:"+outcome+",scenario:s}"] != 1 {
			t.Errorf("%s: its transaction has not %s: %v", c.name, outcome, counts)
		}
		sum := func(name string) (n float64) { // over all classes
			for key, of := range counts {
				if strings.HasPrefix(key, name+"{") {
					n += of
				}
			}
			return n
		}
		if c.of == nil { // k6's own calls are in no rate
			c.of = metric.GRPC
			if n := sum(c.of.Failed + ".total"); n != 0 {
				t.Errorf("%s: counted %g times", c.name, n)
			}
		} else if total, n := sum(c.of.Failed+".total"), sum(c.of.Failed+".occurred"); total != 1 || n != boolToFloat(c.fails) {
			t.Errorf("%s: %s is %g of %g", c.name, c.of.Failed, n, total)
		}
		found := map[string]float64{metric.ByScript: 0, metric.ByProfile: 0}
		for _, s := range f.index.series {
			if s.Name == metric.ExcusedRequests {
				found[s.Label("by")] += counts[s.Key()]
			}
		}
		want := map[string]float64{metric.ByScript: 0, metric.ByProfile: 0}
		if c.by != "" {
			want[c.by] = 1
		}
		if fmt.Sprint(found) != fmt.Sprint(want) {
			t.Errorf("%s: excused %v, want %v", c.name, found, want)
		}
	}
}

// Transactions that completed although their script caught an error, or sent nothing, and
// requests that belong to none are counted.
func TestWhatHasNoOutcomeIsCounted(t *testing.T) {
	f := newFailures(spec.Expected{})
	statements := &metrics.Metric{Name: sql.DurationMetric, Type: metrics.Trend, Contains: metrics.Time}
	errors := &metrics.Metric{Name: sql.ErrorsMetric, Type: metrics.Counter}
	f.add([]metrics.SampleContainer{f.http("200", null.BoolFrom(false)), f.http("401", null.BoolFrom(true))}) // in setup()
	f.transaction(f.http("200", null.BoolFrom(false)))
	f.transaction(f.sample(statements, 3))
	f.transaction(f.sample(statements, 3), f.sample(errors, 1, "class", "deadlock"), f.sample(statements, 3))
	f.transaction(f.http("500", null.Bool{}), f.sample(errors, 1, "class", "deadlock"))
	f.transaction(sql.Reported{Tags: f.tags()})
	f.transaction(sql.Reported{Tags: f.tags(), Class: "deadlock"})
	f.transaction()
	socket := metrics.ConnectedSamples{Samples: []metrics.Sample{f.sample(f.builtin.WSSessions, 1, "status", "101"), f.sample(f.builtin.WSConnecting, 5, "status", "101")}}
	f.transaction(socket, f.sample(f.builtin.WSMessagesSent, 1), f.sample(f.builtin.WSMessagesReceived, 1))
	f.transaction(socket, f.sample(f.builtin.WSMessagesSent, 1))
	got := map[string]float64{}
	for _, points := range pointsOf(f.aggregate) {
		for key, n := range points {
			got[key] += n
		}
	}
	for key, want := range map[string]float64{
		"transactions{outcome:completed,scenario:s}":                         8,
		"transactions{outcome:failed,scenario:s}":                            1,
		"excused_transactions{reason:" + metric.CaughtError + ",scenario:s}": 2,
		"excused_transactions{reason:" + metric.NoRequest + ",scenario:s}":   1,
		"excused_transactions{reason:" + metric.NoMessage + ",scenario:s}":   1,
		"outside_requests{outcome:completed}":                                1,
		"outside_requests{outcome:failed}":                                   1,
	} {
		if got[key] != want {
			t.Errorf("%s is %v, want %v", key, got[key], want)
		}
	}
	if t.Failed() {
		t.Log(got)
	}
}

// A connection that could not be opened fails its transaction, although the module that wanted
// it reports no request.
func TestUnopenedConnectionsFail(t *testing.T) {
	f := newFailures(spec.Expected{})
	f.transaction(f.http("200", null.BoolFrom(false)), arrivals.Wait{Kind: arrivals.AtConnection, VU: "1", Failed: "dial tcp 127.0.0.1:1: connect: connection refused"})
	f.transaction(f.http("200", null.BoolFrom(false)))
	f.add([]metrics.SampleContainer{arrivals.Wait{Kind: arrivals.AtConnection, VU: "1", Failed: "refused"}}) // between transactions
	got := map[string]float64{}
	for _, points := range pointsOf(f.aggregate) {
		for key, n := range points {
			got[key] += n
		}
	}
	for key, want := range map[string]float64{
		"transactions{outcome:completed,scenario:s}": 1, "transactions{outcome:failed,scenario:s}": 1,
		"errors_by_class{class:connection refused,scenario:s,where:client}": 1,
	} {
		if got[key] != want {
			t.Errorf("%s is %v, want %v", key, got[key], want)
		}
	}
}

// A script that says that its requests are another VU's ends the run: it would hide failures
// of its transactions.
func TestRequestsOfAnotherVUAreRefused(t *testing.T) {
	f := newFailures(spec.Expected{})
	f.transaction(f.http("500", null.BoolFrom(true)))
	if f.refused != nil {
		t.Fatal(f.refused)
	}
	f.add([]metrics.SampleContainer{&arrivals.TransactionStart{Scenario: "s", VU: "2"}, f.http("500", null.BoolFrom(true))})
	if f.refused == nil {
		t.Error("a request of VU 1, which has no transaction, is counted")
	}
}
