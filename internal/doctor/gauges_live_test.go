//go:build live

package doctor

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/budget"
)

// queueLoad is a load whose profile has queue_depth read, and judges it.
func queueLoad(g spec.Gauge, judged bool) Load {
	p := spec.Profile{Name: "p", Gauges: map[string]spec.Gauge{"queue_depth": g}}
	if judged {
		p.Flows = []spec.Flow{{SLOs: []spec.SLO{{Metric: "queue_depth", Aggregate: spec.Max, Operator: "<", Bound: 1}}}}
	}
	return Load{Profile: p}
}

// A gauge of a profile is read before the run, at the target or at the profile's URL; if
// an SLO judges it, it must be readable.
func TestGauges(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.05)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/malformed" {
			_, _ = fmt.Fprint(w, "# TYPE queue gauge\n{\"queue\"=\"a\"}1")
			return
		}
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
		"malformed":           {spec.Gauge{Metric: "queue", URL: server.URL + "/malformed"}, false, "", Warning, "scrape metrics: text format parsing error in line 2: invalid metric name"},
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
