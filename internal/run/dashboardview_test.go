//go:build live

package run_test

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/influx"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/run"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/influxtest"
	"assay.dev/assay/internal/testing/mysqldtest"
	"assay.dev/assay/internal/testing/quotatest"
)

// legends are the series that each panel of certification.json must show for the run of
// TestViewAndDashboards.
var legends = map[string][]string{
	"Verdict":                            {"verdict"},
	"Claim":                              {"verdict", "claim"},
	"Rate":                               {"payment target", "payment scheduled", "payment completed"},
	"Latency of a transaction":           {"payment p50", "payment p95", "payment p99", "SLO transaction_duration:p(95)<500"},
	"Latency of requests, p95":           {"payment pay", "payment get_payment", "SLO http_req_duration{name:pay}:p(95)<400"},
	"Errors":                             {"payment transactions", "payment requests: pay", "payment requests: get_payment", "SLO http_req_failed:rate<0.02"},
	"Active sessions by wait class":      {"CPU", "row lock", "vCPUs"},
	"Database time per transaction":      {"CPU", "row lock"},
	"Commits per second":                 {"Com_commit", "Binlog_commits", "Innodb_data_fsyncs"},
	"Start delay, p99":                   {"generator", "queueing for a VU"},
	"CPU steal, throttling and pressure": {"stolen by the hypervisor", "some task waited for a CPU"},
	"Queue depth":                        {"queue_depth"},
	"Lag of replicas and binlog readers": {"binlog_reader_lag "},
	"Consumer lag":                       {"consumer lag"},
	"Persist lag":                        {"persist lag"},
	"Errors by class":                    {"service: duplicate key payment"},
}

// quotaField is a queried field that only processes with a CPU quota have.
const quotaField = `"process_throttled"`

// After a run of the profile payment against the reference service InfluxDB has the points
// of the record, and every query of every dashboard returns data.
func TestViewAndDashboards(t *testing.T) {
	t.Parallel()
	cpus(t, 0.5)
	db, s := influxtest.Start(t), serve(t, "mariadb")
	o := s.payments(t, paymentLoad(40, 12*time.Second))
	o.Profile.Rules = withoutGeneratorRules()
	o.Profile.Gauges = map[string]spec.Gauge{"queue_depth": {Metric: "ingest_events_in_memory"}}
	o.Profile.Reader = &spec.Lag{Metric: "ingest_events_in_memory", Unit: spec.UnitMs}
	o.Profile.Flows[0].Ledger.Lag = o.Profile.Reader
	o.Profile.Consumer = consumed(t, broker(t), 7)
	o.View = viewServer(t, db)
	burnCPU, waitForRow := s.cpuBurner(t), s.rowWaiter(t)
	quota, limited := quotatest.Make(t, 100) // 100 CPUs: throttles nothing
	o.Progress = func(e run.Event) {
		if enter(plan.Hold)(e) {
			burnCPU()
			waitForRow()
			s.repeatPayment(t)
		}
		if limited && enter(plan.Warmup)(e) {
			quota.Put(worker(t, o.ID, 0))
		}
	}
	r := certify(t, o)
	checkAllFrames(t, r)
	v := verdict.Judge(r) // the outcome may be any, because of the CPU burner
	if len(viewLimitations(v)) > 0 {
		t.Errorf("limitations: %q", viewLimitations(v))
	}
	checkPoints(t, db, r)
	checkSums(t, db, r)

	about := influx.NewRunInfo(r.Plan, r.Environment, r.Facts.T0)
	event := influx.Verdict(about, r.Facts.Ended, v.Outcome.String(), v.Claim)
	// Pushing everything again adds no point twice.
	if err := influx.Push(t.Context(), viewServer(t, db), about, r.Timeline, event, func(int, int) {}); err != nil {
		t.Fatal(err)
	}
	checkPoints(t, db, r)
	for name, d := range readDashboards(t) {
		for _, interval := range []time.Duration{time.Second, 10 * time.Second} {
			g := grafana{db, r, v, interval, limited}
			t.Run(fmt.Sprintf("%s by %s", name, interval), func(t *testing.T) { g.check(t, d) })
		}
	}
}

// cpuBurner returns a function that keeps one session of the database on CPU for a while:
// a short run on a fast database may sample none.
func (s service) cpuBurner(t *testing.T) func() {
	t.Helper()
	db, err := sql.Open("mysql", s.dsn)
	if err != nil {
		t.Fatal(err)
	}
	var burning sync.WaitGroup
	t.Cleanup(func() { burning.Wait(); _ = db.Close() })
	mysqldtest.Exec(t, db, "SELECT 1")
	return func() {
		burning.Go(func() {
			for range 10 {
				time.Sleep(300 * time.Millisecond)
				if _, err := db.ExecContext(context.Background(), "DO BENCHMARK(500000, SHA1('assay'))"); err != nil {
					t.Errorf("keep the database busy: %v", err)
					return
				}
			}
		})
	}
}

// repeatPayment sends two payments of one id, of which the database refuses the second as
// a duplicate key.
func (s service) repeatPayment(t *testing.T) {
	t.Helper()
	for _, key := range []string{"first", "second"} {
		body := `{"id":"repeated","run_id":"none","idempotency_key":"` + key + `","mode":"wallet","amount":100,"account":1}`
		res, err := http.Post(s.url+"/payments", "application/json", strings.NewReader(body))
		if err != nil {
			t.Error(err)
			return
		}
		_ = res.Body.Close()
	}
}

// checkSums compares sums in InfluxDB with sums over the record's frames, which do not
// depend on how points are made.
func checkSums(t *testing.T, db *influxtest.Server, r record.Run) {
	t.Helper()
	scheduled, outcomes := checkAccounted(t, r)
	requests := float64(r.Timeline.Hist("http_req_duration", nil, record.All).Count())
	sessions, _ := r.Timeline.Sum("db_session", nil, record.All)
	samples, _ := r.Timeline.Sum("db_sample", nil, record.All)
	commits, _ := r.Timeline.Sum("db_counter", nil, record.All)
	for query, want := range map[string]float64{
		`SELECT "count" FROM "transaction"`:                              float64(scheduled),
		`SELECT "scheduled" FROM "arrival"`:                              float64(scheduled),
		`SELECT "completed" FROM "arrival"`:                              float64(outcomes["completed"]),
		`SELECT "samples" FROM "transaction" WHERE "slo" =~ /p.95.<500/`: float64(scheduled),
		`SELECT "count" FROM "request"`:                                  requests,
		`SELECT "sessions" FROM "db_session"`:                            sessions,
		`SELECT "samples" FROM "db_session"`:                             samples,
		`SELECT "increase" FROM "db_counter"`:                            commits,
	} {
		if got, _ := db.Sum(influx.DefaultDatabase, query); got != want || want == 0 {
			t.Errorf("%s: the sum is %g, the record has %g", query, got, want)
		}
	}
}

// grafana makes the dashboards' queries for one run.
type grafana struct {
	db       *influxtest.Server
	run      record.Run
	verdict  verdict.Verdict
	interval time.Duration // between the points of a panel
	limited  bool          // the worker has a CPU quota
}

// values are the dashboards' variables.
func (g grafana) values() map[string]string {
	return map[string]string{"profile": g.run.Plan.Profile.Name, "run": g.run.Plan.Run}
}

// check runs every query of a dashboard, and fails the test for one without data, except
// those of quotas if the worker has none.
func (g grafana) check(t *testing.T, d dashboard) {
	t.Helper()
	for _, variable := range d.Templating.List {
		if variable.Type != "query" {
			continue
		}
		found, want := g.query(t, variable.Query), g.values()[variable.Name]
		if len(found) != 1 || len(found[0].Values) != 1 || found[0].Values[0][1] != want {
			t.Errorf("variable %s: %v, want %s", variable.Name, found, want)
		}
	}
	events := 0
	for _, a := range d.Annotations.List {
		if a.Target.Query != a.Query {
			t.Errorf("annotation %s has two queries", a.Name)
		}
		found := g.query(t, a.Query)
		if len(found) != 1 || !slices.Equal(found[0].Columns, []string{"time", a.TitleColumn, a.TextColumn, a.TagsColumn}) {
			t.Fatalf("annotation %s: %v", a.Name, found)
		}
		events += len(found[0].Values)
	}
	if want := len(g.run.Plan.Load.Stages) + 1; events != want {
		t.Errorf("%d events, want %d: each stage and the verdict", events, want)
	}
	for _, p := range d.Panels {
		g.checkPanel(t, p)
	}
}

func (g grafana) checkPanel(t *testing.T, p panel) {
	t.Helper()
	var got []string
	for _, target := range p.Targets {
		if !target.RawQuery {
			t.Errorf("panel %q has a query that is not InfluxQL", p.Title)
		}
		series := g.query(t, target.Query)
		if len(series) == 0 && (g.limited || !strings.Contains(target.Query, quotaField)) {
			t.Errorf("panel %q: nothing found by %s", p.Title, target.Query)
		}
		for _, s := range series {
			if !hasValue(s) {
				t.Errorf("panel %q: only gaps in %v of %s", p.Title, s.Tags, target.Query)
			}
			got = append(got, legend(target.Alias, s)...)
		}
	}
	for _, want := range legends[p.Title] {
		if !slices.Contains(got, want) {
			t.Errorf("panel %q shows %q, not %q", p.Title, got, want)
		}
	}
	if p.Title == "Verdict" {
		found := g.query(t, p.Targets[0].Query)
		if shown := found[0].Values[0][1]; shown != g.verdict.Outcome.String() {
			t.Errorf("the panel shows the verdict %v, want %s", shown, g.verdict.Outcome)
		}
	}
}

// query makes a query with variables and macros replaced as Grafana does.
func (g grafana) query(t *testing.T, query string) []influxtest.Series {
	t.Helper()
	span := whole(g.run)
	for name, value := range g.values() {
		query = strings.ReplaceAll(query, "${"+name+":regex}", regexp.QuoteMeta(value))
	}
	query = strings.NewReplacer(
		"$timeFilter", fmt.Sprintf("time >= %dms and time <= %dms", (span.From-5)*1000, span.To*1000),
		"$__interval_ms", fmt.Sprint(g.interval.Milliseconds()),
		"$__interval", fmt.Sprintf("%ds", int(g.interval.Seconds())),
	).Replace(query)
	if rest := regexp.MustCompile(`\$[a-z_{]`).FindString(query); rest != "" {
		t.Errorf("%s: %s is not replaced", query, rest)
	}
	return g.db.Query(influx.DefaultDatabase, query)
}

func hasValue(s influxtest.Series) bool {
	return slices.ContainsFunc(s.Values, func(row []any) bool { return row[1] != nil })
}

var tagAlias = regexp.MustCompile(`\$tag_([a-z_]+)`)

// legend returns Grafana's name of a series; for a table, its columns.
func legend(alias string, s influxtest.Series) []string {
	if alias == "" {
		return s.Columns[1:]
	}
	return []string{tagAlias.ReplaceAllStringFunc(alias, func(name string) string { return s.Tags[strings.TrimPrefix(name, "$tag_")] })}
}
