//go:build live

package scrape

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/polltest"
)

// serve starts an instance.
func serve(t *testing.T, respond http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(respond)
	t.Cleanup(s.Close)
	return s.URL
}

// says is an instance that exposes one text.
func says(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, text) }
}

func hangs(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

func fails(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }

// open opens the group of a list, which is read again before each reading.
func open(t *testing.T, list Instances) *Group {
	t.Helper()
	g := NewGroup(list)
	g.interval = 0
	t.Cleanup(g.Close)
	if err := g.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	return g
}

// texts reads a group and returns what its instances expose, or "-".
func texts(t *testing.T, g *Group) (all []string) {
	t.Helper()
	for _, a := range Read(t.Context(), g, func(_ *Endpoint, exposition []byte) (string, error) {
		return strings.TrimSpace(string(exposition)), nil
	}) {
		if a.Err != nil {
			a.Value = "-"
		}
		all = append(all, a.Value)
	}
	slices.Sort(all)
	return all
}

// Instances appear and go away with the list. A list that fails changes nothing.
func TestGroupFollowsItsList(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.05)
	a, b, c := serve(t, says("a")), serve(t, says("b")), serve(t, says("c"))
	type answer struct {
		urls []string
		err  error
	}
	var list atomic.Pointer[answer]
	var lists atomic.Int64
	list.Store(&answer{urls: []string{b, a, b}})
	g := open(t, func(context.Context) ([]string, error) {
		defer lists.Add(1)
		now := list.Load()
		return now.urls, now.err
	})
	await := func(want ...string) {
		t.Helper()
		polltest.Until(t, fmt.Sprint("instances ", want), func() bool { return slices.Equal(texts(t, g), want) })
	}
	await("a", "b")
	var kept *Endpoint
	for _, m := range g.members {
		if m.url == a {
			kept = m.Endpoint
		}
	}
	list.Store(&answer{urls: []string{c, a}})
	await("a", "c")
	if !slices.ContainsFunc(g.members, func(m *member) bool { return m.Endpoint == kept }) {
		t.Error("an instance that stays has a new endpoint")
	}
	list.Store(&answer{err: errors.New("the cluster does not answer")})
	for before := lists.Load(); lists.Load() < before+3; {
		await("a", "c")
	}
	list.Store(&answer{})
	await()
	list.Store(&answer{urls: []string{b}})
	await("b")
}

// A list that does not answer delays no reading, and ends with the group.
func TestSlowList(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.05)
	a := serve(t, says("a"))
	var lists, ended atomic.Int64
	g := open(t, func(ctx context.Context) ([]string, error) {
		if lists.Add(1) == 1 {
			return []string{a}, nil
		}
		<-ctx.Done()
		ended.Add(1)
		return nil, ctx.Err()
	})
	polltest.Until(t, "a second list is requested", func() bool { texts(t, g); return lists.Load() >= 2 })
	for range 3 {
		if got := texts(t, g); !slices.Equal(got, []string{"a"}) {
			t.Errorf("read %q during a list", got)
		}
	}
	g.Close()
	if lists.Load()-1 != ended.Load() {
		t.Errorf("%d lists, of which %d ended", lists.Load(), ended.Load())
	}
}

// However many instances hang, the others are read.
func TestHangingInstances(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.05)
	var tried atomic.Int64
	hanging, answering := serve(t, func(w http.ResponseWriter, r *http.Request) { tried.Add(1); hangs(w, r) }), serve(t, says("a"))
	var urls, want []string
	for i := range 3 * maxConcurrent {
		urls = append(urls, fmt.Sprintf("%s/%d", hanging, i))
		want = append(want, "-")
	}
	for i := range 5 {
		urls = append(urls, fmt.Sprintf("%s/%d", answering, i))
		want = append(want, "a")
	}
	g := NewGroup(fixed(urls...))
	defer g.Close()
	if err := g.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	texts(t, g)
	// Two batches fit into the time of a round: one to its timeout, one to the round's.
	if n := tried.Load(); n > 2*maxConcurrent {
		t.Errorf("%d instances that hang were tried in one round, want at most %d", n, 2*maxConcurrent)
	}
	polltest.Until(t, "all instances that answer are read", func() bool { return slices.Equal(texts(t, g), want) })
}

func TestConcurrency(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.05)
	var current, most atomic.Int64
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		n := current.Add(1)
		defer current.Add(-1)
		for seen := most.Load(); n > seen && !most.CompareAndSwap(seen, n); seen = most.Load() {
		}
		time.Sleep(10 * time.Millisecond)
		_, _ = fmt.Fprintln(w, "a")
	})
	var urls []string
	for i := range 3 * maxConcurrent {
		urls = append(urls, fmt.Sprintf("%s/%d", url, i))
	}
	g := open(t, fixed(urls...))
	texts(t, g)
	if n := most.Load(); n < 2 || n > maxConcurrent {
		t.Errorf("%d scrapes at the same time, want 2 to %d", n, maxConcurrent)
	}
}

func TestLargestOfInstances(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.05)
	three, seven, none := serve(t, says("jobs{shard=\"0\"} 3")), serve(t, says("jobs 7")), serve(t, says("up 1"))
	failing, invalid, nan := serve(t, fails), serve(t, says("jobs{ what")), serve(t, says("jobs NaN"))
	for name, c := range map[string]struct {
		urls    []string
		want    float64
		problem string
	}{
		"one":            {urls: []string{three}, want: 3},
		"the largest":    {urls: []string{three, seven}, want: 7},
		"not in all":     {urls: []string{none, three, none}, want: 3},
		"not a number":   {urls: []string{three, nan}, want: math.NaN()},
		"in none":        {urls: []string{none}, problem: none + " has no metric jobs"},
		"one fails":      {urls: []string{three, failing}, problem: "answers 503"},
		"one is invalid": {urls: []string{three, invalid}, problem: "parsing error"},
		"no instance":    {problem: "no instance that is ready"},
	} {
		v, err := open(t, fixed(c.urls...)).Largest(t.Context(), "jobs")
		switch {
		case c.problem != "" && (err == nil || !strings.Contains(err.Error(), c.problem) || strings.Contains(err.Error(), "\n")):
			t.Errorf("%s: error %v, want %s", name, err, c.problem)
		case c.problem == "" && (err != nil || v != c.want && !(math.IsNaN(v) && math.IsNaN(c.want))):
			t.Errorf("%s: %g, %v, want %g", name, v, err, c.want)
		}
	}
	g := open(t, fixed(three))
	g.left, g.asking = 1, true
	if _, err := g.Largest(t.Context(), "jobs"); err == nil || !strings.Contains(err.Error(), "1 of the service's instances") {
		t.Errorf("too many instances: %v", err)
	}
}
