//go:build live

package main

import (
	"context"
	crand "crypto/rand"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"assay.dev/assay/internal/observe/collect/databases"
	"assay.dev/assay/internal/testing/mysqldtest"
	"assay.dev/assay/internal/testing/postgrestest"
)

// TestBehindAPooler runs the script in which a service and another client share a PgBouncer
// of five connections.
func TestBehindAPooler(t *testing.T) {
	t.Parallel()
	server := postgrestest.StartInMemory(t, "shared_preload_libraries=pg_stat_statements")
	mysqldtest.Exec(t, postgrestest.Open(t, server.DSN()), "CREATE DATABASE shop")
	root := postgrestest.Open(t, server.DatabaseDSN("shop"))
	password := crand.Text()
	mysqldtest.Exec(
		t, root, "CREATE EXTENSION pg_stat_statements",
		"CREATE TABLE orders (id text PRIMARY KEY, run_id text, persisted_at timestamptz DEFAULT now())", "CREATE TABLE notes (n int)",
		"CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.005); RETURN NEW; END'",
		"CREATE TRIGGER wait BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION wait()",
		"CREATE ROLE certifier LOGIN PASSWORD '"+password+"'", "GRANT pg_monitor TO certifier",
		"GRANT SELECT, INSERT, DELETE ON orders TO certifier", "GRANT SELECT, INSERT ON notes TO certifier",
	)
	// All of one user and database share connections.
	users := []string{fmt.Sprintf("%q %q", "certifier", password)}
	direct := server.UserDSN("certifier", password, "shop")
	pooled := postgrestest.StartBouncer(t, server, users).DSN(direct)
	session := postgrestest.StartBouncer(t, server, users, "pool_mode = session", postgrestest.IgnoreSettings).DSN(direct)
	const simple = "?default_query_exec_mode=simple_protocol"
	service := &database{t: t, addr: server.Address(), password: password, insert: "INSERT INTO orders (id, run_id) VALUES ($1, $2)"}
	service.pool = postgrestest.Open(t, pooled+simple)
	service.pool.SetMaxOpenConns(poolSize)
	service.pool.SetMaxIdleConns(poolSize)
	other := startOtherClient(t, postgrestest.Open(t, pooled+simple))
	vars := map[string]string{
		"DB": direct, "DB_POOLED": pooled, "DB_SESSION": session, "DB_PGPOOL": postgrestest.StartPgpool(t, server).DSN(direct), "SECRET": password,
	}
	testscript.Run(t, testscript.Params{
		Files: []string{"testdata/postgres/pooler.txtar"}, Cmds: commands, RequireExplicitExec: true, RequireUniqueNames: true,
		Setup: func(e *testscript.Env) error {
			s := startService(service)
			e.Defer(s.close)
			e.Values[serviceKey{}], e.Values[otherClientKey{}] = s, other
			for name, value := range vars {
				e.Setenv(name, value)
			}
			e.Setenv("TARGET", s.URL)
			e.Setenv("DB_POOLED_PUBLIC", databases.Public(pooled))
			return os.CopyFS(filepath.Join(e.WorkDir, "scenarios"), os.DirFS("../../scenarios"))
		},
	})
}

// otherClient is a client of a pool that has nothing to do with assay. It uses its tables
// without naming their schema, writes, and would notice a time-out or another setting.
type otherClient struct {
	db    *sql.DB
	done  atomic.Int64
	wrong atomic.Pointer[string] // the first thing that did not work; nil: all did
}

type otherClientKey struct{}

// startOtherClient works as eight connections, more than the pool has, until the test ends.
func startOtherClient(t *testing.T, db *sql.DB) *otherClient {
	c := &otherClient{db: db}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	for range poolSize {
		go func() {
			for ctx.Err() == nil {
				if wrong := c.work(); wrong != "" {
					c.wrong.CompareAndSwap(nil, &wrong)
				}
				c.done.Add(1)
				time.Sleep(20 * time.Millisecond)
			}
			ended <- struct{}{}
		}()
	}
	t.Cleanup(func() {
		cancel()
		for range poolSize {
			<-ended
		}
	})
	return c
}

// work does what a client does, and returns what did not work.
func (c *otherClient) work() string {
	var path, readOnly, timeout, name string
	var prepared int
	if _, err := c.db.Exec("INSERT INTO notes SELECT count(*) FROM notes"); err != nil {
		return err.Error()
	}
	err := c.db.QueryRow("SELECT current_setting('search_path'), current_setting('default_transaction_read_only'), current_setting('statement_timeout'), current_setting('application_name'), (SELECT count(*) FROM pg_prepared_statements)").
		Scan(&path, &readOnly, &timeout, &name, &prepared)
	if found := fmt.Sprintf("%v %s %s %s %q %d", err, path, readOnly, timeout, name, prepared); found != `<nil> "$user", public off 0 "" 0` {
		return found
	}
	return ""
}

// other-client-works fails unless the other client has worked without an error, and goes on.
func otherClientWorks(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: other-client-works")
	}
	c := ts.Value(otherClientKey{}).(*otherClient)
	before := c.done.Load()
	for deadline := time.Now().Add(time.Minute); c.done.Load() < before+3*poolSize; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			ts.Fatalf("the other client does not work any more")
		}
	}
	if wrong := c.wrong.Load(); wrong != nil {
		ts.Fatalf("the other client: %s", *wrong)
	}
}
