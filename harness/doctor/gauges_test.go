package doctor

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"assay/harness/hint"
	"assay/harness/observe/metric"
	"assay/harness/spec"
)

// queueLoad is a load whose profile has queue_depth read, and judges it.
func queueLoad(g spec.Gauge, judged bool) Load {
	p := spec.Profile{Name: "p", Gauges: map[string]spec.Gauge{"queue_depth": g}}
	if judged {
		p.SLOs = []spec.SLO{{Metric: "queue_depth", Aggregate: spec.Max, Operator: "<", Bound: 1}}
	}
	return Load{Profile: p}
}

// A gauge of a profile is read before the run, at the target or at the profile's URL; if
// an SLO judges it, it must be readable.
func TestGauges(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, "# TYPE queue gauge\nqueue{of=%q} 3\n", r.URL.Path)
	}))
	defer server.Close()
	const elsewhere = "http://service.invalid/metrics"
	for name, c := range map[string]struct {
		gauge  spec.Gauge
		judged bool
		target string
		state  State
		words  string
	}{
		"at the target":       {spec.Gauge{Metric: `queue{of="/metrics"}`}, true, server.URL, OK, ""},
		"at a URL":            {spec.Gauge{Metric: `queue{of="/own"}`, URL: server.URL + "/own"}, true, "", OK, ""},
		"missing":             {spec.Gauge{Metric: "queues"}, true, server.URL, Lacking, "queue_depth: " + server.URL + "/metrics has no metric queues"},
		"missing, not judged": {spec.Gauge{Metric: "queues"}, false, server.URL, Warning, "has no metric queues"},
		"of another label":    {spec.Gauge{Metric: `queue{of="x"}`}, true, server.URL, Lacking, "has no metric queue{of:x}"},
		"on a host not named": {spec.Gauge{Metric: "queue", URL: elsewhere}, true, server.URL, Lacking, "neither loopback nor the target's host"},
		"nobody there":        {spec.Gauge{Metric: "queue", URL: "http://127.0.0.1:1/metrics"}, true, server.URL, Lacking, "127.0.0.1:1"},
	} {
		t.Run(name, func(t *testing.T) {
			s := Subject{Loads: []Load{queueLoad(c.gauge, c.judged)}, Target: c.target}
			all := s.gaugesFindings(s.examineGauges(t.Context()))
			if len(all) != 1 {
				t.Fatalf("%+v", all)
			}
			f := all[0]
			if f.Check != CheckGauges || f.Profile != "p" || f.State != c.state || !strings.Contains(f.Why, c.words) || (f.State != OK) != strings.Contains(f.Remedy, "gauges.queue_depth") {
				t.Errorf("%+v", f)
			}
		})
	}
	// Before the local stack is up the address of its metrics is unknown.
	s := Subject{Loads: []Load{queueLoad(spec.Gauge{Metric: "queue"}, true)}}
	if all := s.examineGauges(t.Context()); len(all) > 0 {
		t.Errorf("%s is read", all[0].metric)
	}
	// A gauge may be read from any host that load may be sent to.
	s = Subject{Loads: []Load{queueLoad(spec.Gauge{Metric: "queue", URL: elsewhere}, true)}, AllowHosts: []string{"service.invalid"}}
	if all := s.examineGauges(t.Context()); len(all) != 1 || all[0].err == nil || strings.Contains(all[0].err.Error(), "neither loopback") {
		t.Errorf("%+v", all)
	}
}

// Unreadable lags have their own check and remedy, or the hint of their error.
func TestReadersFindings(t *testing.T) {
	judges := func(name, metric string) Load {
		return Load{Profile: spec.Profile{Name: name, SLOs: []spec.SLO{{Metric: metric, Aggregate: spec.Max, Operator: "<", Bound: 1}}}}
	}
	no := errors.New("refused")
	for name, c := range map[string]struct {
		subject Subject
		results []*gaugeResult
		state   State
		words   string
		remedy  string
	}{
		"no replica named":   {Subject{Loads: []Load{judges("a", "x"), judges("b", metric.ReplicaLag)}}, nil, Lacking, "profile b judges replica_lag, and no replica is named", "name each with --db-reader, like --db-reader 'user@tcp(127.0.0.1:3307)/'"},
		"replicas":           {Subject{Loads: []Load{judges("b", metric.ReplicaLag)}, Readers: []string{"r"}}, []*gaugeResult{{metric: metric.ReplicaLag}}, OK, "", ""},
		"a replica, judged":  {Subject{Loads: []Load{judges("b", metric.ReplicaLag)}, Readers: []string{"r"}}, []*gaugeResult{{metric: metric.ReplicaLag, err: no}}, Lacking, "refused", "check that it is running, and its DSN, query or metric"},
		"a replica, watched": {Subject{Loads: []Load{judges("a", "x")}, Readers: []string{"r"}}, []*gaugeResult{{metric: metric.ReplicaLag, err: no}}, Warning, "refused", "check that it is running, and its DSN, query or metric"},
		"with a hint":        {Subject{Loads: []Load{judges("a", "x")}}, []*gaugeResult{{metric: metric.BinlogReaderLag, profile: "a", err: hint.With(no, "do it")}}, Warning, "refused", "do it"},
		"judged by another":  {Subject{Loads: []Load{judges("a", metric.BinlogReaderLag), judges("b", "x")}}, []*gaugeResult{{metric: metric.BinlogReaderLag, profile: "b", err: no}}, Warning, "refused", "check that it is running, and its DSN, query or metric"},
		"judged by this one": {Subject{Loads: []Load{judges("a", metric.BinlogReaderLag), judges("b", "x")}}, []*gaugeResult{{metric: metric.BinlogReaderLag, profile: "a", err: no}}, Lacking, "refused", "check that it is running, and its DSN, query or metric"},
	} {
		t.Run(name, func(t *testing.T) {
			all := c.subject.gaugesFindings(c.results)
			if len(all) != 1 || all[0].Check != CheckReaders || all[0].State != c.state || all[0].Why != c.words || all[0].Remedy != c.remedy {
				t.Errorf("%+v", all)
			}
		})
	}
}

// A consumer group that cannot be read is found before the run, and stops it only if its
// lag is judged.
func TestConsumerIsExamined(t *testing.T) {
	t.Parallel()
	p := spec.Profile{Name: "p", Consumer: &spec.Consumer{Brokers: []string{"127.0.0.1:1"}, Group: "g", Topic: "t"}}
	for state, slos := range map[State][]spec.SLO{
		Warning: nil,
		Lacking: {{Metric: metric.ConsumerLag, Aggregate: spec.Max, Operator: "<", Bound: 1}},
	} {
		p.SLOs = slos
		s := Subject{Loads: []Load{{Profile: p}}}
		all := s.gaugesFindings(s.examineGauges(t.Context()))
		if len(all) != 1 || all[0].Check != CheckGauges || all[0].State != state || !strings.Contains(all[0].Why, "connection refused") || !strings.Contains(all[0].Remedy, "check that the broker is up") {
			t.Errorf("%+v", all)
		}
	}
}
