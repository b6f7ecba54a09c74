//go:build live

package mysql_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/observe/collect/databases"
	"assay.dev/assay/internal/observe/collect/mysql"
	"assay.dev/assay/internal/observe/database"
	"assay.dev/assay/internal/servers/mysqld"
	"assay.dev/assay/internal/servers/process"
	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/databasetest"
	"assay.dev/assay/internal/testing/mysqldtest"
)

// A pooler is refused before anything is set on a session that its other clients share,
// while a proxy that forwards bytes is not one. The pooler is a synthetic one.
func TestPoolerIsRefused(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.3)
	for _, flavour := range []mysqld.Flavour{mysqld.MySQL, mysqld.MariaDB} {
		t.Run(string(flavour), func(t *testing.T) {
			s := mysqldtest.StartInMemory(t, string(flavour))
			mysqldtest.Exec(t, mysqldtest.Open(t, s.DSN()), "CREATE USER pooled IDENTIFIED BY 'secret'", "GRANT SELECT, UPDATE ON performance_schema.* TO pooled", "GRANT PROCESS ON *.* TO pooled")
			server := process.Address(s.Port())
			at := func(address, parameters string) string {
				return fmt.Sprintf("pooled:secret@tcp(%s)/%s", address, parameters)
			}
			for name, named := range map[string]string{"": "such as ProxySQL or MaxScale", "(ProxySQL)": "ProxySQL", "MariaDB MaxScale 24": "MaxScale"} {
				pooler := databasetest.MySQLPooler(t, server, "pooled", "secret", name)
				other := mysqldtest.Open(t, at(pooler, "")) // another client of the pooler
				const settings = "SELECT CONCAT_WS(' ', @@SESSION.time_zone, @@SESSION.autocommit, @@SESSION.lock_wait_timeout, @@SESSION.sql_mode, @@SESSION.character_set_client)"
				var before, after string
				if err := other.QueryRow(settings).Scan(&before); err != nil {
					t.Fatal(err)
				}
				db, err := databases.OpenSQL(at(pooler, "?charset=latin1&sql_mode=%27ANSI%27"))
				if err != nil {
					t.Fatal(err)
				}
				_, examined := mysql.Driver{}.Examine(t.Context(), at(pooler, ""))
				for _, err := range []error{db.Ping(t.Context()), examined, collector(t, at(pooler, "?charset=latin1")).Start(t.Context())} {
					if !errors.Is(err, database.ErrPooler) || !strings.Contains(databases.Reason(err), "a connection pooler ("+named+") answers there") || !strings.HasPrefix(hint.Of(err), "name the server itself") {
						t.Errorf("%q: %v; %s", name, err, hint.Of(err))
					}
				}
				_ = db.Close()
				if err := other.QueryRow(settings).Scan(&after); err != nil || after != before {
					t.Errorf("%q: the other client's session has %s after %s, %v", name, after, before, err)
				}
			}
			forwarder, _ := databasetest.AbandoningProxy(t, server)
			db, err := databases.OpenSQL(at(forwarder, "?sql_mode=%27ANSI%27&collation=latin1_swedish_ci"))
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			var mode string
			if err := errors.Join(db.Ping(t.Context()), db.QueryRow("SELECT @@SESSION.sql_mode").Scan(&mode)); err != nil || !strings.Contains(mode, "ANSI") {
				t.Errorf("through a proxy that forwards: %q, %v", mode, err)
			}
			started(t, at(forwarder, ""))
		})
	}
}
