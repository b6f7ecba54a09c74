package mysql_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	driver "github.com/go-sql-driver/mysql"

	"assay/harness/observe/collect/mysql"
	"assay/harness/servers/mysqld/mysqldtest"
)

// What a collector has switched on that was killed the next one restores, which
// finds it in the journal; one that lives keeps its own.
func TestKilledCollectorIsRestored(t *testing.T) {
	eachFlavour(t, func(t *testing.T, b *bench) {
		before, folder := setupRows(t, b.db), t.TempDir()
		begin := func() *mysql.Collector {
			t.Helper()
			c := mysql.New(b.dsn, mysql.Options{Journal: folder})
			if err := c.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			return c
		}
		files := func() []string {
			t.Helper()
			all, err := filepath.Glob(filepath.Join(folder, ".*"))
			if err != nil {
				t.Fatal(err)
			}
			return all
		}
		killed := begin()
		all := files()
		if len(all) != 1 {
			t.Fatalf("the journal is %q", all)
		}
		cfg, err := driver.ParseDSN(b.dsn)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(all[0]); err != nil || strings.Contains(string(text), cfg.Passwd) {
			t.Errorf("the journal holds a password: %s, %v", text, err)
		}
		living := begin()
		if got := files(); len(got) != 2 {
			t.Errorf("two collectors have %q", got)
		}
		mysql.Die(killed)
		if err := living.Close(); err != nil {
			t.Error(err)
		}
		restored := func() {
			t.Helper()
			if err := begin().Close(); err != nil {
				t.Error(err)
			}
			if after := setupRows(t, b.db); !maps.Equal(after, before) {
				t.Errorf("the setup is not as before: %q", changed(before, after))
			}
			if left := files(); len(left) != 0 {
				t.Errorf("the journal is left: %q", left)
			}
		}
		restored()

		// Alone, and killed: nobody is there to inherit from but the file.
		mysql.Die(begin())
		if maps.Equal(setupRows(t, b.db), before) {
			t.Error("a killed collector has restored something")
		}
		restored()

		// A folder that was made for the journal goes with it.
		folder = filepath.Join(folder, "runs")
		next := begin()
		if len(files()) != 1 {
			t.Error("there is no journal")
		}
		if err := next.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(folder); !os.IsNotExist(err) {
			t.Errorf("the folder is left: %v", err)
		}
	})
}

// Who may update one of the setup tables restores what a killed collector left in
// it, and what is left in the other stays in the journal.
func TestKilledCollectorIsRestoredByRights(t *testing.T) {
	eachFlavour(t, func(t *testing.T, b *bench) {
		mysqldtest.Exec(t, b.db, "CREATE USER 'some'@'%' IDENTIFIED BY 'rights'",
			"GRANT SELECT, UPDATE ON performance_schema.* TO 'some'@'%'")
		before, folder := setupRows(t, b.db), t.TempDir()
		dsn := with(t, b.dsn, func(c *driver.Config) { c.User, c.Passwd = "some", "rights" })
		begin := func() *mysql.Collector {
			t.Helper()
			c := mysql.New(dsn, mysql.Options{Journal: folder})
			if err := c.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			return c
		}
		left := func() (consumers, instruments, files int) {
			t.Helper()
			for _, name := range changed(before, setupRows(t, b.db)) {
				if strings.Contains(name, "/") {
					instruments++
				} else {
					consumers++
				}
			}
			all, err := filepath.Glob(filepath.Join(folder, ".*"))
			if err != nil {
				t.Fatal(err)
			}
			return consumers, instruments, len(all)
		}
		mysql.Die(begin())
		if consumers, instruments, files := left(); consumers == 0 || instruments == 0 || files != 1 {
			t.Fatalf("a killed collector left %d consumers, %d instruments and %d files", consumers, instruments, files)
		}
		mysqldtest.Exec(t, b.db, "REVOKE UPDATE ON performance_schema.* FROM 'some'@'%'",
			"GRANT UPDATE ON performance_schema.setup_instruments TO 'some'@'%'")
		if err := begin().Close(); err != nil {
			t.Error(err)
		}
		if consumers, instruments, files := left(); consumers == 0 || instruments != 0 || files != 1 {
			t.Errorf("left are %d consumers, %d instruments and %d files", consumers, instruments, files)
		}
		mysqldtest.Exec(t, b.db, "GRANT UPDATE ON performance_schema.setup_consumers TO 'some'@'%'")
		if err := begin().Close(); err != nil {
			t.Error(err)
		}
		if consumers, instruments, files := left(); consumers+instruments+files != 0 {
			t.Errorf("left are %d consumers, %d instruments and %d files", consumers, instruments, files)
		}
	})
}
