package service

import (
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assay.dev/assay/internal/observe/collect/scrape"
	"assay.dev/assay/internal/observe/metric"
)

// values returns the points of a second by name.
func values(points []metric.Point) map[string]float64 {
	all := map[string]float64{}
	for _, p := range points {
		all[p.Series.Name] = p.Value
	}
	return all
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
		{2*time.Second + keepGauges, []scrape.Answer[scraped]{answers(a, 12, 107), silent(b)}, second{sum: reading{metric.ServiceQueries: 0}, answered: 1, silent: true, others: 1}},
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
