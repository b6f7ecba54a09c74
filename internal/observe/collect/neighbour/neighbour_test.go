//go:build live

package neighbour_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"assay.dev/assay/internal/observe/collect/neighbour"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/metrictest"
	"assay.dev/assay/internal/testing/polltest"
)

// frames is a sink.
type frames struct {
	mu  sync.Mutex
	all []metric.Frame
}

func (f *frames) take(one metric.Frame) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = append(f.all, one)
	return nil
}

// totals returns the requests and errors of a neighbour so far, and the seconds that have them.
func (f *frames) totals(name string) (requests, errors float64, seconds int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, one := range f.all {
		for _, p := range one.Points {
			switch {
			case p.Series.Label(metric.LabelCondition) != name:
			case p.Series.Name == metric.NeighbourRequests:
				requests += p.Value
				seconds++
			default:
				errors += p.Value
			}
		}
	}
	return requests, errors, seconds
}

// silent reports whether the last seconds, so many, have no value of a neighbour.
func (f *frames) silent(name string, seconds int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.all) < seconds {
		return false
	}
	for _, one := range f.all[len(f.all)-seconds:] {
		for _, p := range one.Points {
			if p.Series.Label(metric.LabelCondition) == name {
				return false
			}
		}
	}
	return true
}

// watch collects until the test ends, and checks the stream then.
func watch(t *testing.T, conditions ...spec.Abort) *frames {
	t.Helper()
	c := neighbour.New(conditions)
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	f, ended := &frames{}, make(chan error)
	go func() { ended <- c.Run(ctx, f.take) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		metrictest.CheckStream(t, metric.SourceNeighbours, f.all)
		metrictest.Check(t, f.all...)
	})
	return f
}

// exposition is the metrics of a neighbour, which a test sets.
type exposition struct {
	text    atomic.Pointer[string]
	scrapes atomic.Int64
}

func (e *exposition) set(lines ...string) {
	text := strings.Join(lines, "\n") + "\n"
	e.text.Store(&text)
}

// settle waits until what was set has certainly been read.
func (e *exposition) settle(t *testing.T) {
	t.Helper()
	before := e.scrapes.Load()
	polltest.Until(t, "two more scrapes", func() bool { return e.scrapes.Load() >= before+2 })
}

func (e *exposition) serve(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		defer e.scrapes.Add(1)
		if text := *e.text.Load(); text != "\n" {
			_, _ = fmt.Fprint(w, text)
			return
		}
		http.Error(w, "overloaded", http.StatusServiceUnavailable)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/metrics"
}

// The increases of the selected counters are recorded: not what was counted before, all of a
// series that appears, and of a neighbour that was restarted what it has counted since. While
// it does not answer there is no value.
func TestCounters(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.05)
	var e exposition
	e.set("# TYPE requests_total counter", `requests_total{code="200"} 1000`, `requests_total{code="500"} 40`, `requests_total{code="200",path="/metrics"} 7`)
	n := spec.Neighbour{URL: e.serve(t), Errors: `requests_total{code=~"5.."}`, Total: `requests_total{path!="/metrics"}`}
	if err := neighbour.Examine(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	f := watch(t, spec.Abort{Metric: "orders", Neighbour: &n})
	await := func(what string, requests, errors float64) {
		t.Helper()
		polltest.Until(t, what, func() bool { r, e, _ := f.totals("orders"); return r == requests && e == errors })
		e.settle(t)
		if r, e, _ := f.totals("orders"); r != requests || e != errors {
			t.Errorf("%s: %g requests, %g errors; want %g, %g", what, r, e, requests, errors)
		}
	}
	polltest.Until(t, "a second without a request", func() bool { _, _, seconds := f.totals("orders"); return seconds > 0 })
	await("nothing has happened", 0, 0)
	e.set(`requests_total{code="200"} 1100`, `requests_total{code="500"} 45`, `requests_total{code="200",path="/metrics"} 99`)
	await("an increase", 105, 5)
	e.set(`requests_total{code="200"} 1100`, `requests_total{code="500"} 45`, `requests_total{code="503"} 3`)
	await("a series that appears", 108, 8)
	e.set("") // it answers 503
	e.settle(t)
	polltest.Until(t, "two seconds in a row have no value", func() bool { return f.silent("orders", 2) })
	e.set(`requests_total{code="200"} 20`, `requests_total{code="500"} 2`, `requests_total{code="503"} 4`)
	await("a restart, and an increase", 108+20+2+1, 8+2+1)
}

// A health request fails unless the answer is 2xx and in time.
func TestHealth(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.05)
	var status atomic.Int64
	status.Store(204)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if code := int(status.Load()); code != 0 {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(code)
			return
		}
		<-r.Context().Done()
	}))
	t.Cleanup(s.Close)
	n := spec.Neighbour{URL: s.URL + "/health", Timeout: 900 * time.Millisecond}
	patient := spec.Neighbour{URL: s.URL + "/health", Timeout: time.Minute}
	f := watch(t, spec.Abort{Metric: "search", Neighbour: &n}, spec.Abort{Metric: "orders", Neighbour: &patient}, spec.Abort{Metric: "db_sessions"})
	polltest.Until(t, "good answers", func() bool {
		requests, errors, _ := f.totals("search")
		slow, _, _ := f.totals("orders")
		return requests-errors >= 2 && slow >= 2
	})
	if _, errors, _ := f.totals("orders"); errors > 0 {
		t.Errorf("%g errors of a good neighbour", errors)
	}
	for _, code := range []int64{503, 302, 0} {
		status.Store(code)
		_, before, _ := f.totals("search")
		polltest.Until(t, fmt.Sprintf("two failures with %d", code), func() bool { _, errors, _ := f.totals("search"); return errors >= before+2 })
	}
	s.CloseClientConnections()
	_ = s.Listener.Close()
	_, before, _ := f.totals("search")
	polltest.Until(t, "two failures of a neighbour that is gone", func() bool { _, errors, _ := f.totals("search"); return errors >= before+2 })
}

// What could never stop a run is found before it.
func TestExamine(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.05)
	var e exposition
	e.set(`requests_total{code="200"} 1000`, "# TYPE took histogram", `took_bucket{le="+Inf"} 3`, "took_sum 5", "took_count 3")
	url := e.serve(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/bad":
			w.WriteHeader(http.StatusServiceUnavailable)
		case "/moved":
			http.Redirect(w, r, "/good", http.StatusFound)
		case "/hangs":
			<-r.Context().Done()
		}
	}))
	t.Cleanup(server.Close)
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	counters := func(errors, total string) spec.Neighbour {
		return spec.Neighbour{URL: url, Errors: errors, Total: total}
	}
	health := func(path string) spec.Neighbour {
		return spec.Neighbour{URL: server.URL + path, Timeout: time.Minute}
	}
	for name, c := range map[string]struct {
		neighbour spec.Neighbour
		problem   string
	}{
		"no error so far":         {counters(`requests_total{code=~"5.."}`, "requests_total"), ""},
		"of a histogram":          {counters(`took_count{}`, "took_count"), ""},
		"no such total":           {counters("requests_total", "requests"), "has no metric requests with these labels"},
		"nothing in the total":    {counters("requests_total", `requests_total{code="204"}`), "has no metric requests_total with these labels"},
		"no such errors":          {counters("errors_total", "requests_total"), "has no metric errors_total: expose it with 0"},
		"no such label":           {counters(`requests_total{status=~"5.."}`, "requests_total"), "requests_total of " + url + " has no label status"},
		"no metrics":              {spec.Neighbour{URL: server.URL + "/bad", Errors: "a", Total: "b"}, "answers 503"},
		"nobody listens":          {spec.Neighbour{URL: gone.URL, Errors: "a", Total: "b"}, "connection refused"},
		"good":                    {health("/good"), ""},
		"bad":                     {health("/bad"), "bad before the load: it answers 503"},
		"moved":                   {health("/moved"), "it answers 302"},
		"hangs":                   {spec.Neighbour{URL: server.URL + "/hangs", Timeout: 300 * time.Millisecond}, "no answer within 300ms"},
		"nobody listens, either":  {spec.Neighbour{URL: gone.URL, Timeout: time.Second}, "connection refused"},
		"on another host, by DNS": {spec.Neighbour{URL: "http://neighbour.invalid/health", Timeout: time.Minute}, "neighbour.invalid"},
	} {
		err := neighbour.Examine(t.Context(), c.neighbour)
		if (err == nil) != (c.problem == "") || err != nil && (!strings.Contains(err.Error(), c.problem) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%s: %v, want %q", name, err, c.problem)
		}
	}
	if neighbour.New([]spec.Abort{{Metric: "db_sessions"}}) != nil {
		t.Error("a collector without neighbours")
	}
}
