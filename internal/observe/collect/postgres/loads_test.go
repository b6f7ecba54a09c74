//go:build live

package postgres_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/mysqldtest"
	"assay.dev/assay/internal/testing/postgrestest"
	"assay.dev/assay/internal/testing/samplingtest"
)

// watch samples during a load, until what was seen meets a condition.
func (b *bench) watch(t *testing.T, sessions int, next func() string, condition string, met func(s samplingtest.Result) bool) samplingtest.Result {
	t.Helper()
	c := started(t, b.dsn)
	r := samplingtest.Start(t, c)
	r.Await(t, 1)
	stop := b.load(t, sessions, next)
	r.Until(t, condition, met)
	s, err := r.Stop(t)
	stop()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s", s.Describe())
	return s
}

// sessions is the condition that so many sessions were seen with these labels.
func sessions(n float64, labels ...string) func(samplingtest.Result) bool {
	return func(s samplingtest.Result) bool { return s.Total(metric.DBSession, labels...) >= n }
}

// allReported waits until the sessions of the load have ended, as they report all of their
// counters only then.
func (b *bench) allReported(t *testing.T) {
	t.Helper()
	b.db.SetMaxIdleConns(0)
	b.until(t, 0, "datname = '"+shop+"' AND application_name NOT LIKE 'assay run %'")
}

// waiting waits until n sessions wait for locks.
func (b *bench) waiting(t *testing.T, n int) {
	t.Helper()
	b.until(t, n, "wait_event_type = 'Lock'")
}

// until waits until n sessions meet the condition.
func (b *bench) until(t *testing.T, n int, condition string) {
	t.Helper()
	postgrestest.Await(t, postgrestest.Open(t, b.DSN()), n, condition) // not in the database of the load
}

// A load of single-row commits shows the waits of a commit, and the time of the commits is
// counted although it is in no statement's time.
func TestCommits(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.4)
	loadOfCommits(t, newBenchOnDisk(t, counted), 1)
}

// loadOfCommits takes so many samples of a load of commits, and more until both waits of a
// commit are seen.
func loadOfCommits(t *testing.T, b *bench, samples float64) (s samplingtest.Result, took time.Duration) {
	t.Helper()
	c := started(t, b.dsn)
	begin := time.Now()
	r := samplingtest.Start(t, c)
	r.Await(t, 1)
	stop := samplingtest.Load(t, b.db, 8, samplingtest.Brief, update)
	r.Await(t, samples)
	r.Until(t, "many sessions are seen", sessions(60))
	for _, event := range []string{"IO:WALSync", "LWLock:WALWrite"} {
		r.Until(t, "a session is seen at "+event, sessions(1, "class", "commit", "event", event))
	}
	stop()
	b.allReported(t)
	r.Await(t, 12)
	s, err := r.Stop(t)
	took = time.Since(begin)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s", s.Describe())
	s.CheckAccounted(t)
	commits, statements := s.Total(metric.DBCounter, "name", "xact_commit"), s.Total(metric.DBStatements)
	// The collector commits too, after each of its statements.
	if commits < 0.6*statements || commits > 1.4*statements+20*took.Seconds() || statements == 0 {
		t.Errorf("xact_commit increased by %v, statements by %v", commits, statements)
	}
	if records := s.Total(metric.DBCounter, "name", "wal_records"); records < commits {
		t.Errorf("wal_records increased by %v, xact_commit by %v", records, commits)
	}
	for _, name := range []string{"wal_sync", "wal_bytes", "blks_hit", "tup_updated", "active_time"} {
		if s.Total(metric.DBCounter, "name", name) == 0 {
			t.Errorf("counter %s did not increase", name)
		}
	}
	for _, name := range []string{"connections", "numbackends", "idle_in_transaction", "waiting_for_locks"} {
		labels := metric.NewSeries("", "", "name", name).Labels
		if _, ok := s.Gauge(metric.DBGauge, labels, "database", s.Span); !ok[len(ok)-1] {
			t.Errorf("gauge %s is missing", name)
		}
	}
	for _, series := range s.Series(metric.DBSession) {
		if client := series.Label("client"); !strings.Contains(client, "(") || strings.HasPrefix(client, "(") {
			t.Errorf("a session of the client %q, want a user with a database", client)
		}
	}
	// Samples and times of the load's only statement have the same digest. The collector's
	// own statements are excluded.
	for _, series := range s.Series(metric.DBStatementTime) {
		digest, text := series.Label("digest"), series.Label("statement")
		switch {
		case digest == "outside": // in commits
		case text == "UPDATE item SET n = n + $1 WHERE id = $2":
			if part := s.Total(metric.DBSession, "digest", digest); part < 0.8*s.Total(metric.DBSession) {
				t.Errorf("digest %s has %v of %v sessions", digest, part, s.Total(metric.DBSession))
			}
		case text == "ROLLBACK": // by which the load ends
		default:
			t.Errorf("an unexpected statement: %s %q", digest, text)
		}
	}
	return s, took
}

// With one hot row sessions wait for each other, while its holder does something else.
func TestHotRow(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.25)
	checkHotRow(t, newBench(t), heldRow, 0.6)
}

// checkHotRow checks a load of one row, in which at least this share of the sessions waits
// for it.
func checkHotRow(t *testing.T, b *bench, statement func() string, least float64) {
	t.Helper()
	const n = 16
	s := b.watch(t, n, statement, "many sessions and the time of their statements are seen", func(s samplingtest.Result) bool {
		return s.Total(metric.DBSession) >= 12*n*least && s.Total(metric.DBStatementTime) > 0
	})
	if share := s.Share("row lock"); share < least {
		t.Errorf("row lock has a share of %.2f", share)
	}
	if n := s.Total(metric.DBBlocker, "class", "row lock"); n > 0 {
		t.Errorf("sessions that wait for a row lock are recorded as its holder, with %v waiters", n)
	}
	// Without the extension all the time has one label.
	if ms := s.Total(metric.DBStatementTime, "digest", "all"); ms == 0 || ms != s.Total(metric.DBStatementTime) {
		t.Errorf("%v ms of %v have the digest all, want all of them", ms, s.Total(metric.DBStatementTime))
	}
}

// An open transaction that runs no statement holds the row. Sessions in the queue behind
// its first waiter also wait for it.
func TestRowHeldByAnIdleTransaction(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.2)
	b := newBench(t)
	tx, err := b.db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(hotRow()); err != nil {
		t.Fatal(err)
	}
	c := started(t, b.dsn)
	stop := b.load(t, 3, hotRow)
	b.waiting(t, 3)
	r := samplingtest.Start(t, c)
	r.Until(t, "twice three waiters are seen", func(s samplingtest.Result) bool { return s.Total(metric.DBBlocker) >= 6 })
	s, err := r.Stop(t)
	if err := tx.Rollback(); err != nil {
		t.Error(err)
	}
	stop()
	if err != nil {
		t.Fatal(err)
	}
	if idle, all := s.Total(metric.DBBlocker, "class", "idle"), s.Total(metric.DBBlocker); idle < 6 || idle != all {
		t.Errorf("an idle transaction blocks %v of %v waiters, want 3 at a time:\n%s", idle, all, s.Describe())
	}
	for _, event := range []string{"Lock:transactionid", "Lock:tuple"} {
		if s.Total(metric.DBSession, "class", "row lock", "event", event) == 0 {
			t.Errorf("no session was seen at %s:\n%s", event, s.Describe())
		}
	}
}

// DDL waits for a transaction, and statements queue behind it. Creating an index
// concurrently waits with another event.
func TestDDL(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.25)
	b := newBench(t)
	for event, ddl := range map[string]string{
		"Lock:relation":   "ALTER TABLE item ADD COLUMN x int",
		"Lock:virtualxid": "CREATE INDEX CONCURRENTLY ON item (n)",
	} {
		t.Run(event, func(t *testing.T) {
			tx, err := b.db.Begin()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tx.Exec(hotRow()); err != nil {
				t.Fatal(err)
			}
			done := make(chan error, 1)
			go func() {
				_, err := b.db.ExecContext(context.Background(), ddl)
				done <- err
			}()
			b.waiting(t, 1)
			c := started(t, b.dsn)
			stop := b.load(t, 4, func() string { return "SELECT n FROM item WHERE id = 3" })
			if event == "Lock:relation" {
				b.waiting(t, 5)
			}
			r := samplingtest.Start(t, c)
			r.Await(t, 3)
			s, err := r.Stop(t)
			if err := tx.Rollback(); err != nil {
				t.Error(err)
			}
			stop()
			if err := <-done; err != nil {
				t.Error(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			n, want := s.Total(metric.DBSession, "class", "metadata lock"), 1.0
			if event == "Lock:relation" {
				want = 5 // including the queued sessions
			}
			if samples := s.Total(metric.DBSample); n < 0.75*want*samples {
				t.Errorf("a metadata lock was seen %v times in %v samples, want %v each:\n%s", n, samples, want, s.Describe())
			}
		})
	}
}

// Sessions read pages if shared_buffers cannot hold the table.
func TestPageReads(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.5)
	s := loadOfPageReads(t, "2MB", 2, "a session reads pages", sessions(1, "class", "buffer pool", "event", "IO:DataFileRead"))
	if reads := s.Total(metric.DBCounter, "name", "blks_read"); reads == 0 {
		t.Error("no pages are read")
	}
}

// loadOfPageReads samples sessions that read a table of 40 MB.
func loadOfPageReads(t *testing.T, buffers string, sessions int, condition string, met func(samplingtest.Result) bool) samplingtest.Result {
	t.Helper()
	b := newBenchOnDisk(t, "shared_buffers="+buffers, "max_parallel_workers_per_gather=0")
	mysqldtest.Exec(t, b.db, "CREATE TABLE wide (id int PRIMARY KEY, pad text)",
		"INSERT INTO wide SELECT i, repeat('x', 900) FROM generate_series(1, 40000) i", "VACUUM ANALYZE wide", "CHECKPOINT", "SELECT sum(length(pad)) FROM wide")
	return b.watch(t, sessions, func() string {
		from := rand.IntN(30000)
		return fmt.Sprintf("SELECT sum(length(pad)) FROM wide WHERE id BETWEEN %d AND %d", from, from+8000)
	}, condition, met)
}

// Sessions that only compute are seen on the CPU.
func TestCPU(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.5)
	s := newBench(t, counted).watch(t, 1, func() string { return "SELECT sum(sqrt(n + id)) FROM item CROSS JOIN generate_series(1, 50)" }, "sessions and their statement are seen", func(s samplingtest.Result) bool {
		return s.Total(metric.DBSession) >= 10 && slices.ContainsFunc(s.Series(metric.DBStatementTime), func(series metric.Series) bool {
			return strings.HasPrefix(series.Label("statement"), "SELECT sum(sqrt(n + id))")
		})
	})
	if share := s.Share("CPU"); share < 0.8 {
		t.Errorf("CPU has a share of %.2f", share)
	}
	if n := s.Total(metric.DBSession, "class", "CPU", "inferred", "true"); n == 0 || n != s.Total(metric.DBSession, "class", "CPU") {
		t.Errorf("%v CPU sessions are marked as inferred, want all", n)
	}
}
