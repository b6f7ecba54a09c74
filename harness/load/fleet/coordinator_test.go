package fleet_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"assay/harness/load/fleet"
	"assay/harness/observe/metric"
	"assay/harness/wire"
)

func anyMetrics(map[string]string) error { return nil }

// coordinate serves a coordinator and returns it, with a function that makes the links
// of its workers.
func coordinate(t *testing.T, workers int, check func(map[string]string) error) (*fleet.Coordinator, func(i int) *wire.Link) {
	t.Helper()
	c := fleet.NewCoordinator(workers, check)
	mux := http.NewServeMux()
	c.Routes(mux)
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return c, func(i int) *wire.Link { return wire.New(s.URL, "", metric.WorkerSource(i)) }
}

type started struct {
	t0    time.Time
	setup string
	err   error
}

// wait lets a worker wait for the start.
func wait(ctx context.Context, l *wire.Link, setup string) <-chan started {
	done := make(chan started, 1)
	go func() {
		g, err := l.Start(ctx, json.RawMessage(setup))
		done <- started{g.T0, string(g.Setup), err}
	}()
	return done
}

// All workers start at one whole second, with time to prepare, and with the result of
// the worker that ran setup().
func TestBarrier(t *testing.T) {
	c, worker := coordinate(t, 3, anyMetrics)
	first := wait(t.Context(), worker(0), `{"token":"a"}`)
	// A worker that connects again while it waits is still one worker.
	impatient, leave := context.WithCancel(t.Context())
	gone := wait(impatient, worker(1), "")
	time.Sleep(50 * time.Millisecond)
	leave()
	if got := <-gone; got.err == nil {
		t.Error("started without the others")
	}
	second := wait(t.Context(), worker(1), "")
	select {
	case got := <-first:
		t.Fatalf("started before all workers were ready: %+v", got)
	case got := <-second:
		t.Fatalf("started before all workers were ready: %+v", got)
	case <-time.After(100 * time.Millisecond):
	}
	before := time.Now()
	third := wait(t.Context(), worker(2), "")
	t0, err := c.AwaitStart(t.Context())
	most, least := t0.Sub(before), time.Until(t0) // ahead of when all were ready
	if err != nil || t0.Nanosecond() != 0 || most < 1500*time.Millisecond || least > 2600*time.Millisecond {
		t.Errorf("t0 is %s, %s to %s ahead, %v", t0, least, most, err)
	}
	// The response may be lost: a repeated request gets the same one.
	for _, got := range []started{<-first, <-second, <-third, <-wait(t.Context(), worker(2), "")} {
		if got.err != nil || !got.t0.Equal(t0) || got.setup != `{"token":"a"}` {
			t.Errorf("started with %+v, want %s", got, t0)
		}
	}
}

// One worker that may not start ends the wait for all.
func TestRefusal(t *testing.T) {
	why := errors.New("thresholds.json:7: unknown metric \"http_req_duratoin\"")
	c, worker := coordinate(t, 2, func(m map[string]string) error {
		if m["http_req_duration"] != "trend" {
			t.Errorf("registered metrics are %v", m)
		}
		if m["odd"] != "" {
			return why
		}
		return nil
	})
	if err := worker(0).Ready(t.Context(), map[string]string{"http_req_duration": "trend"}); err != nil {
		t.Fatal(err)
	}
	waiting := wait(t.Context(), worker(0), "")
	err := worker(1).Ready(t.Context(), map[string]string{"http_req_duration": "trend", "odd": "rate"})
	var refused *wire.RefusedError
	if !errors.As(err, &refused) || refused.Reason != why.Error() {
		t.Errorf("the worker got %v", err)
	}
	if got := <-waiting; !errors.As(got.err, &refused) {
		t.Errorf("the other worker got %v", got.err)
	}
	if _, err := c.AwaitStart(t.Context()); !errors.Is(err, why) {
		t.Errorf("the run got %v", err)
	}
}

func TestStartIsCancelled(t *testing.T) {
	c, worker := coordinate(t, 2, anyMetrics)
	waiting := wait(t.Context(), worker(0), "")
	why := errors.New("deadline of the test")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 2*time.Second, why)
	defer cancel()
	_, err := c.AwaitStart(ctx)
	if !errors.Is(err, why) || !strings.Contains(err.Error(), "1 of 2 workers") {
		t.Errorf("cancelled with %v", err)
	}
	select {
	case got := <-waiting:
		t.Errorf("the worker started: %+v", got)
	default:
	}
}

func TestMalformedMessages(t *testing.T) {
	c := fleet.NewCoordinator(1, anyMetrics)
	mux := http.NewServeMux()
	c.Routes(mux)
	for _, path := range []string{wire.PathReady, wire.PathStart} {
		for name, m := range map[string]struct {
			method, body string
			want         int
		}{
			"not JSON":     {http.MethodPost, "ready", http.StatusBadRequest},
			"cut off":      {http.MethodPost, `{"source":"worker/0"`, http.StatusBadRequest},
			"wrong type":   {http.MethodPost, `{"source":7}`, http.StatusBadRequest},
			"nameless":     {http.MethodPost, `{}`, http.StatusBadRequest},
			"too large":    {http.MethodPost, `{"source":"` + strings.Repeat("x", 17<<20) + `"}`, http.StatusRequestEntityTooLarge},
			"wrong method": {http.MethodGet, "", http.StatusMethodNotAllowed},
		} {
			w := httptest.NewRecorder()
			mux.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), m.method, path, strings.NewReader(m.body)))
			if w.Code != m.want {
				t.Errorf("%s, %s: answer %d %s, want %d", path, name, w.Code, w.Body, m.want)
			}
		}
	}
}
