//go:build live

package doctor

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/observe/collect/databases"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/mysqldtest"
	"assay.dev/assay/internal/testing/polltest"
)

func TestDatabase(t *testing.T) {
	t.Parallel()
	for _, flavour := range []string{"mariadb", "mysql"} {
		t.Run(flavour, func(t *testing.T) {
			t.Parallel()
			budget.CPUs(t, map[string]float64{"mariadb": 0.2, "mysql": 0.3}[flavour])
			dsn := mysqldtest.StartInMemory(t, flavour).DSN()
			root := mysqldtest.Open(t, dsn)
			mysqldtest.Exec(t, root, "CREATE DATABASE shop", "CREATE TABLE shop.orders (id VARCHAR(40), at DATETIME(3), run_id VARCHAR(80))",
				"INSERT INTO shop.orders VALUES ('a', NOW(), 'other')")
			onlyRoot(t, root)
			mysqldtest.Exec(t, root, "CREATE TABLE shop.many (id VARCHAR(40), at DATETIME(3), run_id VARCHAR(80))", "INSERT INTO shop.many SELECT 'a', NOW(), 'other' FROM "+hundreds+" x, "+hundreds+" y LIMIT 30000", "ANALYZE TABLE shop.many")
			mysqldtest.Exec(t, root, "CREATE PROCEDURE shop.purge(r TEXT) DELETE FROM shop.orders WHERE run_id = r", "CREATE FUNCTION shop.purged(r TEXT) RETURNS INT DETERMINISTIC BEGIN DELETE FROM shop.orders WHERE run_id = r; RETURN 1; END",
				"CREATE TABLE shop.called (n INT)", "INSERT INTO shop.called VALUES (1)", "CREATE FUNCTION shop.empty(r TEXT) RETURNS TEXT DETERMINISTIC BEGIN DELETE FROM shop.called; RETURN r; END",
				"CREATE VIEW shop.own AS SELECT id, at, run_id FROM shop.orders WHERE run_id <> 'other'")
			service, err := root.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer service.Rollback()
			if _, err := service.Exec("UPDATE shop.orders SET id = 'b'"); err != nil { // a removal without an index would wait for it
				t.Fatal(err)
			}
			ledger := func(name, persisted string, cleanup ...string) spec.Profile {
				return spec.Profile{Name: name, Flows: []spec.Flow{{Ledger: &spec.Ledger{Persisted: persisted, Cleanup: cleanup}}}}
			}
			d := examineDatabase(t.Context(), dsn, "a-run", []spec.Profile{
				{Name: "none", Invariants: []spec.Invariant{{Name: "holds", SQL: "SELECT id FROM shop.orders WHERE run_id = ?"}, {Name: "is wrong", SQL: "SELECT id FROM shop.nope WHERE balance < 0"}}},
				ledger("good", "SELECT id, at FROM shop.orders WHERE run_id = ?", "DELETE FROM shop.orders WHERE run_id = ?"),
				ledger("scans", "SELECT id, at FROM shop.many WHERE run_id = ?", "CALL\nshop.purge(?)", "DELETE FROM shop.many WHERE run_id = ?"),
				ledger("calls", "SELECT id, at FROM shop.orders WHERE run_id = ?", "DELETE FROM shop.many WHERE run_id = shop.empty(?)", "SELECT * FROM (SELECT shop.empty(?)) called"),
				ledger("unread", "SELECT id, at FROM shop.ordres WHERE run_id = ?", "DELETE FROM shop.orders WHERE run_id = ?"),
				ledger("unclean", "SELECT id, at FROM shop.orders WHERE run_id = ?", "DELETE FROM shop.ordres WHERE run_id = ?"),
			})
			// A slow one does not keep the next from being examined.
			both := examineDatabase(t.Context(), dsn, "a-run", []spec.Profile{
				ledger("slow", "SELECT id, at FROM shop.orders WHERE run_id = ? OR BENCHMARK(1e12, 1)"),
				ledger("next", "SELECT id, at FROM shop.orders WHERE run_id = ?"),
			}).Ledgers
			if slow := both["slow"]; !says(slow.Read, "no answer within") || slow.Clean != nil || !errors.Is(slow.Read, context.DeadlineExceeded) || both["next"].Read != nil {
				t.Errorf("%+v", both)
			}
			polltest.Until(t, "it has ended in the server too", func() bool {
				var sessions int
				err := root.QueryRow("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID <> CONNECTION_ID() AND COMMAND NOT IN ('Sleep', 'Daemon')").Scan(&sessions)
				return err == nil && sessions == 0
			})
			if d.Err != nil || d.DSNErr != nil || !d.Local || d.Limit == 0 || d.Connected != 1 || d.WaitsErr != nil || d.Waits.Disabled == 0 {
				t.Errorf("%+v", d)
			}
			if isMaria := strings.Contains(d.Version, "MariaDB"); isMaria != (flavour == "mariadb") {
				t.Errorf("version %q", d.Version)
			}
			// The server shares this machine's clock.
			if c := d.Clock; !c.Known || c.Ahead.Abs() > c.Uncertainty+time.Second || c.Uncertainty <= 0 {
				t.Errorf("clock: %+v", c)
			}
			for name, want := range map[string]struct{ read, clean string }{
				"good": {"", ""}, "calls": {"", ""}, "unread": {"doesn't exist", ""}, "unclean": {"", "doesn't exist"},
			} {
				got := d.Ledgers[name]
				if !says(got.Read, want.read) || !says(got.Clean, want.clean) || got.Scan.Rows != 0 && name != "calls" {
					t.Errorf("ledger %s: %+v", name, got)
				}
			}
			if got := d.Invariants["none"]; len(got) != 2 || got[0] != nil || !says(got[1], "nope' doesn't exist") {
				t.Errorf("invariants: %v", got)
			}
			if got := d.Ledgers["scans"]; got.Read != nil || got.Clean != nil || got.Scan.Table != "many" || got.Scan.Rows < 10_000 {
				t.Errorf("a removal that scans a large table: %+v", got)
			}
			if err := service.Rollback(); err != nil {
				t.Error(err)
			}
			mysqldtest.Exec(t, root, "CREATE USER u IDENTIFIED BY 'p'", "GRANT SELECT ON shop.own TO u")
			as, err := driver.ParseDSN(dsn)
			if err != nil {
				t.Fatal(err)
			}
			as.User, as.Passwd = "u", "p"
			cleaned := func(statement string) error {
				return examineDatabase(t.Context(), as.FormatDSN(), "a-run", []spec.Profile{ledger("good", "SELECT id, at FROM shop.own WHERE run_id = ?", statement)}).Ledgers["good"].Clean
			}
			const fromTable, fromView = "DELETE FROM shop.orders WHERE run_id = ?", "DELETE FROM shop.own WHERE run_id = ?"
			for _, step := range []struct {
				before, statement, want string
			}{
				// What cannot be explained is prepared.
				{"", fromView, "command denied to user"},
				{"GRANT DELETE ON shop.own TO u", fromView, ""},
				{"", fromTable, "command denied to user"},
				{"GRANT EXECUTE ON shop.* TO u", "/* all */ CALL shop.purge(?)", ""},
				{"", "DO shop.purged(?)", ""},
				{"", "REMOVE FROM shop.own WHERE run_id = ?", "near 'REMOVE FROM"},
				{"GRANT SELECT, DELETE ON shop.* TO u", fromTable, ""},
				{"SET GLOBAL read_only = ON", fromTable, "the server takes no writes"},
			} {
				if step.before != "" {
					mysqldtest.Exec(t, root, step.before)
				}
				if err := cleaned(step.statement); !says(err, step.want) {
					t.Errorf("after %q, %s: %v", step.before, step.statement, err)
				}
			}
			if timed := cleaned("SET STATEMENT max_statement_time=60 FOR DELETE FROM shop.orders WHERE run_id = ?"); (timed == nil) != (flavour == "mariadb") {
				t.Errorf("with a time limit: %v", timed)
			}
			if _, has := d.Ledgers["none"]; has {
				t.Errorf("%+v", d.Ledgers)
			}
			var rows int
			if err := root.QueryRow("SELECT COUNT(*) * (SELECT COUNT(*) FROM shop.called) FROM shop.orders").Scan(&rows); err != nil || rows != 1 {
				t.Errorf("%d rows are left, %v", rows, err)
			}
		})
	}
}

// hundreds is a table of 200 rows.
const hundreds = "(SELECT 1 FROM information_schema.COLLATIONS LIMIT 200)"

// onlyRoot waits until the session of the server's start has ended, and only root's is left.
func onlyRoot(t *testing.T, root *sql.DB) {
	t.Helper()
	polltest.Until(t, "one session is left", func() bool {
		var name string
		var sessions int
		err := root.QueryRow("SHOW GLOBAL STATUS LIKE 'Threads_connected'").Scan(&name, &sessions)
		return err == nil && sessions == 1
	})
}

func says(err error, words string) bool {
	if err == nil || words == "" {
		return err == nil && words == ""
	}
	return strings.Contains(err.Error(), words)
}

// The offset of a wrong clock is measured.
func TestDatabaseClockAhead(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.5)
	db, err := databases.OpenSQL(mysqldtest.StartInMemory(t, "mariadb").DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	// This fixes the time of the only session of the pool.
	mysqldtest.Exec(t, db.DB, "SET timestamp = UNIX_TIMESTAMP() + 3600")
	if o := db.Facts(t.Context()).Clock; !o.Known || o.Ahead > time.Hour || o.Ahead < 59*time.Minute {
		t.Errorf("%+v", o)
	}
}

func TestUnusableDatabase(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.05)
	listener := listen(t, hang)
	for name, c := range map[string]struct{ dsn, words string }{
		"nobody":   {"u:secret@tcp(127.0.0.1:1)/shop", "refused"},
		"hangs":    {"u:secret@tcp(" + listener + ")/shop", "no answer within"},
		"no proto": {"u:secret@tcp(" + listen(t, garble) + ")/shop", ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := examineDatabase(t.Context(), c.dsn, "a-run", nil)
			if d.Err == nil || d.Full || !strings.Contains(d.Err.Error(), c.words) || strings.Contains(d.Err.Error()+d.Name, "secret") {
				t.Errorf("%+v", d)
			}
		})
	}
	if d := examineDatabase(t.Context(), "no DSN with a secret", "a-run", nil); d.DSNErr == nil || strings.Contains(d.DSNErr.Error(), "secret") {
		t.Errorf("%+v", d)
	}
}

// Reaching the connection limit is distinguished from other errors.
func TestFullDatabase(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.4)
	server := mysqldtest.StartInMemory(t, "mariadb")
	root := mysqldtest.Open(t, server.DSN())
	mysqldtest.Exec(t, root, "CREATE USER 'u'@'%' IDENTIFIED BY 'p'", "SET GLOBAL max_connections = 10")
	c, err := driver.ParseDSN(server.DSN())
	if err != nil {
		t.Fatal(err)
	}
	c.User, c.Passwd = "u", "p"
	// The limit of the user is another one.
	mysqldtest.Exec(t, root, "ALTER USER u WITH MAX_USER_CONNECTIONS 1")
	own := mysqldtest.Open(t, c.FormatDSN())
	if err := own.Ping(); err != nil {
		t.Fatal(err)
	}
	if d := examineDatabase(t.Context(), c.FormatDSN(), "a-run", nil); !d.Full || !strings.Contains(hint.Of(d.Err), "MAX_USER_CONNECTIONS") {
		t.Errorf("%v, %q", d.Err, hint.Of(d.Err))
	}
	_ = own.Close()
	mysqldtest.Exec(t, root, "ALTER USER u WITH MAX_USER_CONNECTIONS 0")
	onlyRoot(t, root)
	for range 11 { // root may open one more than the limit
		conn, err := root.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
	}
	if d := examineDatabase(t.Context(), c.FormatDSN(), "a-run", nil); !d.Full || d.Err == nil || hint.Of(d.Err) != "" {
		t.Errorf("%+v", d)
	}
}
