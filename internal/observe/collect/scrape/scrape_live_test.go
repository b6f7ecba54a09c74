//go:build live

package scrape_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"assay.dev/assay/internal/observe/collect/scrape"
	"assay.dev/assay/internal/testing/budget"
)

func TestEndpoint(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.05)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/metrics" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(exposition))
	}))
	defer server.Close()
	e := scrape.Single(scrape.New(server.URL + "/metrics"))
	defer e.Close()
	if v, err := e.Largest(t.Context(), "queue"); err != nil || v != 11 {
		t.Errorf("%g, %v", v, err)
	}
	for _, c := range []struct{ url, problem string }{
		{server.URL + "/metrics", "/metrics has no metric zebra"},
		{server.URL + "/elsewhere", "/elsewhere answers 404"},
	} {
		_, err := scrape.Single(scrape.New(c.url)).Largest(t.Context(), "zebra")
		if err == nil || !strings.Contains(err.Error(), c.problem) {
			t.Errorf("%s: %v, want %s", c.url, err, c.problem)
		}
	}
}
