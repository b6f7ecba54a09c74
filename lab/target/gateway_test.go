//go:build live

package target

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"assay.dev/assay/internal/servers/mysqld"
)

// A payment over HTTP carries the trace of its request to the gateway. The gateway's first
// answer is an error, after which the call is repeated: the metrics count two calls of one
// payment.
func testGatewayOverHTTP(t *testing.T, server *mysqld.Server) {
	const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	var calls atomic.Int64
	bank := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("traceparent"); got != trace {
			t.Errorf("trace %q", got)
		}
		if calls.Add(1) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer bank.Close()
	s := serve(t, server, func(c *Config) {
		c.Gateway.Retries = 2
		if err := c.Gateway.URL.Set(bank.URL); err != nil {
			t.Error(err)
		}
	})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.base+"/payments", strings.NewReader(paymentBody("p", "p", "wallet", 5)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("traceparent", trace)
	res, err := s.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusCreated || calls.Load() != 2 {
		t.Errorf("status %d after %d calls", res.StatusCode, calls.Load())
	}
	if _, stored := s.do(t, "GET", "/payments/p", ""); stored["state"] != "CONFIRMED" || stored["gateway_status"] != "DEBITED" {
		t.Errorf("stored %v", stored)
	}
	for sample, want := range map[string]float64{
		`gateway_payments_total{mode="wallet",outcome="confirmed"}`:                       1,
		`gateway_duration_seconds_count{call="charge",mode="wallet",outcome="error"}`:     1,
		`gateway_duration_seconds_count{call="charge",mode="wallet",outcome="confirmed"}`: 1,
	} {
		if got := s.metric(t, sample); got != want {
			t.Errorf("%s is %g, want %g", sample, got, want)
		}
	}
}
