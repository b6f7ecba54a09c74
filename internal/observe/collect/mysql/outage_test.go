//go:build live

package mysql_test

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"assay.dev/assay/internal/observe/collect/databases"
	"assay.dev/assay/internal/observe/collect/mysql"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/servers/mysqld"
	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/databasetest"
	"assay.dev/assay/internal/testing/mysqldtest"
	"assay.dev/assay/internal/testing/polltest"
	"assay.dev/assay/internal/testing/processtest"
	"assay.dev/assay/internal/testing/samplingtest"
)

// The connection is killed, and a new one is possible only a second later.
func connectionKilled(t *testing.T, b *bench) {
	t.Helper()
	mysqldtest.Exec(t, b.db, "CREATE USER 'assay'@'%' IDENTIFIED BY 'x'", "GRANT ALL ON *.* TO 'assay'@'%'")
	c := started(t, with(t, b.dsn, func(c *driver.Config) { c.User, c.Passwd = "assay", "x" }))
	r := samplingtest.Start(t, c)
	r.Await(t, 1)
	stopLoad := b.load(t, 4, update)
	r.Await(t, 2)
	mysqldtest.Exec(t, b.db, "ALTER USER 'assay'@'%' ACCOUNT LOCK", fmt.Sprintf("KILL %d", collectorConnection(t, b)))
	cut := time.Now()
	time.Sleep(time.Second)
	without := time.Since(cut)
	mysqldtest.Exec(t, b.db, "ALTER USER 'assay'@'%' ACCOUNT UNLOCK")
	r.Await(t, 12)
	stopLoad()
	s, err := r.Stop(t)
	if err != nil {
		t.Fatal(err)
	}
	if gap, least := s.LongestGap(), float64(without.Milliseconds()); gap < least {
		t.Errorf("the longest gap is %v ms, without a connection for %v", gap, without)
	}
	s.CheckAccounted(t)
	updates, statements := s.Total(metric.DBCounter, "name", "Com_update"), s.Total(metric.DBStatements, "digest", s.TopStatement().Label("digest"))
	if updates == 0 || statements < 0.98*updates-4 || statements > 1.02*updates+4 { // the last of each session may be counted late
		t.Errorf("increases over the gap: Com_update %v, statements %v", updates, statements)
	}
}

// After a restart the counters start at 0 and the instruments are disabled again.
func TestServerRestarted(t *testing.T) {
	t.Parallel()
	const flavour = "mariadb" // the code is the same for both, and MariaDB starts faster
	budget.CPUs(t, 0.3)
	dir := t.TempDir()
	o := mysqld.Options{Dir: dir, Binary: mysqldtest.Binary(t, flavour)}
	server, err := mysqld.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, flavour, server)
	stopLoad := b.load(t, 2, update)
	c := started(t, b.dsn)
	r := samplingtest.Start(t, c)
	r.Await(t, 1)
	stopLoad()
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	o.Port = server.Port()
	if server, err = mysqld.Start(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Kill() })
	up := time.Now().Unix() + 1
	before := setupRows(t, b.db)
	r.Await(t, 12) // the instruments are enabled again
	stopLoad = samplingtest.Load(t, b.db, 2, samplingtest.Brief, update)
	after := func(s samplingtest.Result) float64 {
		n, _ := s.Sum(metric.DBSession, metric.NewSeries("", "", "class", "binlog").Labels, record.Span{From: up, To: s.Span.To})
		return n
	}
	r.Until(t, "waits for the binary log are seen after the restart", func(s samplingtest.Result) bool { return after(s) > 0 })
	s, err := r.Stop(t)
	stopLoad()
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
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	left := setupRows(t, b.db)
	for _, name := range changed(before, left) {
		if left[name] != "NO NO" && left[name] != "NO -" {
			t.Errorf("not restored: %s is %s", name, left[name])
		}
	}
}

// A session that the collector lost, and of which the server does not know, is killed.
func abandonedSession(t *testing.T, b *bench) {
	t.Helper()
	server, err := driver.ParseDSN(b.dsn)
	if err != nil {
		t.Fatal(err)
	}
	addr, abandon := databasetest.AbandoningProxy(t, server.Addr)
	r := samplingtest.Start(t, started(t, with(t, b.dsn, func(c *driver.Config) { c.Addr = addr })))
	r.Await(t, 1)
	abandoned := collectorConnection(t, b)
	abandon()
	polltest.Until(t, "the session is killed", func() bool {
		var sessions int
		err := b.db.QueryRow("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = ?", abandoned).Scan(&sessions)
		return err == nil && sessions == 0
	})
	r.Await(t, 1) // else it may be between two attempts to reconnect
	if _, err := r.Stop(t); err != nil {
		t.Error(err)
	}
}

// A statement that is given up ends in the server (SLEEP would do so by itself) before its caller goes on, and so do its
// locks: an UPDATE, and queries with and without arguments.
func givenUpStatements(t *testing.T, b *bench) {
	mysqldtest.Exec(t, b.db, "CREATE USER 'hasty'@'%' IDENTIFIED BY 'r'", "GRANT ALL ON shop.* TO 'hasty'@'%'")
	db, err := databases.OpenSQL(with(t, b.dsn, func(c *driver.Config) { c.User, c.Passwd = "hasty", "r" }))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for name, run := range map[string]func(ctx context.Context) error{
		"exec": func(ctx context.Context) error {
			_, err := db.ExecContext(ctx, "UPDATE item SET n = n + BENCHMARK(1e12, 1) WHERE id = ?", 7)
			return err
		},
		"query": func(ctx context.Context) error {
			rows, err := db.QueryContext(ctx, "SELECT id, BENCHMARK(IF(id = ?, 1e12, 0), 1) FROM item WHERE id < 10 FOR UPDATE", 8)
			if err != nil {
				return err
			}
			defer rows.Close()
			for rows.Next() {
			}
			return rows.Err()
		},
		"literal": func(ctx context.Context) error {
			var n int
			return db.QueryRowContext(ctx, "SELECT BENCHMARK(1e12, 1) FROM item WHERE id = 7 FOR UPDATE").Scan(&n)
		},
	} {
		ctx, giveUp := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- run(ctx) }()
		const sleeping = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'hasty' AND COMMAND <> 'Sleep'"
		polltest.Until(t, name+": it is executed", func() bool {
			var n int
			return b.db.QueryRow(sleeping).Scan(&n) == nil && n > 0
		})
		giveUp()
		if err := <-ended; err == nil {
			t.Errorf("%s: no error", name)
		}
		polltest.Until(t, name+": it has ended in the server", func() bool {
			var n int
			return b.db.QueryRow(sleeping).Scan(&n) == nil && n == 0
		})
		mysqldtest.Exec(t, b.db, "UPDATE item SET n = n + 1 WHERE id = 7")
		if err := db.PingContext(t.Context()); err != nil {
			t.Errorf("%s: the next connection: %v", name, err)
		}
	}
}

// One slow answer at the begin, such as to the statement that enables instruments, does not
// cost a run the database.
func slowStart(t *testing.T, b *bench) {
	t.Helper()
	for _, word := range []string{"UPDATE performance_schema.setup_instruments", "FROM performance_schema.setup_consumers"} {
		c := started(t, with(t, b.dsn, func(c *driver.Config) {
			c.Addr = databasetest.DelayingProxy(t, c.Addr, word, 1500*time.Millisecond)
		}))
		r := samplingtest.Start(t, c)
		r.Await(t, 2)
		if _, err := r.Stop(t); err != nil {
			t.Errorf("%s: %v", word, err)
		}
	}
	// An examination, too, is repeated.
	dsn := with(t, b.dsn, func(c *driver.Config) {
		c.Addr = databasetest.DelayingProxy(t, c.Addr, "FROM performance_schema.setup_consumers", 1500*time.Millisecond)
	})
	if _, err := (mysql.Driver{}).Examine(t.Context(), dsn); err != nil {
		t.Errorf("examine: %v", err)
	}
}

// A server that is stopped (SIGSTOP) delays the collector only for a bounded time, and the
// gap is recorded.
func serverStopped(t *testing.T, b *bench) {
	t.Helper()
	sessions := func() (n int) {
		if err := b.db.QueryRow("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'root' AND DB IS NULL").Scan(&n); err != nil {
			return -1
		}
		return n
	}
	c := started(t, b.dsn)
	r := samplingtest.Start(t, c)
	r.Await(t, 1)
	before := sessions()
	if err := processtest.Suspend(b.server.Pid()); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	time.Sleep(2200 * time.Millisecond)
	stopped := float64(time.Since(begin).Milliseconds())
	if err := syscall.Kill(b.server.Pid(), syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	r.Await(t, 12)
	s, err := r.Stop(t)
	if err != nil {
		t.Fatal(err)
	}
	polltest.Until(t, "the sessions that the collector abandoned meanwhile are killed", func() bool { return sessions() == before })
	if gap := s.LongestGap(); gap < stopped {
		t.Errorf("the longest gap is %v ms, stopped for %v ms", gap, stopped)
	}
	s.CheckAccounted(t)
	empty := 0
	for _, n := range s.Counts(metric.DBSample, nil, s.Span) {
		if n == 0 {
			empty++
		}
	}
	if empty < 1 {
		t.Error("no second is without samples")
	}
}

func serverGone(t *testing.T, b *bench) {
	t.Helper()
	c := started(t, b.dsn)
	r := samplingtest.Start(t, c)
	r.Await(t, 1)
	if err := b.server.Kill(); err != nil {
		t.Fatal(err)
	}
	gone := time.Now()
	time.Sleep(1200 * time.Millisecond)
	without := float64(time.Since(gone).Milliseconds())
	s, err := r.Stop(t) // fails the test if it hangs
	if err == nil {
		t.Error("run: no error, although the database is gone")
	}
	if gap := s.LongestGap(); gap < without {
		t.Errorf("the longest gap is %v ms, want the %v ms until the end", gap, without)
	}
	if err := c.Close(); err == nil {
		t.Error("close: no error, although nothing could be restored")
	} else {
		t.Log(err)
	}
	_ = c.Close()
}
