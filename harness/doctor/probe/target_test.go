package probe

import (
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"assay/harness/observe/collect/service"
)

// bounded is more than a look may take.
const bounded = 10 * time.Second

func lookAt(t *testing.T, target string) Target {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	found := LookAtTarget(t.Context(), u)
	if took := time.Since(start); took > bounded {
		t.Errorf("the look took %s", took)
	}
	return found
}

// listen serves connections with what do does.
func listen(t *testing.T, do func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go do(conn)
		}
	}()
	return l.Addr().String()
}

func hang(conn net.Conn) { _, _ = io.Copy(io.Discard, conn); _ = conn.Close() }

func garble(conn net.Conn) { _, _ = conn.Write([]byte("what?\r\n\r\n")); _ = conn.Close() }

func TestTargetThatAnswers(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 10)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Method + " " + r.URL.Path
		_, _ = io.WriteString(w, "go_sql_open_connections 2\ngo_sql_max_open_connections 9\n")
	}))
	defer s.Close()
	got := lookAt(t, s.URL+"/shop/")
	if got.DNS != nil || got.Dial != nil || got.TLS != nil || got.Trust != nil || got.HTTP != nil || !got.Here || got.Status != "200 OK" ||
		got.Pool != (service.Pool{Known: true, Open: 2, Max: 9}) || got.Taken < 1 {
		t.Errorf("%+v", got)
	}
	if n := len(asked); n != 1 || <-asked != "GET /shop/metrics" {
		t.Errorf("%d requests", n)
	}
	failing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, s.URL, http.StatusFound)
	}))
	defer failing.Close()
	if got := lookAt(t, failing.URL); got.HTTP != nil || got.Status != "302 Found" || len(asked) > 0 {
		t.Errorf("a redirect: %+v", got)
	}
}

func TestTargetThatDoesNot(t *testing.T) {
	t.Parallel()
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
			got := lookAt(t, c.target)
			if c.failed(got) == nil {
				t.Errorf("%+v", got)
			}
			t.Logf("%v", c.failed(got))
			// Where the certificate is not trusted, HTTP is spoken all the same.
			if name == "unknown authority" && (got.HTTP != nil || got.Status != "404 Not Found") {
				t.Errorf("%+v", got)
			}
		})
	}
}
