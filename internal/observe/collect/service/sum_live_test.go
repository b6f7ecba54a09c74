//go:build live

package service

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/testing/budget"
)

// fake is an instance of a service that has counted statements, with a pool of its own
// size.
type fake struct {
	*httptest.Server
	count atomic.Int64
	down  atomic.Bool
	pool  int
	build string
}

func newFake(t *testing.T, pool int, build string) *fake {
	f := &fake{pool: pool, build: build}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if f.down.Load() {
			http.Error(w, "overloaded", http.StatusServiceUnavailable)
			return
		}
		_, _ = fmt.Fprintf(w, "# TYPE db_query_duration_seconds summary\ndb_query_duration_seconds_sum 0\ndb_query_duration_seconds_count %d\n"+
			"go_sql_max_open_connections %d\napp_build_info{version=%q} 1\n", f.count.Load(), f.pool, f.build)
	}))
	t.Cleanup(f.Close)
	return f
}

// state is what a test knows of an instance.
type state struct {
	listed, read bool
	last         int64 // the count that was last read
	uncounted    int64 // counted since then
}

// The builds of all instances at the start are described, each once. A build that appears
// during the run is counted and noted.
func TestBuildsOfInstances(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.3)
	one, two, same, late := newFake(t, 1, "1"), newFake(t, 1, "2"), newFake(t, 1, "1"), newFake(t, 1, "3")
	urls := []string{one.URL, two.URL, same.URL}
	c := NewOf(func(context.Context) ([]string, error) { return urls, nil })
	defer func() { _ = c.Close() }()
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	of := func(versions ...string) (all []record.Build) {
		for _, v := range versions {
			all = append(all, record.Build{Metric: "app_build_info", Labels: map[string]string{"version": v}})
		}
		return all
	}
	if diff := cmp.Diff(of("1", "2"), c.Describe().Builds); diff != "" {
		t.Error(diff)
	}
	relisted := func(others float64, listed ...string) {
		t.Helper()
		urls = listed
		if err := c.group.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got, found := values(c.read(t.Context()))[metric.ServiceOthers]; !found || got != others {
			t.Errorf("%g others, %t, want %g", got, found, others)
		}
	}
	c.read(t.Context())
	relisted(0, one.URL, newFake(t, 1, "2").URL)
	if notes := c.Notes(); len(notes) != 0 {
		t.Errorf("notes %q of a known build", notes)
	}
	for range 2 {
		relisted(1, one.URL, late.URL)
	}
	if notes := c.Notes(); len(notes) != 1 {
		t.Errorf("notes %q, want one", notes)
	}
	if diff := cmp.Diff(of("1", "2"), c.Describe().Builds); diff != "" {
		t.Error(diff)
	}
}

// If there are too many instances, only some are read: a second has no gauges, and a note says so.
func TestTooManyInstances(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.5)
	f := newFake(t, 10, "1")
	var urls []string
	for i := range 1001 {
		urls = append(urls, fmt.Sprintf("%s/%d", f.URL, i))
	}
	c := NewOf(func(context.Context) ([]string, error) { return urls, nil })
	defer func() { _ = c.Close() }()
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if sum, has := values(c.read(t.Context()))[metric.ServicePoolMax]; has {
		t.Errorf("the pools have %v connections, although not all are known", sum)
	}
	if notes := c.Notes(); len(notes) != 1 || !strings.Contains(notes[0], "more than 1000 instances") {
		t.Errorf("notes %q", notes)
	}
}

// Whatever happens to the instances, the sum of the increases is what they counted while
// they were read, and a sum of gauges lacks no instance.
func TestSumOverInstances(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.5)
	var fakes []*fake
	for i := range 4 {
		fakes = append(fakes, newFake(t, 10*(i+1), "1"))
	}
	rapid.Check(t, func(t *rapid.T) {
		known := make([]state, len(fakes))
		for i, f := range fakes {
			f.count.Store(rapid.Int64Range(0, 1000).Draw(t, "before the run"))
			f.down.Store(false)
			known[i].listed = rapid.Bool().Draw(t, "listed")
		}
		c := NewOf(func(context.Context) (urls []string, err error) {
			for i, f := range fakes {
				if known[i].listed {
					urls = append(urls, f.URL)
				}
			}
			return urls, nil
		})
		defer func() { _ = c.Close() }()
		relist := func() {
			if err := c.group.Open(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		relist()
		want, got := int64(0), 0.0
		pick := func() (*fake, *state) {
			i := rapid.IntRange(0, len(fakes)-1).Draw(t, "instance")
			return fakes[i], &known[i]
		}
		t.Repeat(map[string]func(*rapid.T){
			"work": func(t *rapid.T) {
				f, s := pick()
				most := int64(1000)
				if now := f.count.Load(); s.read && now < s.last {
					most = s.last - 1 - now // otherwise nobody can know that it was restarted
				}
				n := rapid.Int64Range(0, most).Draw(t, "statements")
				f.count.Add(n)
				s.uncounted += n
			},
			"restart": func(t *rapid.T) {
				f, s := pick()
				if s.read && (s.uncounted > 0 || s.last == 0) {
					t.Skip("its last statements would be lost")
				}
				f.count.Store(0)
			},
			"fail or recover": func(*rapid.T) { f, _ := pick(); f.down.Store(!f.down.Load()) },
			"appear or go away": func(*rapid.T) {
				_, s := pick()
				*s = state{listed: !s.listed}
				relist()
			},
			"read": func(t *rapid.T) {
				second := values(c.read(context.Background()))
				answered, pool, ready := 0, 0, 0
				for i, f := range fakes {
					s := &known[i]
					if !s.listed {
						continue
					}
					pool += f.pool
					ready++
					if f.down.Load() {
						continue
					}
					answered++
					if s.read {
						want += s.uncounted
					}
					s.read, s.last, s.uncounted = true, f.count.Load(), 0
				}
				if n := second[metric.ServiceInstances]; n != float64(answered) {
					t.Fatalf("%v instances answered, want %d", n, answered)
				}
				if sum, has := second[metric.ServicePoolMax]; has && sum != float64(pool) || !has && ready > 0 && answered == ready {
					t.Fatalf("the pools have %v connections, want %d", sum, pool)
				}
				if answered == 0 && len(second) > 1 {
					t.Fatalf("no instance answered: %v", second)
				}
				got += second[metric.ServiceQueries]
			},
			"": func(t *rapid.T) {
				if got != float64(want) {
					t.Fatalf("%v statements, want %d", got, want)
				}
			},
		})
	})
}
