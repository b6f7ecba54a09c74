//go:build live

package mysql_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/testing/polltest"
	"assay.dev/assay/internal/testing/samplingtest"
)

// A load of single-row commits shows the waits of a commit.
func commits(t *testing.T, b *bench) { loadOfCommits(t, b, 1) }

// loadOfCommits takes so many samples of a load of commits, and more until waits are seen.
func loadOfCommits(t *testing.T, b *bench, samples float64) (s samplingtest.Result, took time.Duration) {
	t.Helper()
	c := started(t, b.dsn)
	if notes := c.Notes(); len(notes) > 0 {
		t.Errorf("root has notes: %q", notes)
	}
	begin := time.Now()
	r := samplingtest.Start(t, c)
	r.Await(t, 1)
	stopLoad := b.load(t, 8, update)
	r.Await(t, samples)
	r.Until(t, "sessions and waits of commits are seen", func(s samplingtest.Result) bool {
		return waitsOfCommits(s) >= 3 && s.Total(metric.DBSession) >= 20
	})
	stopLoad()
	s, err := r.Stop(t)
	took = time.Since(begin)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s", s.Describe())
	s.CheckAccounted(t)
	checkCounters(t, s)
	checkStatement(t, s)
	return s, took
}

// waitsOfCommits are the sessions that wait for a commit or for the binary log.
func waitsOfCommits(s samplingtest.Result) float64 {
	return s.Total(metric.DBSession, "class", "commit") + s.Total(metric.DBSession, "class", "binlog")
}

// checkCounters checks the status variables of a load of updates from 8 sessions, each of
// which commits. A session has at most three other statements.
func checkCounters(t *testing.T, s samplingtest.Result) {
	t.Helper()
	updates, statements, commits := s.Total(metric.DBCounter, "name", "Com_update"), s.Total(metric.DBStatements), commitCount(s)
	near := func(n float64) bool { return math.Abs(n-updates) <= 0.02*updates+3*8 }
	if updates == 0 || !near(statements) || !near(commits) {
		t.Errorf("Com_update increased by %v, digests count %v statements and the server %v commits", updates, statements, commits)
	}
	for _, name := range []string{"Innodb_data_fsyncs", "Questions", "Binlog_cache_use"} {
		if s.Total(metric.DBCounter, "name", name) == 0 {
			t.Errorf("counter %s did not increase", name)
		}
	}
	if _, counted := s.Sum(metric.DBCounter, metric.NewSeries("", "", "name", "Innodb_deadlocks").Labels, s.Span); !counted {
		t.Error("deadlocks are not counted")
	}
	for _, name := range []string{"Threads_connected", "Threads_running", "Innodb_history_list_length", "Innodb_checkpoint_age"} {
		labels := metric.NewSeries("", "", "name", name).Labels
		if _, ok := s.Gauge(metric.DBGauge, labels, metric.SourceDatabase, s.Span); !ok[len(ok)-1] {
			t.Errorf("gauge %s is missing", name)
		}
	}
}

// checkStatement checks that samples and times of the load's statement have the
// same digest, and that it finds its row by the primary key.
func checkStatement(t *testing.T, s samplingtest.Result) {
	t.Helper()
	digest, text := s.TopStatement().Label("digest"), s.TopStatement().Label("statement")
	if !strings.HasPrefix(text, "UPDATE `item`") {
		t.Errorf("the statement of digest %s is %q", digest, text)
	}
	if part := s.Total(metric.DBSession, "digest", digest); part < 0.8*s.Total(metric.DBSession) {
		t.Errorf("digest %s has %v of %v sessions", digest, part, s.Total(metric.DBSession))
	}
	if rows, n := s.Total(metric.DBRowsExamined, "digest", digest), s.Total(metric.DBStatements, "digest", digest); rows < 0.9*n || rows > 1.1*n {
		t.Errorf("%v rows examined by %v statements", rows, n)
	}
}

// A transaction counts as one commit, however many statements it has.
func commitOfSeveralStatements(t *testing.T, b *bench) {
	c := started(t, b.dsn)
	r := samplingtest.Start(t, c)
	r.Await(t, 1)
	statements := 0
	stopLoad := b.load(t, 1, func() string {
		statements++
		switch statements % 7 {
		case 1:
			return "BEGIN"
		case 0:
			return "COMMIT"
		}
		return update()
	})
	r.Await(t, 12)
	stopLoad()
	s, err := r.Stop(t)
	if err != nil {
		t.Fatal(err)
	}
	commits, ended := commitCount(s), s.Total(metric.DBCounter, "name", "Com_commit")
	// MySQL also counts the collector's own statements, about 13 per second.
	own := max(0, s.Total(metric.DBCounter, "name", "Questions")-7*ended)
	if ended == 0 || commits < 0.98*ended-2 || commits > 1.02*ended+2+own {
		t.Errorf("%v commits, COMMIT was executed %v times, the collector executed at most %v statements", commits, ended, own)
	}
}

// Sessions that wait for one row are seen as such: 8 in every sample exactly; 80 are above
// the limit.
func hotRowWaits(t *testing.T, b *bench) {
	for _, sessions := range []int{8, 80} {
		checkHotRow(t, b, sessions, heldRow)
	}
}

// checkHotRow takes samples of a load of one row.
func checkHotRow(t *testing.T, b *bench, sessions int, statement func() string) {
	t.Helper()
	c := started(t, b.dsn)
	stopLoad := b.load(t, sessions, statement)
	polltest.Until(t, "most sessions run a statement", func() bool {
		var n int
		err := b.db.QueryRow("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'UPDATE item%'").Scan(&n)
		return err == nil && n > sessions*3/4
	})
	r := samplingtest.Start(t, c)
	r.Await(t, 12)
	s, err := r.Stop(t)
	stopLoad()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d sessions:\n%s", sessions, s.Describe())
	if share := s.Share("row lock"); share < 0.6 {
		t.Errorf("%d sessions: row lock has a share of %.2f, want most", sessions, share)
	}
	// The holder of the row may change at any time, so what it does is read a little too
	// late, but the number of sessions waiting for it is right.
	if all := s.Total(metric.DBBlocker); all < float64(sessions) {
		t.Errorf("%d sessions: holders of the row had %v waiters in total", sessions, all)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// An open transaction that runs no statement holds the row.
func rowHeldByAnIdleTransaction(t *testing.T, b *bench) {
	tx, err := b.db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec("DELETE FROM item"); err != nil {
		t.Fatal(err)
	}
	c := started(t, b.dsn)
	waiting := b.load(t, 3, hotRow)
	r := samplingtest.Start(t, c)
	r.Until(t, "waiters are seen", func(s samplingtest.Result) bool { return s.Total(metric.DBBlocker) > 0 })
	s, err := r.Stop(t)
	if err := tx.Rollback(); err != nil {
		t.Error(err)
	}
	waiting()
	if err != nil {
		t.Fatal(err)
	}
	idle, all := s.Total(metric.DBBlocker, "class", "idle"), s.Total(metric.DBBlocker)
	if idle == 0 || idle != all {
		t.Errorf("an idle transaction blocks %v of %v waiters:\n%s", idle, all, s.Describe())
	}
}

// Without a hot row there are almost no row lock waits; a scan does not count as one.
func noRowLock(t *testing.T, b *bench) {
	c := started(t, b.dsn)
	stopLoad := b.load(t, 1, scan)
	r := samplingtest.Start(t, c)
	r.Until(t, "ten sessions are seen", func(s samplingtest.Result) bool { return s.Total(metric.DBSession) >= 10 })
	s, err := r.Stop(t)
	stopLoad()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s", s.Describe())
	if share := s.Share("row lock"); share > 0.01 {
		t.Errorf("row lock has a share of %.2f in a load of reads", share)
	}
	if share := s.Share("CPU", "engine"); share < 0.8 {
		t.Errorf("CPU and engine have a share of %.2f in a load of scans", share)
	}
}
