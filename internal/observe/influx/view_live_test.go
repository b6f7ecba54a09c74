//go:build live

package influx

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/influxtest"
	"assay.dev/assay/internal/testing/polltest"
)

func serverOf(t *testing.T, db *influxtest.Server) *Server {
	t.Helper()
	s, err := NewServer(db.URL(), db.Token())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// startedAgo is a run whose load began so many seconds ago, and the unix second of that.
func startedAgo(seconds int64) (RunInfo, int64) {
	r := testRun()
	r.T0 = time.Now().Truncate(time.Second).Add(-time.Duration(seconds) * time.Second)
	return r, r.T0.Unix()
}

// waitForCount waits until InfluxDB has this number of points of the measurement
// transaction, and this number of transactions in them.
func waitForCount(t *testing.T, db *influxtest.Server, points int, transactions float64) {
	t.Helper()
	polltest.Until(t, fmt.Sprintf("InfluxDB has %d points of %g transactions", points, transactions), func() bool {
		sum, n := db.Sum(DefaultDatabase, `SELECT "count" FROM "transaction"`)
		return sum == transactions && n == points
	})
}

// A second is written during the run, and again after late completions.
func TestLateCompletions(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.15)
	db := influxtest.Start(t)
	v := NewView(serverOf(t, db))
	defer v.Close()
	v.Check(t.Context())
	r, start := startedAgo(20)
	v.Add(worker(0, 1, start, 10)) // before the writing begins
	v.Begin(r)
	waitForCount(t, db, 1, 10)
	v.Add(worker(0, 2, start+1, 7))
	waitForCount(t, db, 2, 17)
	v.Add(worker(0, 3, start, 5))
	v.Add(worker(1, 1, start+1, 3))
	waitForCount(t, db, 2, 25)
	done := v.Finish(t.Context(), nil)
	if diff := cmp.Diff(Result{Seconds: 2}, done); diff != "" {
		t.Error(diff)
	}
	if err, recovered := v.StatusChange(); err != nil || recovered {
		t.Errorf("status change: %v, %t", err, recovered)
	}
}

// Seconds that memory has no room for, because of an outage of the server or a very late
// completion, are written from the record at the end.
func TestFinishFromTheRecord(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.3)
	db := influxtest.Start(t)
	v := NewView(serverOf(t, db))
	v.pending.limit = 3
	r, start := startedAgo(60)
	v.Begin(r)
	var frames []metric.Frame
	add := func(f metric.Frame) {
		frames = append(frames, f)
		v.Add(f)
	}
	v.Check(t.Context())
	add(worker(0, 1, start, 10))
	waitForCount(t, db, 1, 10)
	db.Kill()
	for k := range int64(8) {
		add(worker(0, uint64(k+2), start+k+1, 10))
	}
	add(worker(0, 10, start, 4)) // for a second that was written and evicted
	frames = append(frames, metric.Frame{Source: "worker/0", Sequence: 11, Second: start, Closing: true})
	if n := len(v.pending.list(func(_ int64, s *pendingSecond) bool { return s.timeline != nil })); n != 3 {
		t.Errorf("%d seconds are in memory, the limit is 3", n)
	}
	v.setError(errors.New("no connection"))
	if err, _ := v.StatusChange(); err == nil {
		t.Error("the outage is not reported")
	}
	db.Restart()
	visits := 0
	replay := func(visit func(metric.Frame) error) error {
		visits++
		for _, f := range frames {
			if err := visit(f); err != nil {
				return err
			}
		}
		return nil
	}
	if diff := cmp.Diff(Result{Seconds: 9}, v.Finish(t.Context(), replay)); diff != "" {
		t.Error(diff)
	}
	if visits == 0 {
		t.Error("the record was not visited")
	}
	if err, recovered := v.StatusChange(); err != nil || !recovered {
		t.Errorf("status change after the restart: %v, %t", err, recovered)
	}
	waitForCount(t, db, 9, 94)
}

// If the record cannot be read, or the server denies access, the seconds are missing and
// the error says why.
func TestFinishReportsMissingSeconds(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.1)
	db := influxtest.Start(t)
	broken := errors.New("the disk is gone")
	v := NewView(serverOf(t, db))
	v.pending.limit = 2
	r, start := startedAgo(0) // so that nothing is due yet
	v.Begin(r)
	for k := range int64(5) {
		v.Add(worker(0, uint64(k+1), start+100+k, 10))
	}
	done := v.Finish(t.Context(), func(func(metric.Frame) error) error { return broken })
	if !errors.Is(done.Err, broken) || done.Seconds != 5 || done.Missing != 3 {
		t.Errorf("%+v", done)
	}

	wrong, err := NewServer(db.URL(), "certifier:wrong")
	if err != nil {
		t.Fatal(err)
	}
	v = NewView(wrong)
	v.Begin(r)
	v.Add(worker(0, 1, start, 10))
	if done := v.Finish(t.Context(), nil); done.Err == nil || done.Missing != 1 || done.Seconds != 1 {
		t.Errorf("%+v", done)
	}
}
