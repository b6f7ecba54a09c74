package service

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assay.dev/assay/internal/observe/collect/scrape"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
)

func TestBuildsIn(t *testing.T) {
	build := func(metric string, labels ...string) record.Build {
		b := record.Build{Metric: metric, Labels: map[string]string{}}
		for i := 0; i < len(labels); i += 2 {
			b.Labels[labels[i]] = labels[i+1]
		}
		return b
	}
	many, long := "", strings.Repeat("x", maxText+1)
	for i := range 40 {
		many += fmt.Sprintf("app_build_info{n=\"%02d\"} 1\n", i)
	}
	for name, c := range map[string]struct {
		exposition string
		want       []record.Build
	}{
		"none":      {"up 1\napp_build_information{version=\"1\"} 1\n", nil},
		"no labels": {"app_build_info 1\napp_build_info{} 1\n", nil},
		"garbage":   {"app_build_info{ what\n", nil},
		"sorted": {
			"# TYPE b_build_info gauge\nb_build_info{version=\"2\"} 1\na_build_info{version=\"1\",revision=\"ab\"} 1\na_build_info{version=\"0\"} 1\n",
			[]record.Build{build("a_build_info", "revision", "ab", "version", "1"), build("a_build_info", "version", "0"), build("b_build_info", "version", "2")},
		},
		"too long":   {"a_build_info{version=\"" + long + "\"} 1\nb_build_info{version=\"2\"} 1\n", []record.Build{build("b_build_info", "version", "2")}},
		"long label": {"{\"a_build_info\",\"" + long + "\"=\"1\",revision=\"2\"} 1\nb_build_info{version=\"2\"} 1\n", []record.Build{build("b_build_info", "version", "2")}},
		"long name":  {long + "_build_info{version=\"2\"} 1\nb_build_info{version=\"2\"} 1\n", []record.Build{build("b_build_info", "version", "2")}},
	} {
		got, err := read([]byte(c.exposition))
		if diff := cmp.Diff(c.want, got.builds); diff != "" || (err != nil) != (name == "garbage") {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
	if got, err := read([]byte(many)); len(got.builds) != maxBuilds+1 {
		t.Errorf("%d builds are known, %v", len(got.builds), err)
	}
}

// expositionOf is an exposition of these builds.
func expositionOf(lines ...string) []byte { return []byte(strings.Join(lines, " 1\n") + " 1\n") }

// Under load an instance that is none of the start's by its builds is counted: one of another
// build, one that has none of a metric that the others have, and one that never told its own.
func TestOtherBuildsUnderLoad(t *testing.T) {
	t.Parallel()
	pods := func(n int) (all []string) {
		for i := range n {
			all = append(all, fmt.Sprintf("app_build_info{revision=\"new\",pod=\"%02d\"}", i))
		}
		return all
	}
	const own, old, library = `app_build_info{revision="new"}`, `app_build_info{revision="old"}`, `go_build_info{version="(devel)"}`
	for name, c := range map[string]struct {
		start, now []string
		others     float64
	}{
		"the same":             {[]string{own, library}, []string{own, library}, 0},
		"another":              {[]string{own, library}, []string{old, library}, 1},
		"one more":             {[]string{own}, []string{own, old}, 1},
		"of a library alone":   {[]string{own, library}, []string{library}, 1},
		"none":                 {[]string{own}, []string{"up"}, 1},
		"one pod of several":   {pods(maxBuilds), pods(1), 0},
		"more than are listed": {pods(maxBuilds + 1), pods(1), 1},
	} {
		text := expositionOf(c.start...)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(text) }))
		defer server.Close()
		one := New(server.URL)
		if err := one.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		described := one.Describe()
		if n := min(len(c.start), maxBuilds); described == nil || len(described.Builds) != n {
			t.Errorf("%s: %+v", name, described)
		}
		text = expositionOf(c.now...)
		for range 2 {
			if got, found := values(one.read(t.Context()))[metric.ServiceOthers]; !found || got != c.others {
				t.Errorf("%s: %g others, %t", name, got, found)
			}
		}
		if noted := strings.Join(one.Notes(), "; "); (c.others > 0) != strings.Contains(noted, "build") {
			t.Errorf("%s: noted %q", name, noted)
		}
		if err := one.Close(); err != nil {
			t.Error(err)
		}
	}
}

// An instance that never told its builds is counted once it had time to, and when it goes; and
// one that does not tell them any more.
func TestInstancesThatDoNotTellTheirBuilds(t *testing.T) {
	t.Parallel()
	a, b := scrape.New("http://127.0.0.1:1/a"), scrape.New("http://127.0.0.1:1/b")
	good := scrape.Answer[scraped]{Endpoint: a, Value: scraped{reading: reading{}}}
	silent := scrape.Answer[scraped]{Endpoint: b, Err: errors.New("timed out")}
	gone := scrape.Answer[scraped]{Endpoint: a, Err: errors.New("404 Not Found")}
	all, begin := instances{}, time.Now()
	for i, c := range []struct {
		at      time.Duration
		answers []scrape.Answer[scraped]
		others  int
	}{
		{0, []scrape.Answer[scraped]{good, silent}, 0},
		{time.Second + keepGauges, []scrape.Answer[scraped]{good, silent}, 1},
		{2*time.Second + keepGauges, []scrape.Answer[scraped]{good}, 1},
		{3*time.Second + keepGauges, []scrape.Answer[scraped]{good}, 0},
		{4*time.Second + keepGauges, []scrape.Answer[scraped]{{Endpoint: a, Value: scraped{reading: reading{}, other: true}}}, 1},
		{5*time.Second + keepGauges, []scrape.Answer[scraped]{gone}, 0},
		{6*time.Second + 2*keepGauges, []scrape.Answer[scraped]{gone}, 1}, // it may be another build's by now
	} {
		if got := all.add(begin.Add(c.at), c.answers).others; got != c.others {
			t.Errorf("second %d: %d others", i, got)
		}
	}
}

// Programs of one service may be different, each with a metric of its own.
func TestBuildsOfDifferentPrograms(t *testing.T) {
	t.Parallel()
	of := func(metric, revision string) record.Build {
		return record.Build{Metric: metric, Labels: map[string]string{"revision": revision}}
	}
	api, worker, library := of("api_build_info", "1"), of("worker_build_info", "1"), of("go_build_info", "")
	known := builds{}
	known.add([]record.Build{api, library})
	known.add([]record.Build{library, worker})
	known.add(nil)
	for name, c := range map[string]struct {
		reported []record.Build
		other    bool
	}{
		"one": {[]record.Build{api, library}, false}, "the other": {[]record.Build{library, worker}, false}, "both": {[]record.Build{api, library, worker}, false},
		"of a library alone": {[]record.Build{library}, true}, "none": {nil, true}, "deployed": {[]record.Build{of("api_build_info", "2"), library}, true},
	} {
		if got := known.other(c.reported); got != c.other {
			t.Errorf("%s: %t", name, got)
		}
	}
}
