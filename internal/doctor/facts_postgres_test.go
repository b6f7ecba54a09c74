//go:build live

package doctor

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/observe/collect/databases"
	"assay.dev/assay/internal/observe/collect/sampling"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/mysqldtest"
	"assay.dev/assay/internal/testing/postgrestest"
)

func TestPostgreSQL(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.15)
	s := postgrestest.StartInMemory(t, "max_connections=20")
	root := postgrestest.Open(t, s.DSN())
	mysqldtest.Exec(t, root, "CREATE DATABASE shop", "CREATE ROLE blind LOGIN PASSWORD 'x'")
	shop := postgrestest.Open(t, s.DatabaseDSN("shop"))
	mysqldtest.Exec(t, shop, "CREATE TABLE orders (id varchar(40), at timestamptz, day date, run_id uuid)",
		"INSERT INTO orders VALUES ('a', now(), now(), gen_random_uuid())", "GRANT ALL ON orders TO blind",
		"CREATE PROCEDURE purge(run text) LANGUAGE sql AS 'DELETE FROM orders WHERE run_id::text = run'")
	ledger := func(name, persisted string, cleanup ...string) spec.Profile {
		return spec.Profile{Name: name, Flows: []spec.Flow{{Ledger: &spec.Ledger{Persisted: persisted, Cleanup: cleanup}}}}
	}
	postgrestest.Await(t, root, 2, postgrestest.Clients) // root's and shop's: that of the server's start has ended
	const remove = "DELETE FROM orders WHERE run_id::text = ?"
	d := examineDatabase(t.Context(), s.DatabaseDSN("shop"), "a-run", []spec.Profile{
		{Name: "none", Invariants: []spec.Invariant{
			{Name: "holds", SQL: "SELECT id FROM orders WHERE run_id::text = ?"}, {Name: "is wrong", SQL: "SELECT id FROM nope WHERE balance < 0"},
		}},
		ledger("good", "SELECT id, at FROM orders WHERE run_id::text = ?", remove),
		ledger("unread", "SELECT id, at FROM ordres WHERE run_id::text = ?", remove),
		ledger("no uuid", "SELECT id, at FROM orders WHERE run_id = ?", remove),
		ledger("a day", "SELECT id, day FROM orders WHERE run_id::text = ?", remove),
		ledger("unclean", "SELECT id, at FROM orders WHERE run_id::text = ?", "DELETE FORM orders WHERE run_id::text = ?"),
		{Name: "fl", Flows: []spec.Flow{{Name: "a", Ledger: ledger("", "SELECT id, at FROM ordres WHERE run_id::text = ?").Flows[0].Ledger}, {Name: "b"}}},
		ledger("called", "SELECT id, at FROM orders WHERE run_id::text = ?", "CALL purge(?)"),
		ledger("not called", "SELECT id, at FROM orders WHERE run_id::text = ?", "CALL porge(?)"),
	})
	// A slow one does not keep the next from being examined.
	both := examineDatabase(t.Context(), s.DatabaseDSN("shop"), "a-run", []spec.Profile{
		ledger("slow", "SELECT id, at FROM orders WHERE run_id::text = ? OR pg_sleep(600) IS NULL"),
		ledger("next", "SELECT id, at FROM orders WHERE run_id::text = ?"),
	}).Ledgers
	if slow := both["slow"]; !says(slow.Read, "no answer within") || slow.Clean != nil || !errors.Is(slow.Read, context.DeadlineExceeded) || both["next"].Read != nil {
		t.Errorf("%+v", both)
	}
	postgrestest.Await(t, root, 2, postgrestest.Clients) // it has ended in the server too
	if d.Err != nil || d.DSNErr != nil || !d.Local || d.Dialect.Name != "PostgreSQL" || d.Limit != 17 || d.Connected != 2 || d.WaitsErr != nil {
		t.Errorf("%+v", d)
	}
	if len(d.Waits.Notes) != 1 || len(d.Waits.Hints) != 1 || d.Waits.Disabled != 0 {
		t.Errorf("waits: %+v", d.Waits)
	}
	if !strings.Contains(d.Version, ".") || d.Name != databases.Public(s.DatabaseDSN("shop")) {
		t.Errorf("%s, version %q", d.Name, d.Version)
	}
	if c := d.Clock; !c.Known || c.Ahead.Abs() > c.Uncertainty+time.Second || c.Uncertainty <= 0 {
		t.Errorf("clock: %+v", c)
	}
	for name, want := range map[string]struct{ read, clean string }{
		"good": {"", ""}, "unread": {`relation "ordres" does not exist`, ""}, "no uuid": {"invalid input syntax for type uuid", ""},
		"a day": {"column day has type DATE, want TIMESTAMPTZ or TIMESTAMP; convert it in the query, as by to_timestamp(ms / 1000.0)", ""}, "unclean": {"", "syntax error"},
		"fl, flow a": {`relation "ordres" does not exist`, ""},
		"called":     {"", ""}, "not called": {"", "procedure porge("},
	} {
		if got := d.Ledgers[name]; !says(got.Read, want.read) || !says(got.Clean, want.clean) {
			t.Errorf("ledger %s: %+v", name, got)
		}
	}
	if got := d.Invariants["none"]; len(got) != 2 || got[0] != nil || !says(got[1], `relation "nope" does not exist`) {
		t.Errorf("invariants: %v", got)
	}
	var rows int
	if err := shop.QueryRow("SELECT count(*) FROM orders").Scan(&rows); err != nil || rows != 1 {
		t.Errorf("%d rows are left, %v", rows, err)
	}

	// Defaults of a role are those of the service; what the DSN says is not.
	for _, setting := range []string{"default_transaction_read_only = on", "statement_timeout = 1", "lock_timeout = 1", "default_transaction_isolation = serializable", "debug_print_plan = on"} {
		mysqldtest.Exec(t, root, "ALTER ROLE blind SET "+setting)
	}
	good := []spec.Profile{ledger("good", "SELECT id, at FROM orders WHERE (run_id::text = ? OR pg_sleep(0.02) IS NULL) AND 1 / (current_setting('transaction_isolation') = 'read committed')::int = 1", remove)}
	blind := s.UserDSN("blind", "x", "shop")
	for _, step := range []struct{ dsn, before, read, clean string }{
		{blind, "", "", ""},
		{blind + "?default_transaction_read_only=on", "", "", "the server takes no writes"},
		{blind + "?statement_timeout=5", "", "statement timeout", ""},
		{blind + "?options=-c%20statement_timeout%3D5", "", "statement timeout", ""},
		{blind, "REVOKE DELETE ON orders FROM blind", "", "permission denied for table orders"},
	} {
		if step.before != "" {
			mysqldtest.Exec(t, shop, step.before)
		}
		if got := examineDatabase(t.Context(), step.dsn, "a-run", good).Ledgers["good"]; !says(got.Read, step.read) || !says(got.Clean, step.clean) {
			t.Errorf("after %q: %+v", step.before, got)
		}
	}

	// While another user has a session.
	var rights *sampling.RightsError
	if d := examineDatabase(t.Context(), s.UserDSN("blind", "x", "shop"), "a-run", nil); d.Err != nil || !errors.As(d.WaitsErr, &rights) {
		t.Errorf("a user without rights: %+v", d)
	}
}

func TestUnreachablePostgreSQL(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.05)
	for name, dsn := range map[string]string{"nobody": "postgres://u:secret@127.0.0.1:1/shop", "hangs": "postgres://u:secret@" + listen(t, hang) + "/shop"} {
		d := examineDatabase(t.Context(), dsn, "a-run", nil)
		if d.Err == nil || strings.Contains(d.Err.Error()+d.Name, "secret") {
			t.Errorf("%s: %+v", name, d)
		}
	}
}
