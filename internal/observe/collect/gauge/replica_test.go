//go:build live

package gauge_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/observe/collect/gauge"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/servers/mysqld"
	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/databasetest"
	"assay.dev/assay/internal/testing/mysqldtest"
	"assay.dev/assay/internal/testing/polltest"
)

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
			time.Sleep(50 * time.Millisecond)
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

// TestReplica reads the lag of a replica of each flavour.
func TestReplica(t *testing.T) {
	t.Parallel()
	mysqldtest.EachFlavour(t, func(t *testing.T, flavour string) {
		budget.CPUs(t, map[string]float64{"mariadb": 0.2, "mysql": 0.4}[flavour])
		p := replicate(t, flavour)
		t.Run("idle", func(t *testing.T) { idleReplica(t, p) })
		if flavour == "mysql" {
			t.Run("Aurora", func(t *testing.T) { auroraReplica(t, p.source.DSN(), p.sourceRoot) })
		}
		stop := p.write(t)
		t.Run("stopped", func(t *testing.T) { checkStall(t, p, p.stopApplier) })
		t.Run("locked", func(t *testing.T) { checkStall(t, p, p.lockTable) })
		stop()
		t.Run("refused", func(t *testing.T) { replicaRefused(t, p) })
		if flavour == "mariadb" { // the code is the same for both
			t.Run("gone", func(t *testing.T) { serversGone(t, p) })
		}
	})
}

// checkStall checks that the lag of a replica whose applier is stopped or blocked grows
// with the time since then, and ends once it has caught up.
func checkStall(t *testing.T, p pair, hold func(*testing.T) (release func())) {
	t.Helper()
	begin := time.Now()
	watch(t, p.options(), func(w *watched) {
		w.await(t, "the replica follows", metric.ReplicaLag, below(1000))
		release := hold(t)
		stalled := w.await(t, "the lag grows", metric.ReplicaLag, atLeast(2000))
		since := float64(time.Since(begin).Milliseconds())
		release()
		// It was below a second after the begin, and grows no faster than time passes.
		if stalled > since+1000 {
			t.Errorf("a lag of %g ms, %g ms after there was almost none", stalled, since)
		}
		w.await(t, "the replica has caught up", metric.ReplicaLag, below(1000))
	})
}

// A replica of an idle source has no lag.
func idleReplica(t *testing.T, p pair) {
	t.Helper()
	watch(t, p.options(), func(w *watched) {
		w.await(t, "the replica has all that was written", metric.ReplicaLag, is(0))
		for range 2 {
			if v := w.await(t, "the lag is read again", metric.ReplicaLag, atLeast(0)); v != 0 {
				t.Errorf("lag %g ms of an idle source", v)
			}
		}
	})
}

// A replica whose lag cannot be read is reported before the run, with the next step.
func replicaRefused(t *testing.T, p pair) {
	t.Helper()
	mysqldtest.Exec(t, p.replicaDB, "CREATE DATABASE IF NOT EXISTS here", "CREATE USER 'blind'@'%' IDENTIFIED BY 'b'")
	blind, err := mysql.ParseDSN(p.replica.DSN())
	if err != nil {
		t.Fatal(err)
	}
	blind.User, blind.Passwd = "blind", "b"
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
	refused("replica of another server", gauge.Options{Database: reader, Readers: []string{reader}}, "replicates from server 1, and the database is server 2", "directly")
	refused("not a replica", gauge.Options{Database: p.source.DSN(), Readers: []string{p.source.DSN()}}, "is not a replica", "--db-reader")
	refused("no privilege", gauge.Options{Database: p.source.DSN(), Readers: []string{blind.FormatDSN()}}, "its replication status cannot be read", "GRANT REPLICATION CLIENT")
	refused("no server", gauge.Options{Database: p.source.DSN(), Readers: []string{"u:secret@tcp(127.0.0.1:1)/"}}, "127.0.0.1:1", "")
	mysqldtest.Exec(t, p.replicaDB, "STOP REPLICA")
	refused("stopped", p.options(), "its replication is stopped", "START REPLICA")
}

// While the replica or its source is gone there is no lag.
func serversGone(t *testing.T, p pair) {
	t.Helper()
	mysqldtest.Exec(t, p.replicaDB, "START REPLICA")
	watch(t, p.options(), func(w *watched) {
		w.await(t, "the lag is read", metric.ReplicaLag, atLeast(0))
		for _, server := range []*mysqld.Server{p.replica, p.source} {
			if err := server.Kill(); err != nil {
				t.Error(err)
			}
			w.awaitNone(t, "there is no lag", metric.ReplicaLag)
		}
	})
}

// Aurora replicas report their lag themselves. The statements run on a real server with a
// table as documented, not on Aurora.
func auroraReplica(t *testing.T, dsn string, root *sql.DB) {
	t.Helper()
	mysqldtest.Exec(
		t, root, "CREATE DATABASE aurora",
		"CREATE TABLE aurora.replica_host_status (SERVER_ID VARCHAR(100), SESSION_ID VARCHAR(100), LAST_UPDATE_TIMESTAMP TIMESTAMP(6), REPLICA_LAG_IN_MILLISECONDS DOUBLE)",
		"INSERT INTO aurora.replica_host_status VALUES ('writer', 'MASTER_SESSION_ID', NOW(6), 0), ('reader-1', 'a', NOW(6), 17.5), ('reader-2', 'b', NOW(6), 900)",
	)
	c, err := mysql.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	c.Addr = databasetest.RewritingProxy(t, c.Addr, "information_schema.replica_host_status", "aurora.replica_host_status", "@@aurora_server_id", "'reader-1'", "@@aurora_version", "'3.08.0'")
	o := gauge.Options{Readers: []string{c.FormatDSN()}}
	watch(t, o, func(w *watched) {
		for range 2 {
			if v := w.await(t, "the lag is read", metric.ReplicaLag, atLeast(0)); v != 17.5 {
				t.Errorf("lag %g ms, want 17.5", v)
			}
		}
	})
	// A row that is no longer updated is not a reading.
	mysqldtest.Exec(t, root, "UPDATE aurora.replica_host_status SET LAST_UPDATE_TIMESTAMP = NOW(6) - INTERVAL 2 MINUTE")
	if err := examine(t, o); err == nil || !strings.Contains(err.Error(), "does not report its lag") {
		t.Errorf("%v", err)
	}
}
