package mysqldtest

import (
	"database/sql"
	"os"
	"testing"

	_ "github.com/go-sql-driver/mysql"

	"assay.dev/assay/internal/servers/mysqld"
	"assay.dev/assay/internal/testing/memorytest"
)

// The environment variables that name the servers to test with.
const (
	MySQLEnv   = "ASSAY_TEST_MYSQLD"
	MariaDBEnv = "ASSAY_TEST_MARIADBD"
)

// Binary returns the server of this flavour ("mysql" or "mariadb") to test
// with. A missing one fails the test: a suite that skips its servers passes
// without having tested anything.
func Binary(t testing.TB, flavour string) mysqld.Binary {
	t.Helper()
	env := MySQLEnv
	if mysqld.Flavour(flavour) == mysqld.MariaDB {
		env = MariaDBEnv
	}
	path := os.Getenv(env)
	if path == "" {
		t.Fatalf("no %s server to test with: %s is not set (run: make test)", flavour, env)
	}
	b, err := mysqld.Probe(path)
	if err != nil {
		t.Fatalf("no %s server to test with: %v (run: make test)", flavour, err)
	}
	if string(b.Flavour) != flavour {
		t.Fatalf("no %s server to test with: %s names %s (run: make test)", flavour, env, b)
	}
	return b
}

// EachFlavour runs a parallel subtest for each flavour.
func EachFlavour(t *testing.T, test func(t *testing.T, flavour string)) {
	t.Helper()
	for _, flavour := range []string{"mariadb", "mysql"} {
		t.Run(flavour, func(t *testing.T) {
			t.Parallel()
			test(t, flavour)
		})
	}
}

// Start starts a server of this flavour, with these options in addition to the usual
// ones, in a folder of the test, and ends it with the test.
func Start(t testing.TB, flavour string, args ...string) *mysqld.Server {
	t.Helper()
	return start(t, flavour, t.TempDir(), args)
}

// StartInMemory starts a server as Start does, with its data in memory: several
// times faster, and without commit waits.
func StartInMemory(t testing.TB, flavour string, args ...string) *mysqld.Server {
	t.Helper()
	return start(t, flavour, memorytest.Folder(t), args)
}

func start(t testing.TB, flavour, dir string, args []string) *mysqld.Server {
	t.Helper()
	o := Prepare(t, mysqld.Options{Dir: dir, Binary: Binary(t, flavour), Args: args})
	s, err := mysqld.Start(t.Context(), o)
	if err != nil {
		t.Fatalf("start %s: %v", flavour, err)
	}
	t.Cleanup(func() {
		// The data is not needed, and a shutdown takes MySQL a second.
		if err := s.Kill(); err != nil {
			t.Errorf("end %s: %v", flavour, err)
		}
	})
	return s
}

// Prepare puts the data of a new server into the folder of these options, and returns the
// options: a first start of them is as fast as another one.
func Prepare(t testing.TB, o mysqld.Options) mysqld.Options {
	t.Helper()
	if err := copyTemplate(t.Context(), o); err != nil {
		t.Fatalf("prepare %s: %v", o.Binary.Flavour, err)
	}
	return o
}

// Open opens a pool that ends with the test.
func Open(t testing.TB, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// Exec runs statements, each of which must succeed.
func Exec(t testing.TB, db *sql.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}
