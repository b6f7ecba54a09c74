package mysql_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/observe/collect/databases"
	"assay.dev/assay/internal/observe/collect/mysql"
	"assay.dev/assay/internal/observe/database"
	"assay.dev/assay/internal/observe/ledger"
	"assay.dev/assay/internal/testing/databasetest"
	"assay.dev/assay/internal/testing/polltest"
)

// tooShort is an error without a number, at which the driver panics.
var tooShort = [][]byte{{0xff}}

// serverThat greets and identifies itself as a server does, and answers all else by a
// function.
func serverThat(t *testing.T, answer func(text string) [][]byte) (dsn string) {
	t.Helper()
	return "u:p@tcp(" + databasetest.MySQLServer(t, "8.4.5", func(text string) [][]byte {
		switch {
		case strings.Contains(text, "CONNECTION_ID()"):
			return databasetest.Text(databasetest.Session, "8.4.5")
		case strings.Contains(text, "@@version_comment"):
			return databasetest.Text("Source distribution")
		case strings.HasPrefix(text, "SET "):
			return nil
		}
		return answer(text)
	}) + ")/shop"
}

func opened(t *testing.T, dsn string) *database.DB {
	t.Helper()
	db, err := databases.OpenSQL(dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// Whatever a server answers, and to whatever, it is an error, and the connection ends.
func TestPanicOfTheDriver(t *testing.T) {
	t.Parallel()
	for name, use := range map[string]func(context.Context, *database.DB) error{
		"query": func(ctx context.Context, db *database.DB) error {
			var n int
			return db.QueryRowContext(ctx, "SELECT panic").Scan(&n)
		},
		"exec": func(ctx context.Context, db *database.DB) error {
			_, err := db.ExecContext(ctx, "panic")
			return err
		},
		"ping": func(ctx context.Context, db *database.DB) error { return db.PingContext(ctx) },
		"prepare": func(ctx context.Context, db *database.DB) error {
			_, err := db.PrepareContext(ctx, "panic")
			return err
		},
		"begin": func(ctx context.Context, db *database.DB) error {
			_, err := db.BeginTx(ctx, nil)
			return err
		},
		"row": func(ctx context.Context, db *database.DB) error {
			rows, err := db.QueryContext(ctx, "one row")
			if err != nil {
				return err
			}
			for rows.Next() {
			}
			return rows.Err()
		},
		"close": func(ctx context.Context, db *database.DB) error {
			rows, err := db.QueryContext(ctx, "one row") //nolint:rowserrcheck // it is Close that tells
			if err != nil {
				return err
			}
			rows.Next()
			return rows.Close()
		},
	} {
		db := opened(t, serverThat(t, func(text string) [][]byte {
			switch {
			case strings.Contains(text, "SELECT GET_LOCK"):
				return databasetest.Text("1")
			case text == "one row":
				return append(databasetest.Columns(3), databasetest.Row("1"), tooShort[0])
			}
			return tooShort
		}))
		if err := use(t.Context(), db); !errors.Is(err, foreign.ErrUnreadable) || db.Stats().OpenConnections != 0 {
			t.Errorf("%s: %v, and %d connections are open", name, err, db.Stats().OpenConnections)
		}
	}
	dsn := serverThat(t, func(string) [][]byte { return tooShort })
	if err := opened(t, dsn).Ping(t.Context()); err == nil || databases.Reason(err) != "what it answers cannot be read" {
		t.Errorf("ping: %v", err)
	}
	if _, err := (mysql.Driver{}).Examine(t.Context(), dsn); err == nil {
		t.Error("it was examined")
	}
	replica := mysql.Driver{}.Replica(dsn, dsn)
	defer replica.Close()
	if err := replica.Open(t.Context()); err == nil {
		t.Error("it is a replica")
	}
}

// Room for so many columns ends the process where the memory is missing.
func TestColumnsAreBounded(t *testing.T) {
	t.Parallel()
	for _, answer := range [][]byte{{0xfe, 0, 0, 0, 0, 0, 1, 0, 0}, {0xfe, 0, 0, 0, 0, 0, 0, 0, 0x40}} {
		dsn := serverThat(t, func(string) [][]byte { return [][]byte{answer} })
		if err := opened(t, dsn).Ping(t.Context()); err == nil {
			t.Errorf("%x is accepted", answer)
		}
	}
}

// A ledger's query is given up between two rows: database/sql closes the connection in a
// goroutine of its own, which has the statement killed through another one.
func TestPanicWhereAStatementIsGivenUp(t *testing.T) {
	t.Parallel()
	asked := make(chan bool, 1)
	db := opened(t, serverThat(t, func(text string) [][]byte {
		switch {
		case strings.Contains(text, "SELECT GET_LOCK"):
			return databasetest.Text("1")
		case strings.Contains(text, "IS_USED_LOCK"):
			asked <- true
			return tooShort
		}
		return append(databasetest.Columns(0xfd, 12), databasetest.Row("a", "2026-01-02 03:04:05")) // and no end
	}))
	ctx, interrupt := context.WithCancel(t.Context())
	err := (&ledger.Query{Run: "r", SQL: "SELECT id, at FROM orders WHERE run_id = 'r'"}).Read(ctx, db, func(e ledger.Entry) error {
		if e.Millis != time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).UnixMilli() {
			t.Errorf("%+v", e)
		}
		interrupt()
		<-asked
		return nil
	})
	if !errors.Is(err, context.Canceled) && !errors.Is(err, sql.ErrConnDone) {
		t.Errorf("%v", err)
	}
	polltest.Until(t, "the connection is closed", func() bool { return db.Stats().OpenConnections == 0 })
}
