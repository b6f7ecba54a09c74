//go:build live

package change_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"assay.dev/assay/internal/observe/collect/databases"
	"assay.dev/assay/internal/series/experiment/binlog"
	"assay.dev/assay/internal/series/experiment/change"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/mysqldtest"
	"assay.dev/assay/internal/testing/polltest"
)

// TestMain lets the test binary also be the program that reads the binlog.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == change.ReadersCommand {
		os.Exit(read(os.Args[2]))
	}
	os.Exit(m.Run())
}

func read(count string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := binlog.Main(ctx, os.Getenv("ASSAY_DB"), count, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// TestOnServers runs the tests that need a server on each flavour.
func TestOnServers(t *testing.T) {
	t.Parallel()
	for _, flavour := range []string{"mysql", "mariadb"} {
		t.Run(flavour, func(t *testing.T) {
			t.Parallel()
			budget.CPUs(t, 0.45)
			server := mysqldtest.StartInMemory(t, flavour)
			db := mysqldtest.Open(t, server.DSN())
			mysqldtest.Exec(t, db, "CREATE DATABASE shop", "CREATE TABLE shop.orders (id INT PRIMARY KEY, c INT)")
			b := fixture{db: db, dsn: server.DSN()}
			t.Run("applied and reverted", b.appliedAndReverted)
			t.Run("a step fails", b.stepFails)
			t.Run("replayed", b.replayed)
			t.Run("interrupted", b.interrupted)
			t.Run("an undo fails", b.undoFails)
			t.Run("prepared", b.prepared)
		})
	}
}

// fixture is a server with its DSN.
type fixture struct {
	db  *sql.DB
	dsn string
}

// system is a new one, with a journal in the folder.
func (b fixture) system(t *testing.T, dir string) *change.System {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	sys := &change.System{DSN: b.dsn, Executable: executable, Log: slog.New(slog.DiscardHandler)}
	sys.Begin(dir, "x", "http://127.0.0.1:1", time.Unix(0, 0))
	return sys
}

func variable(t *testing.T, db *sql.DB, name string) (value string) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), "SELECT @@GLOBAL."+name).Scan(&value); err != nil {
		t.Fatal(err)
	}
	return value
}

func indices(t *testing.T, db *sql.DB) (n int) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM information_schema.statistics WHERE table_schema = 'shop'").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// everything makes every change that is possible outside the local stack, with
// variables of several types.
func everything(file string) spec.Variant {
	return spec.Variant{
		Name: "B",
		Global: []spec.Setting{
			{Name: "sync_binlog", Value: "0"},
			{Name: "long_query_time", Value: "2.5"},
			{Name: "init_connect", Value: `SET @a = 'it''s \\'`},
			{Name: "general_log", Value: "ON"},
		},
		SQL:     &spec.Steps{Apply: []string{"CREATE INDEX i ON shop.orders (c)"}, Revert: []string{"DROP INDEX i ON shop.orders"}},
		Command: &spec.Steps{Apply: []string{"touch", file}, Revert: []string{"rm", "-f", file}},
		Readers: 2,
	}
}

type state struct {
	sync, slow, connect, log string
	indices                  int
	file                     bool
}

func stateOf(t *testing.T, db *sql.DB, file string) state {
	t.Helper()
	_, err := os.Stat(file)
	return state{
		variable(t, db, "sync_binlog"), variable(t, db, "long_query_time"), variable(t, db, "init_connect"), variable(t, db, "general_log"),
		indices(t, db), err == nil,
	}
}

func (b fixture) appliedAndReverted(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(t.TempDir(), "applied")
	before := stateOf(t, b.db, file)
	sys := b.system(t, dir)
	v := everything(file)
	if err := sys.Prepare(t.Context(), []spec.Variant{{Name: "A"}, v}); err != nil {
		t.Fatal(err)
	}
	if err := sys.Apply(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	during := stateOf(t, b.db, file)
	if want := (state{"0", "2.5", v.Global[2].Value, "1", before.indices + 1, true}); trimmed(during) != want {
		t.Errorf("%+v, want %+v", during, want)
	}
	noSecret(t, dir, sys)
	for i := range 50 {
		mysqldtest.Exec(t, b.db, fmt.Sprintf("INSERT INTO shop.orders VALUES (%d, 0)", i))
	}
	polltest.Until(t, "two replication clients", func() bool { return connections(t, b.db) == 2 })
	// Each row makes at least a table map, a row and a commit event for each reader.
	polltest.Until(t, "both have read all rows", func() bool { return sys.Read().Events >= 2*3*50 })
	if err := sys.Revert(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after := stateOf(t, b.db, file); after != before {
		t.Errorf("%+v before, %+v after", before, after)
	}
	if r := sys.Read(); r.Readers != 2 || r.Events < 2*3*50 || r.Bytes < r.Events*19 || r.CPUSeconds <= 0 {
		t.Errorf("%+v", r)
	}
	polltest.Until(t, "no replication client", func() bool { return connections(t, b.db) == 0 })
	if j, err := change.OpenJournal(dir); err != nil || j == nil || len(j.Steps) != 0 {
		t.Errorf("journal between runs %v, %v", j, err)
	}
	if err := sys.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if j, err := change.OpenJournal(dir); j != nil || err != nil {
		t.Errorf("journal %v, %v", j, err)
	}
}

// A change that is interrupted does not take effect after it was reverted: nothing goes on
// that could.
func (b fixture) interrupted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "late")
	for name, v := range map[string]spec.Variant{
		"a statement": {Name: "B", SQL: &spec.Steps{
			Apply:  []string{"INSERT INTO shop.orders SELECT 4711, SLEEP(600)"},
			Revert: []string{"DELETE FROM shop.orders WHERE id = 4711"},
		}},
		"a command": {Name: "B", Command: &spec.Steps{
			Apply:  []string{"sh", "-c", fmt.Sprintf("(sleep 600; touch %s) & wait", file)},
			Revert: []string{"rm", "-f", file},
		}},
	} {
		goesOn := func() bool { return b.inserts(t) || runs(t, file) }
		sys := b.system(t, t.TempDir())
		ctx, interrupt := context.WithCancel(t.Context())
		applied := make(chan error, 1)
		go func() { applied <- sys.Apply(ctx, v) }()
		polltest.Until(t, name+" goes on", goesOn)
		interrupt()
		if err := <-applied; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error %v", name, err)
		}
		if err := sys.Close(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		polltest.Until(t, name+" has ended", func() bool { return !goesOn() })
	}
	var late int
	if err := b.db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM shop.orders WHERE id = 4711").Scan(&late); err != nil || late != 0 {
		t.Errorf("%d rows were inserted late, %v", late, err)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("the file was created late: %v", err)
	}
}

// inserts reports whether the server executes the statement that inserts.
func (b fixture) inserts(t *testing.T) bool {
	t.Helper()
	var n int
	if err := b.db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'INSERT INTO shop.orders SELECT%'").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n > 0
}

// runs reports whether a process names the file on its command line.
func runs(t *testing.T, file string) bool {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(all, func(path string) bool {
		line, _ := os.ReadFile(path) // it may have ended
		return strings.Contains(string(line), "touch "+file)
	})
}

func trimmed(s state) state {
	s.slow = strings.TrimRight(s.slow, "0")
	return s
}

// connections is the number of replication clients.
func connections(t *testing.T, db *sql.DB) (n int) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%'").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// noSecret checks that the journal names the database without its password.
func noSecret(t *testing.T, dir string, sys *change.System) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, change.JournalFile))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(sys.DSN, ":")
	password, _, _ := strings.Cut(rest, "@")
	if password == "" || strings.Contains(string(text), password) {
		t.Errorf("%q in %s", password, text)
	}
}

// If a step fails, the changes before it are reverted, and its own revert is tried.
func (b fixture) stepFails(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(t.TempDir(), "applied")
	before := stateOf(t, b.db, file)
	for name, breakStep := range map[string]func(*spec.Variant){
		"an invalid value": func(v *spec.Variant) { v.Global[1].Value = "slow" },
		"a statement":      func(v *spec.Variant) { v.SQL.Apply[0] = "SELECT nonsense"; v.SQL.Revert[0] = "SELECT 1" },
		"a command": func(v *spec.Variant) {
			v.Command.Apply = []string{"sh", "-c", "echo no wire >&2; exit 3"}
		},
		"a missing program": func(v *spec.Variant) { v.Command.Apply = []string{"/no/such/program"} },
	} {
		v := everything(file)
		breakStep(&v)
		sys := b.system(t, dir)
		if err := sys.Apply(t.Context(), v); err == nil || !strings.HasPrefix(err.Error(), "apply variant B: ") {
			t.Errorf("%s: error %v", name, err)
		} else if name == "a command" && !strings.HasSuffix(err.Error(), "exit status 3: no wire") {
			t.Errorf("%s: error %v", name, err)
		}
		if err := sys.Close(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if after := stateOf(t, b.db, file); after != before {
			t.Errorf("%s: %+v before, %+v after", name, before, after)
		}
		if j, err := change.OpenJournal(dir); j != nil || err != nil {
			t.Errorf("%s: journal %v, %v", name, j, err)
		}
	}
}

// The changes of a killed experiment are undone from its journal, with the DSN of the
// same database only.
func (b fixture) replayed(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(t.TempDir(), "applied")
	before := stateOf(t, b.db, file)
	v := everything(file)
	v.Readers = 0 // they would end with the experiment
	if err := b.system(t, dir).Apply(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	next := b.system(t, dir)
	var err error
	if next.Journal, err = change.OpenJournal(dir); err != nil || next.Journal == nil {
		t.Fatal(next.Journal, err)
	}
	dsn := next.DSN
	next.DSN = "root:secret@tcp(127.0.0.1:1)/"
	if err := change.Replay(t.Context(), next); err == nil || err.Error() != "an interrupted experiment has changed "+databases.Public(dsn)+", but ASSAY_DB is another database" {
		t.Errorf("another database: %v", err)
	}
	next.DSN = dsn
	if err := change.Replay(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	if after := stateOf(t, b.db, file); after != before {
		t.Errorf("%+v before, %+v after", before, after)
	}
}

// A change that cannot be undone stays in the journal, and the hint says what to run.
// The others are still undone.
func (b fixture) undoFails(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(t.TempDir(), "applied")
	before := stateOf(t, b.db, file)
	v := everything(file)
	v.Readers = 0
	v.Command.Revert = []string{"sh", "-c", "exit 1"}
	sys := b.system(t, dir)
	if err := sys.Apply(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	err := sys.Close(t.Context())
	var undo *change.UndoError
	if !errors.As(err, &undo) || !strings.Contains(undo.Hint(), "sh -c 'exit 1'") || !strings.Contains(undo.Hint(), "rm "+filepath.Join(dir, change.JournalFile)) {
		t.Fatalf("error %v", err)
	}
	after := stateOf(t, b.db, file)
	if after.file = false; after != before {
		t.Errorf("%+v before, %+v after", before, after)
	}
	if j, err := change.OpenJournal(dir); err != nil || j == nil || len(j.Steps) != 1 {
		t.Errorf("journal %+v, %v", j, err)
	}
}

// What a variant needs is checked before anything is changed.
func (b fixture) prepared(t *testing.T) {
	sys := b.system(t, t.TempDir())
	bad := []spec.Variant{{Name: "A"}, {Name: "B", Global: []spec.Setting{{Name: "no_such_variable", Value: "1"}}}}
	if err := sys.Prepare(t.Context(), bad); err == nil || !strings.Contains(err.Error(), "variant B: read the variable no_such_variable") {
		t.Errorf("error %v", err)
	}
	fixed := []spec.Variant{{Name: "A"}, {Name: "B", Global: []spec.Setting{{Name: "port", Value: "1"}}}}
	if err := sys.Prepare(t.Context(), fixed); err == nil || !strings.Contains(err.Error(), "variant B: SET GLOBAL port = ") {
		t.Errorf("error %v", err)
	}
	sys.DSN = ""
	if err := sys.Prepare(t.Context(), []spec.Variant{{Name: "B", Readers: 1}}); err == nil || !strings.Contains(err.Error(), "no database is named") {
		t.Errorf("error %v", err)
	}
}
