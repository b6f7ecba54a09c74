package target

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"assay/harness/servers/mysqld/mysqldtest"
)

const (
	traced = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	itsID  = "4bf92f3577b34da6a3ce929d0e0e4736"
)

// As W3C Trace Context, section 3.2, has it.
func TestTraceID(t *testing.T) {
	for name, c := range map[string]struct {
		header []string
		want   string
	}{
		"none":                    {nil, ""},
		"valid":                   {[]string{traced}, itsID},
		"not sampled":             {[]string{strings.TrimSuffix(traced, "1") + "0"}, itsID},
		"a later version":         {[]string{"cc" + traced[2:] + "-what-will-be"}, itsID},
		"several":                 {[]string{traced, traced}, ""},
		"longer than is kept":     {[]string{"cc" + traced[2:] + "-" + strings.Repeat("x", maxTraceparent)}, ""},
		"the invalid version":     {[]string{"ff" + traced[2:]}, ""},
		"more than version 00":    {[]string{traced + "-01"}, ""},
		"trace id of zeros":       {[]string{"00-" + strings.Repeat("0", 32) + "-00f067aa0ba902b7-01"}, ""},
		"parent id of zeros":      {[]string{"00-" + itsID + "-" + strings.Repeat("0", 16) + "-01"}, ""},
		"upper case":              {[]string{strings.ToUpper(traced)}, ""},
		"a trace id that is long": {[]string{"00-" + itsID + "ab-00f067aa0ba902b7-01"}, ""},
		"no hex":                  {[]string{"00-" + strings.Replace(itsID, "4", "g", 1) + "-00f067aa0ba902b7-01"}, ""},
		"truncated":               {[]string{traced[:40]}, ""},
		"a line break":            {[]string{traced + "\n"}, ""},
	} {
		if got := traceID(single(c.header)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// Each payment and event has one line, by which it is found; what monitors the service has
// none.
func TestRequestsAreLogged(t *testing.T) {
	t.Parallel()
	server := mysqldtest.StartInMemory(t, "mariadb")
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

// stuck is a log whose reader does not read until it is released.
type stuck struct {
	slog.Handler
	released chan struct{}
}

func (s stuck) Handle(ctx context.Context, r slog.Record) error {
	<-s.released
	return s.Handler.Handle(ctx, r)
}

// No request waits for its line. What is left out is said, and the rest is JSON.
func TestRequestLogIsBounded(t *testing.T) {
	var out bytes.Buffer
	to := stuck{slog.NewJSONHandler(&out, nil), make(chan struct{})}
	l := startRequestLog(to)
	r := httptest.NewRequest("GET", "/payments/a", nil)
	r.Pattern = "GET /payments/{id}"
	r.Header.Set("traceparent", traced)
	const more = 100
	for range maxLines + more {
		l.add(r, http.StatusOK, 1500*time.Microsecond)
	}
	close(to.released)
	l.stop()
	lines, dropped := 0, 0
	for text := range strings.Lines(out.String()) {
		var line struct {
			Method, Path string
			Status       int
			DurationMs   float64 `json:"duration_ms"`
			TraceID      string  `json:"trace_id"`
			Dropped      int     `json:"dropped_lines"`
		}
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(line.Method, line.Path, line.Status, line.DurationMs, line.TraceID); got != fmt.Sprint("GET", "/payments/{id}", 200, 1.5, itsID) {
			t.Fatal(text)
		}
		lines, dropped = lines+1, dropped+line.Dropped
	}
	if lines+dropped != maxLines+more || dropped < more-1 {
		t.Errorf("%d lines, %d dropped", lines, dropped)
	}
	l.add(r, http.StatusOK, 0) // of a request that ends after the log
}
