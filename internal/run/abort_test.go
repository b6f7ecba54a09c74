//go:build live

package run_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/judge/certificate/build"
	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/run"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/mysqldtest"
	"assay.dev/assay/internal/testing/polltest"
)

// on returns a condition that holds for three seconds over a limit.
func on(name, aggregate string, limit float64) spec.Abort {
	return spec.Abort{Metric: name, Expression: fmt.Sprintf("%s>%g for 3s", aggregate, limit), Limit: limit, For: 3 * time.Second}
}

// stopsWhen runs o, does harm in its hold until the load stops, and checks that the condition, which is on the
// system's own signals, stops the load within seconds, with a verdict and a certificate that
// say so, from the sealed record alone.
func stopsWhen(t *testing.T, o run.Options, condition spec.Abort, harm func(context.Context) error) {
	t.Helper()
	// A generator on a busy machine would make the run INVALID, which outranks FAIL.
	o.Profile.Rules = withoutGeneratorRules()
	o.Profile.Flows[0].SLOs = []spec.SLO{{Metric: metric.TransactionDuration, Expression: "max<60000", Aggregate: spec.Max, Operator: "<", Bound: 60_000}}
	ctx, end := context.WithCancel(t.Context())
	defer end()
	var began time.Time
	done, stopping := make(chan error, 1), ""
	begin := during(2*time.Second, func() { began = time.Now(); done <- harm(ctx) })
	o.Progress = func(e run.Event) {
		if strings.HasPrefix(e.Text, "stopping: ") {
			stopping = e.Text
			end()
		}
		begin(e)
	}
	time.AfterFunc(2*time.Minute, end) // ends a run that does not stop
	r := certify(t, o)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	a := r.Facts.Aborted
	if a == nil {
		t.Fatalf("the run was not aborted: stopped %q", r.Facts.Stopped)
	}
	// The readings of a second arrive within two; a busy machine may be late.
	if took := r.Facts.Ended.Sub(time.Unix(a.To, 0)); took > time.Minute {
		t.Errorf("the load went on for %s after the condition held", took)
	}
	if a.Metric != condition.Metric || a.Expression != condition.Expression || a.Protects != condition.Protects() || a.From < began.Unix()-1 || len(a.Observed) != 3 {
		t.Errorf("aborted by %+v, harm was done at %d", a, began.Unix())
	}
	for _, reading := range a.Observed {
		if reading.Value <= condition.Limit || reading.Second < a.From || reading.Second >= a.To {
			t.Errorf("reading %+v of %+v", reading, a)
		}
	}
	if stopping != "stopping: aborted "+a.String() {
		t.Errorf("the progress says %q", stopping)
	}
	v := verdict.Judge(r)
	if v.Outcome != verdict.Fail || !strings.Contains(v.Claim, "to protect "+condition.Protects()) || !strings.Contains(v.Claim, "not an SLO of the system") {
		t.Errorf("verdict %s: %s", v.Outcome, v.Claim)
		logRules(t, v)
	}
	for _, s := range v.SLOs {
		if s.Outcome == verdict.Pass || strings.HasPrefix(s.Expression, "abort") {
			t.Errorf("%s %s is %s", s.Metric, s.Expression, s.Outcome)
		}
	}
	checkCatalogue(t, o.Dir)
	checkJudgedAgain(t, o.Dir)
	t.Logf("stopped %s after harm was done, %s after the condition held: %s", r.Facts.Ended.Sub(began), r.Facts.Ended.Sub(time.Unix(a.To, 0)), v.Claim)
}

// checkJudgedAgain fails the test unless the sealed record gives one certificate whenever it
// is judged, which has the abort.
func checkJudgedAgain(t *testing.T, dir string) {
	t.Helper()
	var documents [2][]byte
	for i := range documents {
		r, err := record.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if documents[i], err = certificate.Marshal(build.Of(r)); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(documents[0], documents[1]) || !bytes.Contains(documents[0], []byte(`"truncated": true`)) {
		t.Errorf("%s\n%s", documents[0], documents[1])
	}
}

// Another client of the database keeps many sessions active: the load stops.
func TestAbortOnSessions(t *testing.T) {
	t.Parallel()
	for _, flavour := range flavours {
		t.Run(flavour, func(t *testing.T) {
			t.Parallel()
			cpus(t, 0.3)
			s := serve(t, flavour)
			o := s.payments(t, quickLoad(10, 3*time.Minute))
			condition := on(metric.DBSessions, "max", 30)
			o.Profile.Abort = []spec.Abort{on(metric.RequestFailed, "rate", 0.9), condition, on(metric.DBConnections, "max", 100_000)}
			root := mysqldtest.Open(t, s.server.DSN())
			stopsWhen(t, o, condition, func(ctx context.Context) error {
				var open sync.WaitGroup
				for range 50 {
					open.Go(func() { _, _ = root.ExecContext(ctx, "SELECT SLEEP(600)") }) // until ctx is done
				}
				open.Wait()
				return nil
			})
		})
	}
}

// The table of the service is locked, so that its connections, more than a slow disk keeps
// busy, are all in use and requests wait for connections.
func TestAbortOnPool(t *testing.T) {
	t.Parallel()
	const connections = 16
	busy := spec.Abort{Metric: "busy", Expression: "max>15.5 for 3s", Limit: connections - 0.5, For: 3 * time.Second, Gauge: &spec.Gauge{Metric: "go_sql_in_use_connections"}}
	for name, condition := range map[string]spec.Abort{"waits": on(metric.ServicePoolWaits, "rate", 25), "its own gauge": busy} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cpus(t, 0.35)
			s := serve(t, "mariadb", "--pool-max-open", strconv.Itoa(connections))
			o := s.profile(t, "ingestion", quickLoad(50, 3*time.Minute))
			o.Profile.Abort = []spec.Abort{condition}
			root := mysqldtest.Open(t, s.server.DSN())
			stopsWhen(t, o, condition, func(ctx context.Context) error {
				return lockTable(ctx, root, "shop.events")
			})
		})
	}
}

// neighbour is another service, which counts its requests and may begin to fail.
type neighbour struct {
	url     string
	failing atomic.Bool
	silent  atomic.Bool // its metrics are not exposed
	scrapes atomic.Int64
}

// newNeighbour starts one that has 100 requests in each second, all of which fail once it is
// failing.
func newNeighbour(t *testing.T) *neighbour {
	t.Helper()
	n := &neighbour{}
	begin := time.Now()
	var mu sync.Mutex
	var good, bad, before float64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.scrapes.Add(1)
		switch {
		case r.URL.Path == "/health" && n.failing.Load(), r.URL.Path == "/metrics" && n.silent.Load():
			http.Error(w, "overloaded", http.StatusServiceUnavailable)
		case r.URL.Path == "/metrics":
			mu.Lock()
			defer mu.Unlock()
			now := 100 * time.Since(begin).Seconds()
			if n.failing.Load() {
				bad += now - before
			} else {
				good += now - before
			}
			before = now
			_, _ = fmt.Fprintf(w, "http_requests_total{code=\"200\"} %f\n", good)
			if bad > 0 {
				_, _ = fmt.Fprintf(w, "http_requests_total{code=\"503\"} %f\n", bad)
			}
		}
	}))
	t.Cleanup(s.Close)
	n.url = s.URL
	return n
}

func (n *neighbour) counted(name string) spec.Abort {
	a := on(name, "rate", 0.05)
	a.Neighbour = &spec.Neighbour{URL: n.url + "/metrics", Errors: `http_requests_total{code=~"5.."}`, Total: "http_requests_total"}
	return a
}

func (n *neighbour) healthy(name string) spec.Abort {
	a := on(name, "rate", 0.5)
	a.Neighbour = &spec.Neighbour{URL: n.url + "/health", Timeout: 5 * time.Second}
	return a
}

// idleTarget is a target that answers at once.
func idleTarget(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(s.Close)
	return s.URL
}

// A neighbour begins to fail: by its own counters, or by its health. The other one does not.
func TestAbortOnNeighbour(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]func(*neighbour, string) spec.Abort{"counters": (*neighbour).counted, "health": (*neighbour).healthy} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cpus(t, 0.15)
			orders, mail := newNeighbour(t), newNeighbour(t)
			o := options(t, steady(20, 3*time.Minute), getScript, idleTarget(t))
			condition := of(orders, "orders")
			o.Profile.Abort = []spec.Abort{mail.counted("mail"), mail.healthy("mail-health"), condition}
			stopsWhen(t, o, condition, func(context.Context) error { orders.failing.Store(true); return nil })
		})
	}
}

func anyTrue(all []bool) bool {
	for _, ok := range all {
		if ok {
			return true
		}
	}
	return false
}

// A run whose condition cannot be watched is refused, and leaves no folder: before it begins,
// or when its source fails after the preflight.
func TestAbortThatCannotBeWatched(t *testing.T) {
	t.Parallel()
	cpus(t, 0.3)
	orders, url := newNeighbour(t), idleTarget(t)
	refused := func(o run.Options, problem string) {
		t.Helper()
		if err := run.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%v, want %s", err, problem)
		}
		if left, err := os.ReadDir(o.Dir); err == nil {
			t.Errorf("the folder holds %v", left)
		}
	}
	o := options(t, steady(20, 5*time.Second), getScript, url)
	o.Profile.Abort = []spec.Abort{on(metric.DBSessions, "max", 30)}
	refused(o, "profile steady aborts on db_sessions, which cannot be watched: no database is named")
	o = options(t, steady(20, 5*time.Second), getScript, url)
	o.Profile.Abort = []spec.Abort{on(metric.ServicePoolWaits, "rate", 30)}
	refused(o, "aborts on service_pool_waits, which cannot be watched")
	o = options(t, steady(20, 5*time.Second), getScript, url)
	o.Profile.Abort = []spec.Abort{orders.counted("orders")}
	before := orders.scrapes.Load()
	o.Progress = func(e run.Event) { // which comes after the preflight
		if strings.HasPrefix(e.Text, "initialising") {
			polltest.Until(t, "the preflight has read the neighbour", func() bool { return orders.scrapes.Load() > before })
			orders.silent.Store(true)
		}
	}
	refused(o, "the abort condition orders rate>0.05 for 3s cannot be watched: neighbour orders: ")
}
