package postgres_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"assay/harness/observe/collect/sampling/samplingtest"
	"assay/harness/observe/metric"
	"assay/harness/polltest"
	"assay/harness/servers/mysqld/mysqldtest"
	"assay/harness/servers/postgrestest"
)

// watch samples so many times during a load.
func (b *bench) watch(t *testing.T, samples float64, sessions int, next func() string) samplingtest.Result {
	t.Helper()
	c := started(t, b.dsn)
	stop := b.load(t, sessions, next)
	time.Sleep(500 * time.Millisecond)
	r := samplingtest.Start(t, c)
	r.Await(t, samples)
	s, err := r.Stop(t)
	stop()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s", s.Describe())
	return s
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
	other := postgrestest.Open(t, b.DSN()) // not in the database of the load
	polltest.Until(t, fmt.Sprintf("%d sessions: %s", n, condition), func() bool {
		var now int
		err := other.QueryRow("SELECT count(*) FROM pg_stat_activity WHERE " + condition).Scan(&now)
		return err == nil && now == n
	})
}

// A load of single-row commits shows the waits of a commit, and the time of the commits is
// counted although it is in no statement's time.
func TestCommits(t *testing.T) {
	t.Parallel()
	b := newBenchOnDisk(t, counted)
	c := started(t, b.dsn)
	begin := time.Now()
	r := samplingtest.Start(t, c)
	r.Await(t, 1)
	stop := b.load(t, 8, update)
	r.Await(t, 80) // the sessions wait together, so that a few samples are a poor mean
	stop()
	b.allReported(t)
	r.Await(t, 12)
	s, err := r.Stop(t)
	took := time.Since(begin)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s", s.Describe())
	if share := s.Share("commit"); share < 0.6 {
		t.Errorf("commit has a share of %.2f, want a clear majority", share)
	}
	for _, event := range []string{"IO:WALSync", "LWLock:WALWrite"} {
		if s.Total(metric.DBSession, "class", "commit", "event", event) == 0 {
			t.Errorf("no session was seen at %s", event)
		}
	}
	s.CheckPace(t)
	s.CheckLittlesLaw(t, took)
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
		case digest == "outside":
			if part := s.Total(metric.DBStatementTime, "digest", digest); part < s.Total(metric.DBStatementTime)/2 {
				t.Errorf("%v ms outside of statements, want most of the time, in commits", part)
			}
		case text == "UPDATE item SET n = n + $1 WHERE id = $2":
			if part := s.Total(metric.DBSession, "digest", digest); part < 0.8*s.Total(metric.DBSession) {
				t.Errorf("digest %s has %v of %v sessions", digest, part, s.Total(metric.DBSession))
			}
		case text == "ROLLBACK": // by which the load ends
		default:
			t.Errorf("an unexpected statement: %s %q", digest, text)
		}
	}
}

// With one hot row sessions wait for each other, while the holder of the row commits.
func TestHotRow(t *testing.T) {
	t.Parallel()
	s := newBenchOnDisk(t).watch(t, 30, 16, hotRow)
	if share := s.Share("row lock"); share < 0.4 {
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
	r := samplingtest.Start(t, c)
	r.Await(t, 25)
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
	for event, ddl := range map[string]string{
		"Lock:relation":   "ALTER TABLE item ADD COLUMN x int",
		"Lock:virtualxid": "CREATE INDEX CONCURRENTLY ON item (n)",
	} {
		t.Run(event, func(t *testing.T) {
			b := newBench(t)
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
			r.Await(t, 15)
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

// Sessions compute if shared_buffers can hold the table, and read pages if not.
func TestPageReads(t *testing.T) {
	t.Parallel()
	shares := map[string]float64{}
	for _, buffers := range []string{"2MB", "256MB"} {
		b := newBenchOnDisk(t, "shared_buffers="+buffers, "max_parallel_workers_per_gather=0")
		mysqldtest.Exec(t, b.db, "CREATE TABLE wide (id int PRIMARY KEY, pad text)",
			"INSERT INTO wide SELECT i, repeat('x', 900) FROM generate_series(1, 40000) i", "VACUUM ANALYZE wide", "CHECKPOINT", "SELECT sum(length(pad)) FROM wide")
		s := b.watch(t, 20, 8, func() string {
			from := rand.IntN(30000)
			return fmt.Sprintf("SELECT sum(length(pad)) FROM wide WHERE id BETWEEN %d AND %d", from, from+8000)
		})
		shares[buffers] = s.Share("buffer pool")
		reads := s.Total(metric.DBCounter, "name", "blks_read")
		if seen := s.Total(metric.DBSession, "class", "buffer pool", "event", "IO:DataFileRead"); buffers == "2MB" && (seen == 0 || reads == 0) {
			t.Errorf("%v sessions at IO:DataFileRead, %v pages read", seen, reads)
		}
	}
	if shares["2MB"] < 0.05 || shares["2MB"] < 5*shares["256MB"] {
		t.Errorf("buffer pool has a share of %.3f in 2 MB, and %.3f in 256 MB", shares["2MB"], shares["256MB"])
	}
}

func TestCPU(t *testing.T) {
	t.Parallel()
	s := newBench(t, counted).watch(t, 20, 2, func() string { return "SELECT sum(sqrt(n + id)) FROM item CROSS JOIN generate_series(1, 50)" })
	if share := s.Share("CPU"); share < 0.8 {
		t.Errorf("CPU has a share of %.2f", share)
	}
	if n := s.Total(metric.DBSession, "class", "CPU", "inferred", "true"); n == 0 || n != s.Total(metric.DBSession, "class", "CPU") {
		t.Errorf("%v CPU sessions are marked as inferred, want all", n)
	}
	found := false
	for _, series := range s.Series(metric.DBStatementTime) {
		found = found || strings.HasPrefix(series.Label("statement"), "SELECT sum(sqrt(n + id))")
	}
	if !found {
		t.Errorf("the statement is missing:\n%s", s.Describe())
	}
}
