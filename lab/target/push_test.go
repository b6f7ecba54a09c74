//go:build live

package target

import (
	"fmt"
	"strings"
	"testing"

	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/mysqldtest"
	"assay.dev/assay/lab/target/otlp/otlptest"
)

// The receiver of a run accepts all pushes of the service, including that after the drain,
// and their sum is what /metrics shows.
func TestPush(t *testing.T) {
	budget.CPUs(t, 0.5)
	received := otlptest.Start(t)
	s := serve(t, mysqldtest.StartInMemory(t, "mariadb"), func(c *Config) { c.OTLP = received.URL })
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
	got := received.Total()
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
	if log := s.log.String(); strings.Contains(log, otlptest.Token) || strings.Contains(log, "push metrics") {
		t.Errorf("log: %s", log)
	}
}
