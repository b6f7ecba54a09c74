//go:build live

package main

import (
	crand "crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"assay.dev/assay/internal/testing/mysqldtest"
	"assay.dev/assay/internal/testing/postgrestest"
)

// TestScriptsOnPostgreSQL runs the scripts whose service stores its orders in
// PostgreSQL.
func TestScriptsOnPostgreSQL(t *testing.T) {
	t.Parallel()
	server := postgrestest.StartInMemory(t, "shared_preload_libraries=pg_stat_statements", "max_connections=300")
	mysqldtest.Exec(t, postgrestest.Open(t, server.DSN()), "CREATE DATABASE shop")
	db := &database{t: t, addr: server.Address(), password: crand.Text(), insert: "INSERT INTO orders (id, run_id) VALUES ($1, $2)"}
	db.pool = postgrestest.Open(t, server.DatabaseDSN("shop"))
	db.pool.SetMaxOpenConns(poolSize)
	db.pool.SetMaxIdleConns(poolSize)
	mysqldtest.Exec(
		t, db.pool, "CREATE EXTENSION pg_stat_statements",
		"CREATE TABLE orders (id text PRIMARY KEY, run_id text, persisted_at timestamptz DEFAULT now())",
		// Without a wait of a few milliseconds a fast machine might have no session in a sample.
		"CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.005); RETURN NEW; END'",
		"CREATE TRIGGER wait BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION wait()",
		"CREATE TABLE stock (id int PRIMARY KEY, n int)", "INSERT INTO stock VALUES (1, 0)",
	)
	for user, rights := range map[string]string{"certifier": "SELECT, DELETE", "blind": "SELECT, DELETE", "reader": "SELECT", "auditor": ""} {
		mysqldtest.Exec(t, db.pool, "CREATE ROLE "+user+" LOGIN PASSWORD '"+db.password+"'")
		if rights != "" {
			mysqldtest.Exec(t, db.pool, "GRANT "+rights+" ON orders TO "+user)
		}
		if user == "certifier" {
			mysqldtest.Exec(t, db.pool, "GRANT SELECT, UPDATE ON stock TO certifier")
		}
		if user != "blind" {
			mysqldtest.Exec(t, db.pool, "GRANT pg_monitor TO "+user)
		}
	}
	// One at a time: concurrent runs on one server report each other.
	for _, script := range []string{"postgres", "hot"} {
		t.Run(script, func(t *testing.T) {
			testscript.Run(t, testscript.Params{
				Files: []string{"testdata/postgres/" + script + ".txtar"}, Cmds: commands, RequireExplicitExec: true, RequireUniqueNames: true,
				Setup: func(e *testscript.Env) error { return setUpPostgreSQL(e, server, db) },
			})
		})
	}
	var rows int
	if err := db.pool.QueryRow("SELECT count(*) FROM orders").Scan(&rows); err != nil || rows != 0 {
		t.Errorf("the runs left %d rows: %v", rows, err)
	}
}

// setUpPostgreSQL starts a script's target and sets its variables.
func setUpPostgreSQL(e *testscript.Env, server *postgrestest.Server, db *database) error {
	s := startService(db)
	e.Defer(s.close)
	e.Values[serviceKey{}] = s
	for user, name := range map[string]string{"certifier": "DB", "blind": "DB_BLIND", "reader": "DB_NO_DELETE", "auditor": "DB_NO_LEDGER"} {
		e.Setenv(name, server.UserDSN(user, db.password, "shop"))
	}
	e.Setenv("DB_WRONG", server.UserDSN("certifier", strings.ToLower(db.password), "shop"))
	e.Setenv("DB_AS_MYSQL", "certifier:"+db.password+"@tcp("+db.addr+")/shop")
	e.Setenv("DB_PUBLIC", "postgres://certifier@"+db.addr+"/shop")
	e.Setenv("TARGET", s.URL)
	e.Setenv("SECRET", db.password)
	return os.CopyFS(filepath.Join(e.WorkDir, "scenarios"), os.DirFS("../../scenarios"))
}
