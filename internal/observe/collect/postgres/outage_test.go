//go:build live

package postgres_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/mysqldtest"
	"assay.dev/assay/internal/testing/processtest"
	"assay.dev/assay/internal/testing/samplingtest"
)

// collectorPID returns the server's process of the collector's session.
func collectorPID(t *testing.T, b *bench) (pid int) {
	t.Helper()
	if err := b.db.QueryRow("SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'assay run %'").Scan(&pid); err != nil {
		t.Fatalf("find the collector's session: %v", err)
	}
	return pid
}

// The session is terminated, and a new one is possible only a second later.
func TestSessionEnded(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.4)
	b := newBenchOnDisk(t, counted)
	mysqldtest.Exec(t, b.db, "CREATE ROLE watcher LOGIN PASSWORD 'x' IN ROLE pg_monitor", "GRANT USAGE ON SCHEMA \"stats schema\" TO watcher")
	c := started(t, b.UserDSN("watcher", "x", shop))
	r := samplingtest.Start(t, c)
	r.Await(t, 1)
	stop := b.load(t, 4, update)
	r.Await(t, 1)
	mysqldtest.Exec(t, b.db, "ALTER ROLE watcher NOLOGIN", fmt.Sprintf("SELECT pg_terminate_backend(%d)", collectorPID(t, b)))
	cut := time.Now()
	time.Sleep(time.Second)
	without := float64(time.Since(cut).Milliseconds())
	mysqldtest.Exec(t, b.db, "ALTER ROLE watcher LOGIN")
	r.Await(t, 1)
	stop()
	b.allReported(t)
	r.Await(t, 12)
	s, err := r.Stop(t)
	if err != nil {
		t.Fatal(err)
	}
	if gap := s.LongestGap(); gap < without {
		t.Errorf("the longest gap is %v ms, without a connection for %v ms", gap, without)
	}
	s.CheckAccounted(t)
	tuples, statements := s.Total(metric.DBCounter, "name", "tup_updated"), s.Total(metric.DBStatements)
	if tuples == 0 || statements < 0.6*tuples || statements > 1.4*tuples {
		t.Errorf("increases over the gap: %v rows, %v statements", tuples, statements)
	}
}

// After a restart the counters start at 0, and collecting continues.
func TestServerRestarted(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.35)
	b := newBenchOnDisk(t, counted)
	stop := b.load(t, 2, update)
	c := started(t, b.dsn)
	r := samplingtest.Start(t, c)
	r.Await(t, 1)
	stop()
	if err := b.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := b.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	up := time.Now().Unix() + 1
	r.Await(t, 1)
	b.db.SetMaxIdleConns(0) // close the connections to the old server
	stop = samplingtest.Load(t, b.db, 2, samplingtest.Brief, update)
	r.Until(t, "waits of commits and statements are seen after the restart", func(s samplingtest.Result) bool {
		commits, _ := s.Sum(metric.DBSession, metric.NewSeries("", "", "class", "commit").Labels, record.Span{From: up, To: s.Span.To})
		statements, _ := s.Sum(metric.DBStatements, nil, record.Span{From: up, To: s.Span.To})
		return commits > 0 && statements > 0
	})
	s, err := r.Stop(t)
	stop()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range s.Frames {
		for _, p := range f.Points {
			if p.Kind == metric.Counter && (p.Value < 0 || p.Value > 1e9) {
				t.Errorf("second %d: %s = %v", f.Second, p.Series.Key(), p.Value)
			}
		}
	}
	s.CheckAccounted(t)
	if notes := c.Notes(); len(notes) > 0 {
		t.Errorf("notes %q", notes)
	}
}

// If the server's process of the collector's session is stopped (SIGSTOP), the collector
// opens a new session, and the old one ends with its statement.
func TestSessionStopped(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.2)
	b := newBench(t)
	c := started(t, b.dsn)
	r := samplingtest.Start(t, c)
	r.Await(t, 1)
	stuck := collectorPID(t, b)
	if err := processtest.Suspend(stuck); err != nil {
		t.Fatal(err)
	}
	ours := fmt.Sprintf("application_name LIKE 'assay run %%' AND pid <> %d", stuck)
	b.until(t, 1, ours)
	r.Await(t, 1)
	if err := syscall.Kill(stuck, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	b.until(t, 0, fmt.Sprintf("pid = %d", stuck))
	b.until(t, 1, ours)
	s, err := r.Stop(t)
	if err != nil {
		t.Fatal(err)
	}
	// A statement of the old session was given up after half a second.
	if gap := s.LongestGap(); gap < 500 {
		t.Errorf("the longest gap is %v ms", gap)
	}
	s.CheckAccounted(t)
}

func TestServerGone(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.15)
	b := newBench(t)
	c := started(t, b.dsn)
	r := samplingtest.Start(t, c)
	r.Await(t, 1)
	if err := b.Kill(); err != nil {
		t.Fatal(err)
	}
	gone := time.Now()
	time.Sleep(1200 * time.Millisecond)
	without := float64(time.Since(gone).Milliseconds())
	s, err := r.Stop(t) // fails the test if it hangs
	if err == nil || !strings.Contains(err.Error(), "not connected for the last") {
		t.Errorf("run: %v, want an error, as the database is gone", err)
	}
	if gap := s.LongestGap(); gap < without {
		t.Errorf("the longest gap is %v ms, want the %v ms until the end", gap, without)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
