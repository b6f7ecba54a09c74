package postgres_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"assay/harness/observe/collect/sampling/samplingtest"
	"assay/harness/observe/metric"
	"assay/harness/observe/record"
	"assay/harness/servers/mysqld/mysqldtest"
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
	b := newBenchOnDisk(t, counted)
	mysqldtest.Exec(t, b.db, "CREATE ROLE watcher LOGIN PASSWORD 'x' IN ROLE pg_monitor", "GRANT USAGE ON SCHEMA \"stats schema\" TO watcher")
	c := started(t, b.UserDSN("watcher", "x", shop))
	r := samplingtest.Start(t, c)
	r.Await(t, 1)
	stop := b.load(t, 4, update)
	r.Await(t, 12)
	cut := time.Now()
	mysqldtest.Exec(t, b.db, "ALTER ROLE watcher NOLOGIN", fmt.Sprintf("SELECT pg_terminate_backend(%d)", collectorPID(t, b)))
	time.Sleep(time.Second)
	mysqldtest.Exec(t, b.db, "ALTER ROLE watcher LOGIN")
	without := float64(time.Since(cut).Milliseconds())
	r.Await(t, 20)
	stop()
	b.allReported(t)
	r.Await(t, 12)
	s, err := r.Stop(t)
	if err != nil {
		t.Fatal(err)
	}
	if gap := s.LongestGap(); gap < 1000 || gap > 2*without {
		t.Errorf("the longest gap is %v ms, without a connection for %v ms", gap, without)
	}
	tuples, statements := s.Total(metric.DBCounter, "name", "tup_updated"), s.Total(metric.DBStatements)
	if tuples == 0 || statements < 0.6*tuples || statements > 1.4*tuples {
		t.Errorf("increases over the gap: %v rows, %v statements", tuples, statements)
	}
}

// After a restart the counters start at 0, and collecting continues.
func TestServerRestarted(t *testing.T) {
	t.Parallel()
	b := newBenchOnDisk(t, counted)
	stop := b.load(t, 2, update)
	c := started(t, b.dsn)
	r := samplingtest.Start(t, c)
	r.Await(t, 12)
	stop()
	if err := b.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := b.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	up := time.Now().Unix() + 1
	r.Await(t, 12)
	b.db.SetMaxIdleConns(0) // close the connections to the old server
	stop = b.load(t, 2, update)
	r.Await(t, 30)
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
	if total, _ := s.Sum(metric.DBSession, metric.NewSeries("", "", "class", "commit").Labels, record.Span{From: up, To: s.Span.To}); total == 0 {
		t.Errorf("no commits after the restart\n%s", s.Describe())
	}
	if n := s.Total(metric.DBStatements); n == 0 {
		t.Errorf("no statements:\n%s", s.Describe())
	}
	if notes := c.Notes(); len(notes) > 0 {
		t.Errorf("notes %q", notes)
	}
}

// If the server's process of the collector's session is stopped (SIGSTOP), the collector
// opens a new session, and the old one ends with its statement.
func TestSessionStopped(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := started(t, b.dsn)
	r := samplingtest.Start(t, c)
	r.Await(t, 10)
	stuck, begin := collectorPID(t, b), time.Now()
	if err := syscall.Kill(stuck, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	ours := fmt.Sprintf("application_name LIKE 'assay run %%' AND pid <> %d", stuck)
	b.until(t, 1, ours)
	replaced := float64(time.Since(begin).Milliseconds())
	r.Await(t, 12)
	if err := syscall.Kill(stuck, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	b.until(t, 0, fmt.Sprintf("pid = %d", stuck))
	b.until(t, 1, ours)
	s, err := r.Stop(t)
	if err != nil {
		t.Fatal(err)
	}
	if gap := s.LongestGap(); gap < 700 || gap > 2*replaced {
		t.Errorf("the longest gap is %v ms, and the session was replaced within %v ms", gap, replaced)
	}
}

func TestServerGone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := started(t, b.dsn)
	r := samplingtest.Start(t, c)
	r.Await(t, 10)
	if err := b.Kill(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(3 * time.Second)
	s, err := r.Stop(t) // fails the test if it takes long
	if err == nil || !strings.Contains(err.Error(), "not connected for the last") {
		t.Errorf("run: %v, want an error, as the database is gone", err)
	}
	if gap := s.LongestGap(); gap < 2900 {
		t.Errorf("the longest gap is %v ms, want the 3 s until the end", gap)
	}
	begin := time.Now()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("close took %v", took)
	}
}
