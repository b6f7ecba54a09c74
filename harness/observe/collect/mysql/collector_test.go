package mysql_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"assay/harness/observe/collect/sampling/samplingtest"
	"assay/harness/observe/metric"
)

// A load of single-row commits shows the waits of a commit.
func commits(t *testing.T, b *bench) {
	c := started(t, b.dsn)
	if notes := c.Notes(); len(notes) > 0 {
		t.Errorf("root has notes: %q", notes)
	}
	begin := time.Now()
	r := samplingtest.Start(t, c)
	r.Await(t, 1)
	stopLoad := b.load(t, 8, update)
	r.Await(t, 30)
	stopLoad()
	s, err := r.Stop(t)
	took := time.Since(begin)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s", s.Describe())
	if share := s.Share("commit", "binlog"); share < 0.6 {
		t.Errorf("commit and binlog have a share of %.2f, want a clear majority", share)
	}
	s.CheckPace(t)
	if gap := s.LongestGap(); gap > took.Seconds()*1000/2 {
		t.Errorf("the longest gap is %v ms of %v", gap, took)
	}
	s.CheckLittlesLaw(t, took)
	checkCounters(t, s)
	checkStatement(t, s)
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
	r.Await(t, 20)
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

func hotRowWaits(t *testing.T, b *bench) {
	// With 8 waiters every sample reads row locks exactly; 80 are above the limit.
	for _, sessions := range []int{8, 80} {
		c := started(t, b.dsn)
		stopLoad := b.load(t, sessions, hotRow)
		time.Sleep(500 * time.Millisecond)
		r := samplingtest.Start(t, c)
		r.Await(t, 20)
		s, err := r.Stop(t)
		stopLoad()
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%d sessions:\n%s", sessions, s.Describe())
		if share := s.Share("row lock"); share < 0.6 {
			t.Errorf("%d sessions: row lock has a share of %.2f, want most", sessions, share)
		}
		// The holder of the row changes within a millisecond, so what it does is read a
		// little too late, but the number of sessions waiting for it is right.
		if all := s.Total(metric.DBBlocker); all < float64(sessions) {
			t.Errorf("%d sessions: holders of the row had %v waiters in total", sessions, all)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
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
	r.Await(t, 15)
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
	stopLoad := b.load(t, 3, func() string { return "SELECT COUNT(*) FROM item WHERE n + id < -1 INTO @x" })
	r := samplingtest.Start(t, c)
	r.Await(t, 15)
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
