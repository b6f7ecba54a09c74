//go:build live

package stubs_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"assay.dev/assay/internal/observe/collect/stubs"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/metrictest"
)

// A stub that was restarted counts from 0: its calls since then are added, and not subtracted
// from those before. (Package lab/stub tests the collector against real stubs.)
func TestCountsOfARestartedStub(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.05)
	state := func(instance string, calls int64) stubs.State {
		return stubs.State{Instance: instance, Endpoints: []stubs.Counts{{Endpoint: "charge", Calls: map[string]int64{metric.StubAnswered: calls}, CallMs: float64(10 * calls)}}}
	}
	// What the stub says at the start, at the end of each second, and at the end.
	said := []stubs.State{state("a", 5), state("a", 7), state("b", 3), state("b", 4), state("b", 6)}
	var mu sync.Mutex
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		_ = json.NewEncoder(w).Encode(said[0])
		if len(said) > 1 {
			said = said[1:]
		}
	}))
	defer server.Close()
	c := stubs.New(stubs.Options{Name: "bank", Stub: spec.Stub{URL: server.URL}, Token: "t", Run: "r"})
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	calls, ms := 0.0, 0.0
	err := c.Run(ctx, func(f metric.Frame) error {
		metrictest.Check(t, f)
		for _, p := range f.Points {
			switch p.Series.Name {
			case metric.StubCalls:
				calls += p.Value
			case metric.StubCallTime:
				ms += p.Value
			}
		}
		mu.Lock()
		defer mu.Unlock()
		if len(said) == 1 {
			cancel()
		}
		return nil
	})
	if err != nil || calls != 2+6 || ms != 80 {
		t.Errorf("%g calls of %g ms, %v; want 2 of the first stub and 6 of the second", calls, ms, err)
	}
	if notes := strings.Join(c.Notes(), "\n"); strings.Count(notes, "was restarted") != 1 {
		t.Errorf("notes %q", notes)
	}
}
