package target

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"assay/harness/observe/collect/receiver"
	"assay/harness/observe/metric"
	"assay/harness/servers/mysqld/mysqldtest"
)

// The receiver of a run accepts all pushes of the service, including that after the drain,
// and their sum is what /metrics shows.
func TestPush(t *testing.T) {
	var mu sync.Mutex
	got := map[string]float64{}
	r := receiver.New(receiver.Sinks{Frame: func(f metric.Frame) error {
		mu.Lock()
		defer mu.Unlock()
		for _, p := range f.Points {
			switch p.Kind {
			case metric.Counter:
				got[p.Series.Key()] += p.Value
			case metric.Histogram:
				got[p.Series.Key()] += float64(p.Hist.Count())
			default:
				got[p.Series.Key()] = p.Value
			}
		}
		return nil
	}}, slog.New(slog.DiscardHandler))
	mux := http.NewServeMux()
	r.Routes(mux)
	listening := httptest.NewServer(receiver.Authorize("hunter2", mux))
	defer listening.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Bearer%20hunter2")

	s := serve(t, mysqldtest.StartInMemory(t, "mariadb"), func(c *Config) { c.OTLP = listening.URL })
	const payments = 30
	atOnce(payments, func(i int) { s.pay(t, fmt.Sprint("pay-", i)) })
	shown := map[string]float64{}
	for _, sample := range []string{
		`db_query_duration_seconds_count{statement="insert"}`,
		`db_query_duration_seconds_bucket{statement="insert",le="+Inf"}`,
		`http_request_duration_seconds_count{code="201",route="POST /payments"}`,
		`gateway_duration_seconds_count{call="charge",mode="wallet",outcome="confirmed"}`,
		`go_sql_max_open_connections{db_name="target"}`,
	} {
		shown[sample] = s.metric(t, sample)
	}
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
	for series, want := range map[string]float64{
		"db_query_duration_seconds{statement:insert}":                         shown[`db_query_duration_seconds_count{statement="insert"}`],
		"http_request_duration_seconds{code:201,route:POST /payments}":        payments,
		"gateway_duration_seconds{call:charge,mode:wallet,outcome:confirmed}": payments,
		"go_sql_max_open_connections{db_name:target}":                         shown[`go_sql_max_open_connections{db_name="target"}`],
	} {
		if v, found := got[series]; !found || v != want || want == 0 {
			t.Errorf("pushed %s %v, want %v", series, v, want)
		}
	}
	for _, sample := range []string{`http_request_duration_seconds_count{code="201",route="POST /payments"}`, `gateway_duration_seconds_count{call="charge",mode="wallet",outcome="confirmed"}`} {
		if shown[sample] != payments {
			t.Errorf("%s is %v, want %d", sample, shown[sample], payments)
		}
	}
	if n, want := shown[`db_query_duration_seconds_bucket{statement="insert",le="+Inf"}`], shown[`db_query_duration_seconds_count{statement="insert"}`]; n != want {
		t.Errorf("the buckets of /metrics hold %v of %v", n, want)
	}
	if log := s.log.String(); strings.Contains(log, "hunter2") || strings.Contains(log, "push metrics") {
		t.Errorf("log: %s", log)
	}
}
