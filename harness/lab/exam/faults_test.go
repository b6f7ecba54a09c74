package exam

import (
	"context"
	"database/sql"
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"time"

	gomysql "github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"
	"github.com/go-sql-driver/mysql"

	"assay/harness/servers/process"
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
