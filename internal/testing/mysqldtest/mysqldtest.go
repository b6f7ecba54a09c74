package mysqldtest

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
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

// Replica starts a server in memory, with these options in addition to the usual ones, that
// replicates all further writes of the source.
func Replica(t testing.TB, source *mysqld.Server, args ...string) *mysqld.Server {
	t.Helper()
	flavour := source.Binary().Flavour
	replica := StartInMemory(t, string(flavour), append([]string{"--server-id=2"}, args...)...)
	root := Open(t, source.DSN())
	Exec(t, root, "CREATE USER 'copy'@'%' IDENTIFIED BY 'c'", "GRANT REPLICATION SLAVE ON *.* TO 'copy'@'%'")
	show := "SHOW MASTER STATUS"
	if flavour == mysqld.MySQL {
		show = "SHOW BINARY LOG STATUS"
	}
	file, at := position(t, root, show)
	change := fmt.Sprintf("CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT=%d, MASTER_USER='copy', MASTER_PASSWORD='c', MASTER_LOG_FILE='%s', MASTER_LOG_POS=%d", source.Port(), file, at)
	if flavour == mysqld.MySQL {
		change = strings.ReplaceAll(strings.Replace(change, "CHANGE MASTER TO", "CHANGE REPLICATION SOURCE TO GET_SOURCE_PUBLIC_KEY=1,", 1), "MASTER_", "SOURCE_")
	}
	Exec(t, Open(t, replica.DSN()), change, "START REPLICA")
	return replica
}

// position is the end of the binlog: the first two columns of the statement's row.
func position(t testing.TB, db *sql.DB, statement string) (file string, at int64) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), statement)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	names, err := rows.Columns()
	if err != nil || !rows.Next() {
		t.Fatalf("%s: no row, %v", statement, errors.Join(err, rows.Err()))
	}
	into := []any{&file, &at}
	for range names[2:] {
		into = append(into, new(sql.NullString))
	}
	if err := rows.Scan(into...); err != nil {
		t.Fatal(err)
	}
	return file, at
}

// copyTemplate copies the data folder of a new server with these options into their folder:
// this saves about two seconds per MySQL server.
func copyTemplate(ctx context.Context, o mysqld.Options) error {
	info, err := os.Stat(o.Binary.Path)
	if err != nil {
		return err
	}
	key := fmt.Sprintln(o.Binary.Path, info.Size(), info.ModTime().UnixNano(), strings.Join(mysqld.CreationArgs(o.Args), " "))
	name := fmt.Sprintf("%s-%x", o.Binary.Flavour, sha256.Sum256([]byte(key)))[:24]
	template, err := memorytest.Template(name, func(dir string) error {
		made := o
		made.Dir = dir
		if err := mysqld.Prepare(ctx, made); err != nil {
			return err
		}
		// It holds the server's UUID, which replication requires to be unique.
		if err := os.Remove(filepath.Join(dir, "data", "auto.cnf")); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
	if err != nil {
		return err
	}
	return memorytest.Copy(template, o.Dir)
}
