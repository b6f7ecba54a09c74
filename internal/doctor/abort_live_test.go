//go:build live

package doctor

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/budget"
)

// A condition on the service or on a neighbour that could not be read refuses the run: both are read once, as a run would.
func TestAbortOnServiceAndNeighbour(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.05)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/metrics":
			_, _ = fmt.Fprintln(w, "go_sql_wait_count_total{db_name=\"shop\"} 3\nhttp_requests_total{code=\"200\"} 5")
		case "/health":
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	neighbour := func(n spec.Neighbour) spec.Abort { return spec.Abort{Metric: "orders", Neighbour: &n} }
	for name, c := range map[string]struct {
		abort  spec.Abort
		target string
		state  State // empty: no finding
		words  string
	}{
		"pool waits":          {spec.Abort{Metric: metric.ServicePoolWaits}, server.URL, OK, ""},
		"wait time":           {spec.Abort{Metric: metric.ServicePoolWaitTime}, server.URL, Lacking, "aborts on service_pool_wait_time, which cannot be watched: " + server.URL + "/metrics has no metric"},
		"no metrics":          {spec.Abort{Metric: metric.ServicePoolWaits}, server.URL + "/nothing", Lacking, "answers 404"},
		"no target yet":       {spec.Abort{Metric: metric.ServicePoolWaits}, "", "", ""},
		"counters":            {neighbour(spec.Neighbour{URL: server.URL + "/metrics", Errors: `http_requests_total{code=~"5.."}`, Total: "http_requests_total"}), "", OK, ""},
		"no such counter":     {neighbour(spec.Neighbour{URL: server.URL + "/metrics", Errors: "errors_total", Total: "http_requests_total"}), "", Lacking, "has no metric errors_total"},
		"health":              {neighbour(spec.Neighbour{URL: server.URL + "/health", Timeout: time.Minute}), "", OK, ""},
		"bad health":          {neighbour(spec.Neighbour{URL: server.URL + "/other", Timeout: time.Minute}), "", Lacking, "profile p aborts on orders, which cannot be watched: its health is bad before the load: it answers 404"},
		"checked with gauges": {spec.Abort{Metric: "waiting", Gauge: &spec.Gauge{Metric: "jobs"}}, server.URL, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := Subject{Target: c.target, Loads: []Load{aborting(c.abort)}}
			all := s.abortFindings(observations{aborts: s.examineAborts(t.Context())})
			if c.state == "" {
				if len(all) > 0 {
					t.Errorf("%+v", all)
				}
				return
			}
			if len(all) != 1 || all[0].State != c.state || !strings.Contains(all[0].Why, c.words) || (c.state == OK) != (all[0].Remedy == "") {
				t.Errorf("%+v", all)
			}
		})
	}
}
