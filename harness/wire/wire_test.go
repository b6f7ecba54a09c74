package wire_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"assay/harness/wire"
)

func TestFromEnvironmentRemovesTheVariables(t *testing.T) {
	if l := wire.FromEnvironment(); l != nil {
		t.Errorf("without variables the link is %v", l)
	}
	got := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got <- r.URL.Path + " " + r.Header.Get("Authorization")
	}))
	defer server.Close()
	t.Setenv(wire.EnvURL, server.URL+"/")
	t.Setenv(wire.EnvToken, "secret")
	t.Setenv(wire.EnvSource, "worker/3")
	l := wire.FromEnvironment()
	if l == nil || l.Source != "worker/3" {
		t.Fatalf("the link is %v", l)
	}
	for _, kv := range os.Environ() {
		if strings.Contains(kv, "secret") || strings.HasPrefix(kv, "ASSAY_COORDINATOR") {
			t.Errorf("scripts would see %s", kv)
		}
	}
	if err := l.Frames(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if want := wire.PathMetrics + " Bearer secret"; <-got != want {
		t.Errorf("the coordinator did not get %s", want)
	}
}

// Only responses that may change on a retry are not refusals.
func TestAnswers(t *testing.T) {
	for status, want := range map[int]struct{ fails, refused bool }{
		200: {}, 204: {}, 400: {true, true}, 401: {true, true}, 410: {true, true}, 413: {true, true}, 422: {true, true},
		429: {fails: true}, 500: {fails: true}, 503: {fails: true},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			if status != 204 {
				_, _ = io.WriteString(w, "the reason\n")
			}
		}))
		err := wire.New(server.URL, "secret", "worker/0").Frames(t.Context(), []byte("frames"))
		server.Close()
		var refused *wire.RefusedError
		if (err != nil) != want.fails || errors.As(err, &refused) != want.refused {
			t.Errorf("%d: %v", status, err)
		}
		if want.refused && (refused.Status != status || refused.Reason != "the reason") {
			t.Errorf("%d: %v", status, err)
		}
	}
	gone := httptest.NewServer(nil)
	gone.Close()
	err := wire.New(gone.URL, "secret", "worker/0").Frames(t.Context(), nil)
	var refused *wire.RefusedError
	if err == nil || errors.As(err, &refused) || strings.Contains(err.Error(), "secret") {
		t.Errorf("no coordinator: %v", err)
	}
}

func TestMessages(t *testing.T) {
	type message struct {
		path, kind, source, sequence, body string
	}
	got := make(chan message, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // a short body differs
		got <- message{r.URL.Path, r.Header.Get("Content-Type"), r.Header.Get(wire.HeaderSource), r.Header.Get(wire.HeaderSequence), string(body)}
		if r.URL.Path == wire.PathStart {
			_, _ = io.WriteString(w, `{"t0":"2026-11-20T23:54:40Z","setup":{"a":1}}`)
		}
	}))
	defer server.Close()
	l := wire.New(server.URL, "secret", "worker/1")
	var start wire.StartResponse
	for _, c := range []struct {
		send func() error
		want message
	}{
		{
			func() error { return l.Ready(t.Context(), map[string]string{"m": "trend"}) },
			message{wire.PathReady, "application/json", "", "", `{"source":"worker/1","metrics":{"m":"trend"}}`},
		},
		{
			func() (err error) { start, err = l.Start(t.Context(), json.RawMessage(`{"b":2}`)); return err },
			message{wire.PathStart, "application/json", "", "", `{"source":"worker/1","setup":{"b":2}}`},
		},
		{
			func() (err error) { _, err = l.Start(t.Context(), nil); return err },
			message{wire.PathStart, "application/json", "", "", `{"source":"worker/1"}`},
		},
		{
			func() error { return l.Frames(t.Context(), []byte("frames")) },
			message{wire.PathMetrics, "application/x-protobuf", "", "", "frames"},
		},
		{
			func() error { return l.Acknowledged(t.Context(), 7, []byte("entries")) },
			message{wire.PathAcknowledged, "text/plain", "worker/1", "7", "entries"},
		},
	} {
		if err := c.send(); err != nil {
			t.Error(err)
		}
		if m := <-got; m != c.want {
			t.Errorf("sent %+v, want %+v", m, c.want)
		}
	}
	if !start.T0.Equal(time.Date(2026, 11, 20, 23, 54, 40, 0, time.UTC)) || string(start.Setup) != `{"a":1}` {
		t.Errorf("start signal %+v", start)
	}
}

// The wait for the start ends with ctx or with a malformed response.
func TestStartThatDoesNotCome(t *testing.T) {
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	defer silent.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := wire.New(silent.URL, "secret", "worker/0").Start(ctx, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting without end: %v", err)
	}
	malformed := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "go!") }))
	defer malformed.Close()
	if _, err := wire.New(malformed.URL, "secret", "worker/0").Start(t.Context(), nil); err == nil {
		t.Error("a malformed answer was taken for the start")
	}
}
