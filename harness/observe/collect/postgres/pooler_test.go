//go:build live

package postgres_test

import (
	"errors"
	"strings"
	"testing"

	"assay/harness/hint"
	"assay/harness/internal/testing/budget"
	"assay/harness/observe/collect/databases"
	"assay/harness/observe/collect/postgres"
	"assay/harness/observe/database"
	"assay/harness/observe/database/databasetest"
	"assay/harness/servers/postgrestest"
)

// Whatever opens a connection refuses a pooler, in each mode and configuration; a proxy that
// forwards bytes is not one.
func TestPoolerIsRefused(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.4)
	s := postgrestest.StartInMemory(t)
	const ignored = "ignore_startup_parameters = statement_timeout,search_path,default_transaction_read_only,assay.connection"
	for name, c := range map[string]struct{ dsn, want string }{
		"transaction mode":           {postgrestest.StartBouncer(t, s, nil).DSN(s.DSN()), `a connection pooler (PgBouncer) answers there, not the server: it says "unsupported startup parameter: `},
		"unknown parameters ignored": {postgrestest.StartBouncer(t, s, nil, ignored).DSN(s.DSN()), "a connection pooler (such as PgBouncer, Odyssey or RDS Proxy) answers there"},
		"session mode":               {postgrestest.StartBouncer(t, s, nil, ignored, "pool_mode = session").DSN(s.DSN()), "a connection pooler (such as PgBouncer, Odyssey or RDS Proxy) answers there"},
		"statement mode":             {postgrestest.StartBouncer(t, s, nil, ignored, "pool_mode = statement").DSN(s.DSN()), "a connection pooler (such as PgBouncer, Odyssey or RDS Proxy) answers there"},
		"Pgpool-II":                  {postgrestest.StartPgpool(t, s).DSN(s.DSN()), "a connection pooler (Pgpool-II) answers there"},
		"a proxy":                    {forwarded(t, s), ""},
	} {
		db, err := databases.Open(c.dsn)
		if err != nil {
			t.Fatal(err)
		}
		_, examined := postgres.Driver{}.Examine(t.Context(), c.dsn)
		for _, err := range []error{database.Ping(t.Context(), db), examined, collector(t, c.dsn).Start(t.Context())} {
			switch {
			case c.want == "" && err != nil:
				t.Errorf("%s: %v", name, err)
			case c.want == "":
			case !errors.Is(err, database.ErrPooler) || !strings.HasPrefix(databases.Reason(err), c.want) || !strings.HasPrefix(hint.Of(err), "name the server itself"):
				t.Errorf("%s: %v; %s", name, err, hint.Of(err))
			}
		}
		_ = db.Close()
	}
}

// forwarded is the DSN of a server behind a proxy that forwards bytes.
func forwarded(t *testing.T, s *postgrestest.Server) string {
	t.Helper()
	address, _ := databasetest.AbandoningProxy(t, s.Address())
	return strings.Replace(s.DSN(), s.Address(), address, 1)
}
