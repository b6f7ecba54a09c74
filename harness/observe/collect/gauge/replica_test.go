package gauge_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"assay/harness/hint"
	"assay/harness/observe/collect/gauge"
	"assay/harness/observe/database/databasetest"
	"assay/harness/observe/metric"
	"assay/harness/observe/metric/metrictest"
	"assay/harness/observe/record"
	"assay/harness/polltest"
	"assay/harness/servers/mysqld"
	"assay/harness/servers/mysqld/mysqldtest"
)

func TestMain(m *testing.M) { os.Exit(mysqldtest.Main(m)) }

// pair is a server and its replica.
type pair struct {
	source, replica       *mysqld.Server
	sourceRoot, replicaDB *sql.DB
}

func replicate(t *testing.T, flavour string) pair {
	t.Helper()
	p := pair{source: mysqldtest.StartInMemory(t, flavour)}
	p.replica = mysqldtest.Replica(t, p.source)
	p.sourceRoot, p.replicaDB = mysqldtest.Open(t, p.source.DSN()), mysqldtest.Open(t, p.replica.DSN())
	mysqldtest.Exec(t, p.sourceRoot, "CREATE DATABASE shop", "CREATE TABLE shop.t (id INT AUTO_INCREMENT PRIMARY KEY)")
	polltest.Until(t, "the replica has the source's table", func() bool {
		var n int
		return p.replicaDB.QueryRow("SELECT COUNT(*) FROM shop.t").Scan(&n) == nil
	})
	return p
}

// write inserts rows into the source until stop is called.
func (p pair) write(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var writing sync.WaitGroup
	writing.Go(func() {
		for ctx.Err() == nil {
			if _, err := p.sourceRoot.ExecContext(ctx, "INSERT INTO shop.t VALUES ()"); err != nil && ctx.Err() == nil {
				t.Errorf("write: %v", err)
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	})
	return func() { cancel(); writing.Wait() }
}

func (p pair) options() gauge.Options {
	return gauge.Options{Database: p.source.DSN(), Readers: []string{p.replica.DSN()}}
}

// examine opens and reads all lags of the options.
func examine(t *testing.T, o gauge.Options) error {
	t.Helper()
	var all []error
	for _, name := range []string{metric.ReplicaLag, metric.BinlogReaderLag} {
		all = append(all, o.Examine(t.Context(), name))
	}
	return errors.Join(all...)
}

// watch collects while during runs.
func watch(t *testing.T, o gauge.Options, during func()) *record.Timeline {
	t.Helper()
	c := gauge.New(o)[0]
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	all := record.NewTimeline()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- c.Run(ctx, func(f metric.Frame) error {
			metrictest.Check(t, f)
			all.Add(f)
			return nil
		})
	}()
	during()
	cancel()
	if err := errors.Join(<-ended, c.Close()); err != nil {
		t.Error(err)
	}
	return all
}

// lags returns the readings of each second that has one, in ms.
func lags(all *record.Timeline, name string) (values []float64) {
	for _, second := range all.Seconds() {
		if v, ok := all.GaugeSum(name, nil, second); ok {
			values = append(values, v)
		}
	}
	return values
}

// stopApplier stops the replica's applier until release is called.
func (p pair) stopApplier(t *testing.T) (release func()) {
	t.Helper()
	mysqldtest.Exec(t, p.replicaDB, "STOP REPLICA SQL_THREAD")
	return func() { mysqldtest.Exec(t, p.replicaDB, "START REPLICA SQL_THREAD") }
}

// lockTable blocks the replica's applier by a lock until release is called.
func (p pair) lockTable(t *testing.T) (release func()) {
	t.Helper()
	conn, err := p.replicaDB.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.ExecContext(t.Context(), "LOCK TABLES shop.t READ"); err != nil {
		t.Fatal(err)
	}
	return func() {
		if _, err := conn.ExecContext(t.Context(), "UNLOCK TABLES"); err != nil {
			t.Error(err)
		}
		_ = conn.Close()
	}
}

// The lag of a replica whose applier is stopped or blocked is the time since then, and
// ends once it has caught up.
func TestReplica(t *testing.T) {
	t.Parallel()
	mysqldtest.EachFlavour(t, func(t *testing.T, flavour string) {
		p := replicate(t, flavour)
		stop := p.write(t)
		defer stop()
		t.Run("stopped", func(t *testing.T) { checkStall(t, p, p.stopApplier) })
		t.Run("locked", func(t *testing.T) { checkStall(t, p, p.lockTable) })
	})
}

// checkStall checks the lag before, during and after a stall of the replica's applier.
func checkStall(t *testing.T, p pair, hold func(*testing.T) (release func())) {
	t.Helper()
	var before, during, after time.Time
	all := watch(t, p.options(), func() {
		time.Sleep(4 * time.Second)
		before = time.Now()
		release := hold(t)
		time.Sleep(6 * time.Second)
		release()
		during = time.Now()
		time.Sleep(5 * time.Second)
		after = time.Now()
	})
	held := float64(during.Sub(before).Milliseconds())
	steady := highestLag(t, all, before.Add(-3*time.Second), before)
	stalled := highestLag(t, all, before, during.Add(2*time.Second))
	caughtUp := highestLag(t, all, during.Add(3*time.Second), after)
	t.Logf("held for %.0f ms: lag %.0f ms before, %.0f ms during, %.0f ms after", held, steady, stalled, caughtUp)
	if stalled < held-1000 || stalled > held+2000 {
		t.Errorf("lag %g ms after %g ms", stalled, held)
	}
	if steady > held/2 || caughtUp > held/2 {
		t.Errorf("lag %g ms before and %g ms after", steady, caughtUp)
	}
}

// highestLag returns the highest lag in the whole seconds between two times, half of which
// must have a reading.
func highestLag(t *testing.T, all *record.Timeline, from, to time.Time) (highest float64) {
	t.Helper()
	read, seconds := 0, 0
	for second := from.Unix() + 1; second < to.Unix(); second++ {
		seconds++
		if lag, ok := all.GaugeSum(metric.ReplicaLag, nil, second); ok {
			read++
			highest = max(highest, lag)
		}
	}
	if 2*read < seconds || read == 0 {
		t.Errorf("%d readings in %d seconds", read, seconds)
	}
	return highest
}

// A replica of an idle source has no lag.
func TestIdleReplica(t *testing.T) {
	t.Parallel()
	p := replicate(t, "mariadb")
	all := watch(t, p.options(), func() { time.Sleep(6 * time.Second) })
	got := lags(all, metric.ReplicaLag)
	if len(got) < 4 {
		t.Fatalf("%d readings", len(got))
	}
	for _, v := range got[1:] {
		if v != 0 {
			t.Errorf("lag %g ms of an idle source: %v", v, got)
		}
	}
}

// A replica whose lag cannot be read is reported before the run, with the next step.
func TestReplicaRefused(t *testing.T) {
	t.Parallel()
	mysqldtest.EachFlavour(t, func(t *testing.T, flavour string) {
		p := replicate(t, flavour)
		mysqldtest.Exec(t, p.replicaDB, "CREATE DATABASE IF NOT EXISTS here", "CREATE USER 'blind'@'%' IDENTIFIED BY 'b'")
		blind, err := mysql.ParseDSN(p.replica.DSN())
		if err != nil {
			t.Fatal(err)
		}
		blind.User, blind.Passwd = "blind", "b"
		other := mysqldtest.StartInMemory(t, flavour, "--server-id=3")
		refused := func(name string, o gauge.Options, problem, next string) {
			t.Helper()
			err := examine(t, o)
			if err == nil || !strings.Contains(err.Error(), problem) || !strings.Contains(hint.Of(err), next) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %v; hint %q", name, err, hint.Of(err))
			}
		}
		reader := p.replica.DSN()
		refused("PostgreSQL", gauge.Options{Database: "postgres://u:secret@127.0.0.1:1/s", Readers: []string{"postgres://u:secret@127.0.0.1:1/s"}}, "the lag of PostgreSQL replicas cannot be read", "--db-reader")
		refused("no source", gauge.Options{Readers: []string{reader}}, "is not named", "ASSAY_DB")
		refused("replica of another server", gauge.Options{Database: other.DSN(), Readers: []string{reader}}, "replicates from server 1, and the database is server 3", "directly")
		refused("not a replica", gauge.Options{Database: p.source.DSN(), Readers: []string{other.DSN()}}, "is not a replica", "--db-reader")
		refused("no privilege", gauge.Options{Database: p.source.DSN(), Readers: []string{blind.FormatDSN()}}, "its replication status cannot be read", "GRANT REPLICATION CLIENT")
		refused("no server", gauge.Options{Database: p.source.DSN(), Readers: []string{"u:secret@tcp(127.0.0.1:1)/"}}, "127.0.0.1:1", "")
		mysqldtest.Exec(t, p.replicaDB, "STOP REPLICA")
		refused("stopped", p.options(), "its replication is stopped", "START REPLICA")
	})
}

// Aurora replicas report their lag themselves. The statements run on a real server with a
// table as documented, not on Aurora.
func TestAuroraReplica(t *testing.T) {
	t.Parallel()
	server := mysqldtest.StartInMemory(t, "mysql")
	root := mysqldtest.Open(t, server.DSN())
	mysqldtest.Exec(
		t, root, "CREATE DATABASE aurora",
		"CREATE TABLE aurora.replica_host_status (SERVER_ID VARCHAR(100), SESSION_ID VARCHAR(100), LAST_UPDATE_TIMESTAMP TIMESTAMP(6), REPLICA_LAG_IN_MILLISECONDS DOUBLE)",
		"INSERT INTO aurora.replica_host_status VALUES ('writer', 'MASTER_SESSION_ID', NOW(6), 0), ('reader-1', 'a', NOW(6), 17.5), ('reader-2', 'b', NOW(6), 900)",
	)
	c, err := mysql.ParseDSN(server.DSN())
	if err != nil {
		t.Fatal(err)
	}
	c.Addr = databasetest.RewritingProxy(t, c.Addr, "information_schema.replica_host_status", "aurora.replica_host_status", "@@aurora_server_id", "'reader-1'", "@@aurora_version", "'3.08.0'")
	o := gauge.Options{Readers: []string{c.FormatDSN()}}
	all := watch(t, o, func() { time.Sleep(3200 * time.Millisecond) })
	got := lags(all, metric.ReplicaLag)
	if len(got) < 2 {
		t.Errorf("%d readings", len(got))
	}
	for _, v := range got {
		if v != 17.5 {
			t.Errorf("readings %v, want 17.5", got)
		}
	}
	// A row that is no longer updated is not a reading.
	mysqldtest.Exec(t, root, "UPDATE aurora.replica_host_status SET LAST_UPDATE_TIMESTAMP = NOW(6) - INTERVAL 2 MINUTE")
	if err := examine(t, o); err == nil || !strings.Contains(err.Error(), "does not report its lag") {
		t.Errorf("%v", err)
	}
}
