package service

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"assay/harness/observe/collect/scrape"
	"assay/harness/observe/metric"
	"assay/harness/observe/record"
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

// values returns the points of a second by name.
func values(points []metric.Point) map[string]float64 {
	all := map[string]float64{}
	for _, p := range points {
		all[p.Series.Name] = p.Value
	}
	return all
}

// state is what a test knows of an instance.
type state struct {
	listed, read bool
	last         int64 // the count that was last read
	uncounted    int64 // counted since then
}

// Whatever happens to the instances, the sum of the increases is what they counted while
// they were read, and a sum of gauges lacks no instance.
func TestSumOverInstances(t *testing.T) {
	t.Parallel()
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

// The gauges of an instance that does not answer are used for a while; then the second has
// none.
func TestGaugesOfSilentInstances(t *testing.T) {
	t.Parallel()
	a, b := scrape.New("http://127.0.0.1:1/a"), scrape.New("http://127.0.0.1:1/b")
	answers := func(e *scrape.Endpoint, pool, queries float64) scrape.Answer[scraped] {
		return scrape.Answer[scraped]{Endpoint: e, Value: scraped{reading: reading{metric.ServicePoolMax: pool, metric.ServiceQueries: queries}}}
	}
	silent := func(e *scrape.Endpoint) scrape.Answer[scraped] {
		return scrape.Answer[scraped]{Endpoint: e, Err: errors.New("timed out")}
	}
	all, begin := instances{}, time.Now()
	for i, c := range []struct {
		at      time.Duration
		answers []scrape.Answer[scraped]
		want    second
	}{
		{0, []scrape.Answer[scraped]{answers(a, 10, 100), silent(b)}, second{sum: reading{}, answered: 1}}, // b was never read
		{1 * time.Second, []scrape.Answer[scraped]{answers(a, 10, 101), answers(b, 20, 500)}, second{sum: reading{metric.ServicePoolMax: 30, metric.ServiceQueries: 1}, answered: 2}},
		{2 * time.Second, []scrape.Answer[scraped]{answers(a, 11, 103), silent(b)}, second{sum: reading{metric.ServicePoolMax: 31, metric.ServiceQueries: 2}, answered: 1}},
		{3 * time.Second, []scrape.Answer[scraped]{silent(a), silent(b)}, second{sum: reading{}}},
		{1*time.Second + keepGauges, []scrape.Answer[scraped]{answers(a, 12, 107), silent(b)}, second{sum: reading{metric.ServicePoolMax: 32, metric.ServiceQueries: 4}, answered: 1}},
		{2*time.Second + keepGauges, []scrape.Answer[scraped]{answers(a, 12, 107), silent(b)}, second{sum: reading{metric.ServiceQueries: 0}, answered: 1, silent: true}},
		{3*time.Second + keepGauges, []scrape.Answer[scraped]{answers(a, 12, 108), answers(b, 20, 507)}, second{sum: reading{metric.ServicePoolMax: 32, metric.ServiceQueries: 8}, answered: 2}},
		{4*time.Second + keepGauges, []scrape.Answer[scraped]{answers(a, 12, 109)}, second{sum: reading{metric.ServicePoolMax: 12, metric.ServiceQueries: 1}, answered: 1}},
		{5*time.Second + keepGauges, []scrape.Answer[scraped]{answers(a, 12, 110), answers(b, 20, 600)}, second{sum: reading{metric.ServicePoolMax: 32, metric.ServiceQueries: 1}, answered: 2}},
		{6*time.Second + keepGauges, nil, second{sum: reading{}}},
	} {
		got := all.add(begin.Add(c.at), c.answers)
		if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(second{})); diff != "" {
			t.Errorf("second %d (-want +got):\n%s", i, diff)
		}
	}
	if len(all) != 0 {
		t.Errorf("%d instances that went away are kept", len(all))
	}
}

// An instance that never answers is noted after a while, too.
func TestInstanceThatNeverAnswers(t *testing.T) {
	t.Parallel()
	none := []scrape.Answer[scraped]{{Endpoint: scrape.New("http://127.0.0.1:1/"), Err: errors.New("timed out")}}
	begin := time.Now()
	for at, want := range map[time.Duration]bool{0: false, keepGauges: false, keepGauges + 1: true} {
		all := instances{}
		all.add(begin, none)
		if s := all.add(begin.Add(at), none); s.silent != want {
			t.Errorf("silent after %v: %t", at, s.silent)
		}
	}
}

// The builds of all instances are described, each once. A build that appears during the run
// is noted.
func TestBuildsOfInstances(t *testing.T) {
	t.Parallel()
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
	relisted := func(listed ...string) {
		t.Helper()
		urls = listed
		if err := c.group.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		c.read(t.Context())
	}
	c.read(t.Context())
	relisted(one.URL, newFake(t, 1, "2").URL)
	if notes := c.Notes(); len(notes) != 0 {
		t.Errorf("notes %q of a known build", notes)
	}
	for range 2 {
		relisted(one.URL, late.URL)
	}
	if notes := c.Notes(); len(notes) != 1 {
		t.Errorf("notes %q, want one", notes)
	}
	if diff := cmp.Diff(of("1", "2", "3"), c.Describe().Builds); diff != "" {
		t.Error(diff)
	}
}

// Of too many instances only some are read, so that a second has no gauges, which is noted.
func TestTooManyInstances(t *testing.T) {
	t.Parallel()
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

// Points are in the order of the sources, so that frames are reproducible.
func TestOrderOfPoints(t *testing.T) {
	t.Parallel()
	r := reading{}
	for _, s := range sources {
		r[s.name] = 1
	}
	var names []string
	for _, p := range r.points() {
		names = append(names, p.Series.Name)
	}
	if want := slices.Sorted(maps.Keys(r)); !slices.Equal(slices.Sorted(slices.Values(names)), want) {
		t.Errorf("points %q, want one for each of %q", names, want)
	}
	if names[0] != metric.ServicePoolInUse || names[len(names)-1] != metric.ServiceCPUs {
		t.Errorf("points %q are not in the order of the sources", names)
	}
}
