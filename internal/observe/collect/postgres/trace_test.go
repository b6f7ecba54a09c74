//go:build live

package postgres

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/stdlib"

	"assay.dev/assay/internal/observe/database"
	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/postgrestest"
)

// Were a pooler not recognised, its other clients would still find no trace of what the
// collector and the ledger did on the connections that they share.
func TestNoTraceOnSharedConnections(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.3)
	s := postgrestest.StartInMemory(t, "shared_preload_libraries=pg_stat_statements")
	pooled := postgrestest.StartBouncer(t, s, nil, "ignore_startup_parameters = search_path,assay.connection,"+strings.Join(slices.Collect(maps.Keys(meaning)), ",")).DSN(s.DSN())
	other := postgrestest.Open(t, pooled+"?default_query_exec_mode=simple_protocol")
	if _, err := other.Exec("CREATE EXTENSION pg_stat_statements; CREATE TABLE t (id text)"); err != nil {
		t.Fatal(err)
	}
	c, err := newCollector(pooled)
	if err != nil {
		t.Fatal(err)
	}
	unrecognised := func(config *pgx.ConnConfig) *stdlib.Conn {
		conn, err := stdlib.GetConnector(*config).Connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return conn.(*stdlib.Conn)
	}
	c.link.conn = unrecognised(c.link.config).Conn()
	c.waiters = 1 // as if a session waited for a row lock
	for range 20 {
		described, err := c.link.inspect(t.Context())
		c.server = &described
		_, sampled := c.Sample(t.Context())
		_, read := c.readStatus(t.Context())
		_, counted := c.readStatements(t.Context(), new(newStatements()))
		_, blocked := c.readBlockers(t.Context())
		if err := errors.Join(err, c.readCapabilities(t.Context()), sampled, read, counted, blocked); err != nil {
			t.Fatal(err)
		}
	}
	opened, err := config(pooled)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(stdlib.GetConnector(*opened))
	for _, statement := range []string{"SELECT id FROM t WHERE id = $1", "DELETE FROM t WHERE id = $1"} {
		for range 20 {
			if _, err := db.Exec(statement, "a run"); err != nil {
				t.Fatal(err)
			}
		}
	}
	// All connections of the pool at a time, before assay's end and after it.
	look := func() {
		for range 5 {
			tx, err := other.BeginTx(context.Background(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = tx.Rollback() }()
			var path, readOnly, timeout, name string
			var prepared int
			err = tx.QueryRow("SELECT current_setting('search_path'), current_setting('default_transaction_read_only'), current_setting('statement_timeout'), current_setting('application_name'), (SELECT count(*) FROM pg_prepared_statements)").
				Scan(&path, &readOnly, &timeout, &name, &prepared)
			if err != nil || path != `"$user", public` || readOnly != "off" || timeout != "0" || name != "" || prepared != 0 {
				t.Errorf("another client has search_path %s, read only %s, time-out %s, name %q, %d prepared statements, %v", path, readOnly, timeout, name, prepared, err)
			}
		}
	}
	look()
	if err := errors.Join(c.Close(), db.Close()); err != nil {
		t.Error(err)
	}
	look()
}

// A client that is killed tells the server nothing, and leaves no statement behind.
func TestStatementOfAKilledClientEnds(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.2)
	s := postgrestest.StartInMemory(t)
	root := postgrestest.Open(t, s.DSN())
	c, err := config(s.DSN())
	if err != nil {
		t.Fatal(err)
	}
	opened, err := connector{c, &database.Intake{}, ownName}.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	conn := opened.Conn().PgConn()
	conn.Frontend().Send(&pgproto3.Query{String: "SELECT pg_sleep(600)"})
	if err := conn.Frontend().Flush(); err != nil {
		t.Fatal(err)
	}
	const running = "query = 'SELECT pg_sleep(600)'"
	postgrestest.Await(t, root, 1, running)
	if err := conn.Conn().Close(); err != nil {
		t.Fatal(err)
	}
	postgrestest.Await(t, root, 0, running)
}
