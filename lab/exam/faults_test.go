//go:build long

package exam

import (
	"context"
	"database/sql"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	gomysql "github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"
	"github.com/go-sql-driver/mysql"

	"assay.dev/assay/internal/servers/process"
	"assay.dev/assay/internal/testing/mysqldtest"
)

// readBinlog reads the binlog from its end with several replication clients, as CDC
// connectors do, until the test ends.
func readBinlog(t *testing.T, r *testbed, readers int) {
	t.Helper()
	c, err := mysql.ParseDSN(r.server.DSN())
	if err != nil {
		t.Fatal(err)
	}
	db := r.open(t)
	file, position := binlogEnd(t, db)
	ctx, cancel := context.WithCancel(context.Background())
	var reading sync.WaitGroup
	seen := make([]int, readers)
	t.Cleanup(func() {
		cancel()
		reading.Wait()
		for i, n := range seen {
			if n < 100 {
				t.Errorf("binlog reader %d has read %d events, want at least 100", i, n)
			}
		}
	})
	for i := range readers {
		syncer := replication.NewBinlogSyncer(replication.BinlogSyncerConfig{
			ServerID: uint32(1000 + i), Flavor: r.flavour, Host: process.Loopback, Port: uint16(r.server.Port()),
			User: c.User, Password: c.Passwd, Logger: slog.New(slog.DiscardHandler), // it would log the password
		})
		stream, err := syncer.StartSync(gomysql.Position{Name: file, Pos: position})
		if err != nil {
			t.Fatalf("read the binlog: %v", err)
		}
		reading.Go(func() {
			defer syncer.Close()
			for {
				if _, err := stream.GetEvent(ctx); err != nil {
					return
				}
				seen[i]++
			}
		})
	}
}

func binlogEnd(t *testing.T, db *sql.DB) (file string, position uint32) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SHOW BINARY LOGS")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() { // up to the last one, which is being written
		values := []any{&file, &position, new(sql.RawBytes)}[:len(columns)]
		if err := rows.Scan(values...); err != nil {
			t.Fatal(err)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return file, position
}

// migrate alters a table repeatedly until ctx is done. Each ALTER TABLE waits for an
// open transaction that has read the table, and all later statements wait for it.
func migrate(ctx context.Context, t *testing.T, db *sql.DB) {
	db.SetMaxOpenConns(2)
	for n := 0; ctx.Err() == nil; n++ {
		report, err := db.BeginTx(context.Background(), nil)
		if err != nil {
			t.Errorf("begin: %v", err)
			return
		}
		var rows int
		if err := report.QueryRow("SELECT COUNT(*) FROM (SELECT 1 FROM payments LIMIT 10) p").Scan(&rows); err != nil {
			t.Errorf("report: %v", err)
		}
		altered := make(chan error, 1)
		go func() {
			_, err := db.Exec("ALTER TABLE payments COMMENT = 'version " + strconv.Itoa(n) + "'")
			altered <- err
		}()
		pause(ctx, 400*time.Millisecond)
		_ = report.Rollback()
		if err := <-altered; err != nil {
			t.Errorf("alter: %v", err)
			return
		}
		pause(ctx, 20*time.Millisecond)
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// slowDown delays what the service and the database send to each other, until ctx is done.
func slowDown(ctx context.Context, t *testing.T, r *testbed) {
	before := r.wire.carried.Load()
	r.wire.delay.Store(int64(15 * time.Millisecond))
	<-ctx.Done()
	r.wire.delay.Store(0)
	if n := r.wire.carried.Load() - before; n < 10_000 {
		t.Errorf("%d bytes were delayed: the fault was not injected", n)
	}
}

// stopAndContinue stops the service for 17 of every 20 ms, until ctx is done.
func stopAndContinue(ctx context.Context, t *testing.T, r *testbed) {
	service, err := os.FindProcess(r.service)
	if err != nil {
		t.Error(err)
		return
	}
	for ctx.Err() == nil {
		if err := service.Signal(syscall.SIGSTOP); err != nil {
			t.Errorf("stop the service: %v", err)
			return
		}
		time.Sleep(17 * time.Millisecond)
		if err := service.Signal(syscall.SIGCONT); err != nil {
			t.Errorf("continue the service: %v", err)
			return
		}
		time.Sleep(3 * time.Millisecond)
	}
}

// bulkUser is another client of the database, with a schema of its own.
const bulkUser = "batch"

// bulkJob fills a table of another schema over several connections of another user,
// until ctx is done. It computes more than it writes: on MariaDB the redo log of faster
// INSERTs would fill, which stops all clients for seconds.
func bulkJob(ctx context.Context, t *testing.T, r *testbed) {
	const sessions = 8
	c, err := mysql.ParseDSN(r.dsn(t))
	if err != nil {
		t.Error(err)
		return
	}
	c.User, c.Passwd, c.DBName = bulkUser, bulkUser, "warehouse"
	db, err := sql.Open("mysql", c.FormatDSN())
	if err != nil {
		t.Error(err)
		return
	}
	defer db.Close()
	var all sync.WaitGroup
	for range sessions {
		all.Go(func() {
			for ctx.Err() == nil {
				if _, err := db.ExecContext(ctx, "INSERT INTO facts SELECT LEFT(SHA2(REPEAT(CONCAT(a.d, b.d, c.d), 1000), 512), 32), SQRT(a.d * b.d + c.d) FROM "+
					digits+" a, "+digits+" b, "+digits+" c"); err != nil && ctx.Err() == nil {
					t.Errorf("bulk job: %v", err)
					return
				}
			}
		})
	}
	all.Wait()
}

// prepareBulkJob creates the user and the schema of bulkJob, until the test ends.
func prepareBulkJob(t *testing.T, r *testbed) {
	db := r.open(t)
	mysqldtest.Exec(t, db,
		"CREATE DATABASE warehouse", "CREATE TABLE warehouse.facts (name CHAR(32) NOT NULL, value DOUBLE NOT NULL)",
		"CREATE USER "+bulkUser+" IDENTIFIED BY '"+bulkUser+"'", "GRANT ALL ON warehouse.* TO "+bulkUser)
	t.Cleanup(func() {
		for _, statement := range []string{"DROP DATABASE warehouse", "DROP USER " + bulkUser} {
			if _, err := db.Exec(statement); err != nil {
				t.Error(err)
			}
		}
	})
}

// holdRows holds rows of the service in open transactions of 400 ms, until ctx is done.
func holdRows(ctx context.Context, t *testing.T, r *testbed) {
	db := r.open(t)
	db.SetMaxOpenConns(1)
	for ctx.Err() == nil {
		tx, err := db.BeginTx(context.Background(), nil)
		if err != nil {
			t.Errorf("begin: %v", err)
			return
		}
		if _, err := tx.Exec("UPDATE accounts SET balance = balance"); err != nil && ctx.Err() == nil {
			t.Logf("hold rows: %v", err) // a deadlock with the service
		}
		pause(ctx, 400*time.Millisecond)
		_ = tx.Rollback()
		pause(ctx, 20*time.Millisecond)
	}
}

// lockReads holds a global read lock for 400 ms, repeatedly until ctx is done.
func lockReads(ctx context.Context, t *testing.T, r *testbed) {
	db := r.open(t)
	db.SetMaxOpenConns(1)
	for ctx.Err() == nil {
		if _, err := db.Exec("FLUSH TABLES WITH READ LOCK"); err != nil {
			t.Errorf("lock: %v", err)
			return
		}
		pause(ctx, 400*time.Millisecond)
		if _, err := db.Exec("UNLOCK TABLES"); err != nil {
			t.Errorf("unlock: %v", err)
			return
		}
		pause(ctx, 20*time.Millisecond)
	}
}
