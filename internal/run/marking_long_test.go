//go:build long

package run_test

import (
	"cmp"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"
)

// The ids follow from run and seed: a replay has the same ones, another run has others.
func TestLongTraceIDsOfAReplay(t *testing.T) {
	t.Parallel()
	cpus(t, 0.2)
	ids := func(run string, seed uint64, workers int) []string {
		service := &loggingService{answer: func(http.ResponseWriter, *http.Request) {}}
		server := httptest.NewServer(service)
		defer server.Close()
		o := options(t, marked(20, 2*time.Second), getScript, server.URL)
		o.ID, o.Seed, o.Workers = cmp.Or(run, o.ID), seed, workers
		certify(t, o)
		return slices.Sorted(maps.Keys(service.byTrace()))
	}
	first := ids("replayed", 1, 1)
	if len(first) < 80 {
		t.Fatalf("%d ids", len(first))
	}
	if again := ids("replayed", 1, 2); !slices.Equal(first, again) {
		t.Errorf("a replay on two workers has other ids: %d and %d, from %v and %v", len(first), len(again), first[:5], again[:5])
	}
	for _, other := range [][]string{ids("", 1, 1), ids("replayed", 2, 1)} {
		if slices.ContainsFunc(other, func(id string) bool { return slices.Contains(first, id) }) || len(other) < 80 {
			t.Errorf("another run shares ids: %v and %v", first[:5], other[:5])
		}
	}
}
