//go:build live

package postgres_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/observe/collect/databases"
	"assay.dev/assay/internal/observe/database"
	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/databasetest"
	"assay.dev/assay/internal/testing/mysqldtest"
	"assay.dev/assay/internal/testing/postgrestest"
)

// Errors are reported in the server's words, without the address.
func TestPostgreSQL(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.45)
	s := postgrestest.Start(t, "max_connections=5", "superuser_reserved_connections=0", "max_wal_senders=0")
	root := postgrestest.Open(t, s.DSN())
	mysqldtest.Exec(t, root, "SET timezone = 'Asia/Tokyo'", "CREATE ROLE u LOGIN PASSWORD 'p'",
		"CREATE TABLE at (id uuid DEFAULT gen_random_uuid(), zoned timestamptz, plain timestamp)", "GRANT SELECT, DELETE ON at TO u",
		"INSERT INTO at VALUES (DEFAULT, '2026-11-21 12:00:00Z', '2026-11-21 12:00:00')")
	u := func(password string) string { return s.UserDSN("u", password, "postgres") }
	open := func(dsn string) *database.DB {
		t.Helper()
		db, err := databases.OpenSQL(dsn)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		return db
	}

	db := open(u("p"))
	if err := db.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	var zoned, plain time.Time
	var id string
	// The argument's type is the column's.
	err := db.QueryRow(db.Dialect.Bind("SELECT id, zoned, plain FROM at WHERE id = coalesce(?, id)"), nil).Scan(&id, &zoned, &plain)
	if err != nil || !zoned.Equal(noon) || !plain.Equal(noon) || len(id) != 36 {
		t.Errorf("read %s, %v and %v, %v", id, zoned, plain, err)
	}
	if _, err := db.Exec(db.Dialect.Bind("DELETE FROM at WHERE id = ?"), id); err != nil {
		t.Error(err)
	}
	_, err = db.Exec("UPDATE at SET plain = zoned")
	if got := databases.Reason(err); got != "permission denied for table at" || !db.Dialect.Is(err, database.Denied) {
		t.Errorf("reason %q of %v", got, err)
	}
	if err := open(u("wrong")).Ping(t.Context()); err == nil || databases.Reason(err) != `password authentication failed for user "u"` {
		t.Errorf("with a wrong password: %q", databases.Reason(err))
	}
	if err := open("postgres://u:p@127.0.0.1:1/postgres").Ping(t.Context()); err == nil || databases.Reason(err) != "connection refused" {
		t.Errorf("without a server: %q", databases.Reason(err))
	}

	mysqldtest.Exec(t, root, "CREATE ROLE one LOGIN PASSWORD 'p' CONNECTION LIMIT 0")
	err = open(s.UserDSN("one", "p", "postgres")).Ping(t.Context())
	if !db.Dialect.Is(err, database.TooManyConnections) || !strings.Contains(hint.Of(err), "ALTER ROLE") {
		t.Errorf("a role at its own limit: %v; hint %q", err, hint.Of(err))
	}

	// A server without free connections is recognised.
	postgrestest.Await(t, root, 2, postgrestest.Clients) // root's and u's: the one that was refused has ended
	for range 4 {
		conn, err := root.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
	}
	if err := open(u("p")).Ping(t.Context()); !db.Dialect.Is(err, database.TooManyConnections) {
		t.Errorf("a sixth of five connections: %v", err)
	}
}

func TestPostgreSQLOverTLS(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.5)
	s := postgrestest.Start(t)
	try := func(parameters string) error {
		db, err := databases.OpenSQL(s.DSN() + "?" + parameters)
		if err != nil {
			return err
		}
		defer db.Close()
		if err := db.Ping(t.Context()); err != nil {
			return errors.New(databases.Reason(err))
		}
		var on bool
		if err := db.QueryRow("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()").Scan(&on); err != nil || on != (parameters != "sslmode=disable") {
			t.Errorf("%s: TLS %v, %v", parameters, on, err)
		}
		return nil
	}
	if err := try("sslmode=require"); err == nil || !strings.Contains(err.Error(), "refused TLS") {
		t.Errorf("a server without TLS: %v", err)
	}
	authority := databasetest.NewAuthority(t)
	s.EnableTLS(t, authority.Cert, authority.Key)
	for _, parameters := range []string{"sslmode=disable", "sslmode=prefer", "sslmode=require", "sslmode=verify-full&sslrootcert=" + authority.Bundle} {
		if err := try(parameters); err != nil {
			t.Errorf("%s: %v", parameters, err)
		}
	}
	if err := try("sslmode=verify-full"); err == nil || !strings.Contains(err.Error(), "unknown authority") {
		t.Errorf("an unknown authority: %v", err)
	}
}
