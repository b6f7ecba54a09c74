//go:build live

package doctor

import (
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"assay.dev/assay/internal/observe/collect/service"
	"assay.dev/assay/internal/testing/budget"
)

func examine(t *testing.T, target string) Target {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	return examineTarget(t.Context(), u)
}

func garble(conn net.Conn) { _, _ = conn.Write([]byte("what?\r\n\r\n")); _ = conn.Close() }

func TestRespondingTarget(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.1)
	requests := make(chan string, 10)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests <- r.Method + " " + r.URL.Path
		_, _ = io.WriteString(w, "go_sql_open_connections 2\ngo_sql_max_open_connections 9\n")
	}))
	defer s.Close()
	got := examine(t, s.URL+"/shop/")
	if got.DNS != nil || got.Dial != nil || got.TLS != nil || got.Trust != nil || got.HTTP != nil || !got.Local || got.Status != "200 OK" ||
		got.Pool != (service.Pool{Known: true, Open: 2, Max: 9}) || got.Taken < 1 {
		t.Errorf("%+v", got)
	}
	if n := len(requests); n != 1 || <-requests != "GET /shop/metrics" {
		t.Errorf("%d requests", n)
	}
	redirecting := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, s.URL, http.StatusFound)
	}))
	defer redirecting.Close()
	if got := examine(t, redirecting.URL); got.HTTP != nil || got.Status != "302 Found" || len(requests) > 0 {
		t.Errorf("a redirect: %+v", got)
	}
}

func TestFailingTarget(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.1)
	quiet := log.New(io.Discard, "", 0)
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = quiet
	secure.StartTLS()
	defer secure.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	for name, c := range map[string]struct {
		target string
		failed func(Target) error
	}{
		"no such name":       {"http://none.invalid", func(t Target) error { return t.DNS }},
		"nobody listens":     {"http://127.0.0.1:1", func(t Target) error { return t.Dial }},
		"no such port":       {"http://127.0.0.1:99999", func(t Target) error { return t.Dial }},
		"unknown authority":  {secure.URL, func(t Target) error { return t.Trust }},
		"no TLS":             {"https://" + plain.Listener.Addr().String(), func(t Target) error { return t.TLS }},
		"hangs before TLS":   {"https://" + listen(t, hang), func(t Target) error { return t.TLS }},
		"garbage, no TLS":    {"https://" + listen(t, garble), func(t Target) error { return t.TLS }},
		"hangs":              {"http://" + listen(t, hang), func(t Target) error { return t.HTTP }},
		"garbage":            {"http://" + listen(t, garble), func(t Target) error { return t.HTTP }},
		"closes immediately": {"http://" + listen(t, func(c net.Conn) { _ = c.Close() }), func(t Target) error { return t.HTTP }},
	} {
		t.Run(name, func(t *testing.T) {
			got := examine(t, c.target)
			if c.failed(got) == nil {
				t.Errorf("%+v", got)
			}
			t.Logf("%v", c.failed(got))
			// HTTP is checked even if the certificate is not trusted.
			if name == "unknown authority" && (got.HTTP != nil || got.Status != "404 Not Found") {
				t.Errorf("%+v", got)
			}
		})
	}
}
