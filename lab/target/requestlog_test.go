package target

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
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
	r := httptest.NewRequest(http.MethodGet, "/payments/a", nil)
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
	l.add(r, http.StatusOK, 0) // a request that ends after the log has stopped
}
