//go:build live

package target

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"assay.dev/assay/internal/servers/mysqld"
)

// Each payment and event has one line, by which it is found; what monitors the service has
// none.
func testRequestsAreLogged(t *testing.T, server *mysqld.Server) {
	s := serve(t, server, func(c *Config) { c.LogRequests = true })
	send := func(method, path, body, traceparent string) {
		req, err := http.NewRequestWithContext(t.Context(), method, s.base+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("traceparent", traceparent)
		res, err := s.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
	}
	send("POST", "/payments", paymentBody("a", "a", "wallet", 101), traced)
	send("GET", "/payments/a", "", strings.Replace(traced, "4bf9", "0001", 1))
	send("GET", "/payments/secret", "", "garbage")
	send("GET", "/?run_id=run&id=e&name=n&value=1", "", strings.Replace(traced, "4bf9", "0002", 1))
	send("POST", "/events", "{", strings.Replace(traced, "4bf9", "0003", 1))
	send("GET", "/metrics", "", traced)
	send("GET", "/nowhere", "", traced)
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(s.log.String()) {
		if strings.Contains(line, "msg=request ") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	want := []string{
		"method=POST path=/payments status=201 trace_id=" + itsID,
		"method=GET path=/payments/{id} status=200 trace_id=0001" + itsID[4:],
		"method=GET path=/payments/{id} status=404",
		"method=GET path=/ status=200 trace_id=0002" + itsID[4:],
		"method=POST path=/events status=400 trace_id=0003" + itsID[4:],
	}
	if len(lines) != len(want) {
		t.Fatalf("%d lines, want %d:\n%s", len(lines), len(want), strings.Join(lines, "\n"))
	}
	for i, line := range lines {
		_, text, _ := strings.Cut(line, "msg=request ")
		before, rest, _ := strings.Cut(text, " duration_ms=")
		took, after, _ := strings.Cut(rest, " ")
		ms, err := strconv.ParseFloat(took, 64)
		if got := strings.TrimSpace(before + " " + after); got != want[i] || err != nil || ms <= 0 {
			t.Errorf("%s, want %s", line, want[i])
		}
	}
	quiet := serve(t, server, func(*Config) {})
	if code, _ := quiet.pay(t, "b"); code != http.StatusCreated {
		t.Error(code)
	}
	if err := quiet.stop(); err != nil || strings.Contains(quiet.log.String(), "msg=request ") {
		t.Errorf("requests are logged without the flag: %v\n%s", err, quiet.log)
	}
}
