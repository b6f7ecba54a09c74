//go:build live

package run_test

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/influx"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/run"
	"assay.dev/assay/internal/testing/influxtest"
)

// viewServer returns the server of the view, as configured by the environment.
func viewServer(t *testing.T, db *influxtest.Server) *influx.Server {
	t.Helper()
	s, err := influx.NewServer(db.URL(), db.Token())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// column is a field of the points of a measurement, and total the sum and number of its
// values.
type (
	column struct{ measurement, field string }
	total  struct {
		sum float64
		n   int
	}
)

// addPoint adds the numeric fields of a point.
func addPoint(totals map[column]total, p influx.Point) {
	for _, f := range p.Fields {
		if f.Text == "" {
			c := column{p.Measurement, f.Name}
			totals[c] = total{totals[c].sum + f.Value, totals[c].n + 1}
		}
	}
}

// checkPoints fails the test unless the server has exactly the points of the record: for
// each field the same number and the same sum.
func checkPoints(t *testing.T, db *influxtest.Server, r record.Run) {
	t.Helper()
	want := map[column]total{}
	about := influx.NewRunInfo(r.Plan, r.Environment, r.Facts.T0)
	for _, second := range r.Timeline.Seconds() {
		for _, p := range influx.Points(about, r.Timeline, second) {
			addPoint(want, p)
		}
	}
	if len(want) < 20 {
		t.Errorf("the record has points of %d fields only", len(want))
	}
	for c, w := range want {
		sum, n := db.Sum(influx.DefaultDatabase, fmt.Sprintf(`SELECT %q FROM %q WHERE "run" = '%s'`, c.field, c.measurement, r.Plan.Run))
		if n != w.n || math.Abs(sum-w.sum) > 1e-9*math.Abs(w.sum) {
			t.Errorf("%s.%s: %d points, sum %g; the record makes %d, %g", c.measurement, c.field, n, sum, w.n, w.sum)
		}
	}
	events := db.Query(influx.DefaultDatabase, fmt.Sprintf(`SELECT "title" FROM "run_event" WHERE "run" = '%s' AND "kind" = 'stage'`, r.Plan.Run))
	if len(events) != 1 || len(events[0].Values) != len(r.Plan.Load.Stages) {
		t.Errorf("%d stages, and the events %v", len(r.Plan.Load.Stages), events)
	}
}

// checkAllFrames fails the test if the record lacks a frame that was sent.
func checkAllFrames(t *testing.T, r record.Run) {
	t.Helper()
	checkAccounted(t, r)
	for _, s := range r.Timeline.Sources() {
		if s.Missing > 0 || !s.Closed {
			t.Errorf("stream of %s: %d frames are missing, closed %t", s.Name, s.Missing, s.Closed)
		}
	}
}

// judgeAllFrames judges a run, and fails the test if its record lacks a frame that was
// sent.
func judgeAllFrames(t *testing.T, r record.Run) verdict.Verdict {
	t.Helper()
	checkAllFrames(t, r)
	return verdict.Judge(r)
}

// viewLimitations returns the limitations about InfluxDB.
func viewLimitations(v verdict.Verdict) (all []string) {
	for _, text := range v.Limitations {
		if strings.Contains(text, "InfluxDB") {
			all = append(all, text)
		}
	}
	return all
}

// notes collects the notes of a run.
type notes struct {
	mu  sync.Mutex
	all []string
}

func (n *notes) add(e run.Event) {
	if e.Kind == run.Note {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.all = append(n.all, e.Text)
	}
}

func (n *notes) contain(text string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Contains(strings.Join(n.all, "\n"), text)
}

// plainRun returns the options of a run against a simple target, without a database.
func plainRun(t *testing.T, hold time.Duration) run.Options {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(think))
	t.Cleanup(server.Close)
	p := loose(steady(50, hold))
	p.Rules = withoutGeneratorRules()
	return options(t, p, getScript, server.URL)
}

// missingInView reads the limitation of an incomplete view.
func missingInView(t *testing.T, limitations []string) (missing, seconds int) {
	t.Helper()
	if len(limitations) != 1 {
		t.Fatalf("limitations: %q", limitations)
	}
	if _, err := fmt.Sscanf(limitations[0], "the view in InfluxDB is incomplete: %d of %d seconds were not written; assay influx push RUN fills it", &missing, &seconds); err != nil {
		t.Fatalf("limitation %q: %v", limitations[0], err)
	}
	return missing, seconds
}

// A server that is down from the start is reported, and does not change the verdict.
func TestViewWithoutServer(t *testing.T) {
	t.Parallel()
	cpus(t, 0.15)
	expectPass(t, func(t *testing.T) verdict.Verdict {
		db := influxtest.Start(t)
		db.Kill()
		o := plainRun(t, 10*time.Second)
		o.View = viewServer(t, db)
		var printed notes
		o.Progress = printed.add
		r := certify(t, o)
		checkOverrun(t, r)
		// The first seconds may have nothing to write.
		v := judgeAllFrames(t, r)
		missing, seconds := missingInView(t, viewLimitations(v))
		if missing < 10 || seconds != len(r.Timeline.Seconds()) {
			t.Errorf("%d of %d seconds were not written, and the record has %d", missing, seconds, len(r.Timeline.Seconds()))
		}
		if !printed.contain("the view is paused: InfluxDB at 127.0.0.1") {
			t.Errorf("notes: %q", printed.all)
		}
		return v
	})
}
