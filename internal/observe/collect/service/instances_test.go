//go:build live

package service_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"assay.dev/assay/internal/observe/collect/service"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/metrictest"
	"assay.dev/assay/internal/testing/polltest"
)

// instance is an instance of a service with a pool of 10 connections.
type instance struct {
	*httptest.Server
	queries atomic.Int64
	hangs   atomic.Bool
}

func startInstance(t *testing.T, queries int64) *instance {
	t.Helper()
	i := &instance{}
	i.queries.Store(queries)
	i.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if i.hangs.Load() {
			<-r.Context().Done()
			return
		}
		_, _ = fmt.Fprintf(w, "# TYPE db_query_duration_seconds summary\ndb_query_duration_seconds_sum 0\ndb_query_duration_seconds_count %d\ngo_sql_max_open_connections 10\n", i.queries.Load())
	}))
	t.Cleanup(i.Close)
	return i
}

// Statements of all instances are counted once, while instances appear, go away, hang and
// restart during a run.
func TestInstancesDuringARun(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.05)
	a, b, c := startInstance(t, 100), startInstance(t, 200), startInstance(t, 3000)
	var list atomic.Pointer[[]string]
	set := func(urls ...string) { list.Store(&urls) }
	set(a.URL, b.URL)
	collector := service.NewOf(func(context.Context) ([]string, error) { return *list.Load(), nil })
	if err := collector.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var (
		mu      sync.Mutex
		frames  []metric.Frame
		running sync.WaitGroup
		failed  error
		line    = record.NewTimeline()
	)
	running.Go(func() {
		failed = collector.Run(ctx, func(f metric.Frame) error {
			mu.Lock()
			defer mu.Unlock()
			frames = append(frames, f)
			line.Add(f)
			return nil
		})
	})
	total := func(name string) (sum float64) {
		for _, f := range frames {
			for _, p := range f.Points {
				if p.Series.Name == name {
					sum += p.Value
				}
			}
		}
		return sum
	}
	// await waits until so many statements are counted, then for a later frame with so many
	// instances.
	await := func(queries, instances float64) {
		t.Helper()
		counted := -1 // frames until the statements were counted
		polltest.Until(t, fmt.Sprintf("%v statements, %v instances", queries, instances), func() bool {
			mu.Lock()
			defer mu.Unlock()
			if counted < 0 && total(metric.ServiceQueries) >= queries {
				counted = len(frames)
			}
			return counted >= 0 && slices.ContainsFunc(frames[counted:], func(f metric.Frame) bool {
				return slices.ContainsFunc(f.Points, func(p metric.Point) bool { return p.Series.Name == metric.ServiceInstances && p.Value == instances })
			})
		})
	}
	await(0, 2)
	a.queries.Add(10)
	b.queries.Add(5)
	await(15, 2)

	b.queries.Store(3) // restarted, and has counted 3 since
	await(18, 2)

	set(a.URL, b.URL, c.URL) // appears, with 3000 statements of before
	await(18, 3)
	c.queries.Add(7)
	await(25, 3)

	a.hangs.Store(true)
	a.queries.Add(4)
	b.queries.Add(1)
	await(26, 2) // the others are read on
	a.hangs.Store(false)
	await(30, 3)

	set(a.URL, b.URL)
	c.Close()
	await(30, 2)
	a.queries.Add(2)
	await(32, 2)

	cancel()
	running.Wait()
	if failed != nil {
		t.Fatal(failed)
	}
	if err := collector.Close(); err != nil {
		t.Error(err)
	}
	metrictest.Check(t, frames...)
	metrictest.CheckStream(t, metric.SourceService, frames)
	span := record.Span{From: frames[0].Second, To: frames[len(frames)-1].Second + 1}
	if n, _ := line.Sum(metric.ServiceQueries, nil, span); n != 32 {
		t.Errorf("%v statements, want 32", n)
	}
	sizes, ok := line.Gauge(metric.ServicePoolMax, nil, metric.SourceService, span)
	for i, size := range sizes {
		if ok[i] && size != 20 && size != 30 {
			t.Errorf("second %d: the pools have %v connections, want 20 or 30", i, size)
		}
	}
}

// A service whose instances cannot be listed, or have no metrics, is absent. One instance
// with metrics suffices.
func TestInstancesAtTheStart(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.05)
	good := startInstance(t, 1).URL
	refused := httptest.NewServer(nil)
	refused.Close()
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "up 1") }))
	defer other.Close()
	for name, c := range map[string]struct {
		urls    []string
		err     error
		problem string // "": none
	}{
		"one":                 {urls: []string{good}},
		"one of several":      {urls: []string{refused.URL, other.URL, good}},
		"none":                {problem: "no instance that is ready"},
		"none answers":        {urls: []string{refused.URL}, problem: "refused"},
		"none has metrics":    {urls: []string{refused.URL, other.URL}, problem: other.URL + " has none of the supported metrics"},
		"cannot be listed":    {err: errors.New("no rights"), problem: "no rights"},
		"listed an odd thing": {urls: []string{"ftp://10.0.0.1/"}, problem: "want http://"},
	} {
		collector := service.NewOf(func(context.Context) ([]string, error) { return c.urls, c.err })
		err := collector.Start(t.Context())
		if (err == nil) != (c.problem == "") || err != nil && (!errors.Is(err, service.ErrAbsent) || !strings.Contains(err.Error(), c.problem)) {
			t.Errorf("%s: %v, want %q", name, err, c.problem)
		}
		if err := collector.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The number of instances is only reported of a list.
func TestSingleInstanceHasNoNumber(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.05)
	c := service.New(startInstance(t, 1).URL)
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	line, _, span := collectWhile(t, c, func(frames func() int) {
		polltest.Until(t, "there are frames", func() bool { return frames() > 1 })
	})
	if _, found := line.MaxGauge(metric.ServiceInstances, nil, span); found {
		t.Error("the number of instances is reported")
	}
	if n, _ := line.MaxGauge(metric.ServicePoolMax, nil, span); n != 10 {
		t.Errorf("the pool has %v connections, want 10", n)
	}
	if notes := c.Notes(); len(notes) != 0 {
		t.Errorf("notes %q", notes)
	}
}
