//go:build live

package influx

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/influxtest"
)

// A missing database is created, whatever its name; for a user without the right to do
// so the hint is the statement.
func TestDatabaseIsCreated(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.5)
	db := influxtest.Start(t)
	db.Query("", `CREATE USER "guest" WITH PASSWORD 'of-no-rights'`)
	for _, name := range []string{"events", "match day"} {
		s, err := NewServer(db.URL()+"?db="+strings.ReplaceAll(name, " ", "%20"), db.Token())
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Write(t.Context(), []byte(line)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if sum, n := db.Sum(name, `SELECT "f" FROM "m"`); sum != 1 || n != 1 {
			t.Errorf("%s has %d values", name, n)
		}
		s.Close()
	}
	guest, err := NewServer(db.URL()+"?db=closed", "guest:of-no-rights")
	if err != nil {
		t.Fatal(err)
	}
	defer guest.Close()
	if err := guest.Check(t.Context()); !strings.Contains(hint.Of(err), `CREATE DATABASE "closed"`) || strings.Contains(err.Error(), "\n") {
		t.Errorf("a user without rights: %v", err)
	}
}

// A write to a frozen or killed server fails when the caller's context ends, and succeeds
// once the server has returned.
func TestServerOutage(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.15)
	db := influxtest.Start(t)
	s := serverOf(t, db)
	defer s.Close()
	db.Freeze()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := s.writeWithRetry(ctx, []byte(line)); !strings.Contains(text(err), "cannot be reached: timed out") {
		t.Errorf("frozen: %v", err)
	}
	db.Kill()
	ctx, cancel = context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := s.writeWithRetry(ctx, []byte(line)); !strings.Contains(text(err), "cannot be reached: connection refused") {
		t.Errorf("killed: %v", err)
	}
	db.Restart()
	if err := s.writeWithRetry(t.Context(), []byte(line)); err != nil {
		t.Errorf("restarted: %v", err)
	}
}

// A write that fails is repeated.
func TestWriteIsRepeated(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.05)
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if requests.Add(1) < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	defer server.Close()
	s, err := NewServer(server.URL, "")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.writeWithRetry(t.Context(), []byte(line)); err != nil || requests.Load() != 3 {
		t.Errorf("%d requests, %v; want success at the third", requests.Load(), err)
	}
}
