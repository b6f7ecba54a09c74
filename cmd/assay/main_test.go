//go:build live

package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"assay.dev/assay/internal/localstack"
	"assay.dev/assay/internal/program"
	"assay.dev/assay/internal/servers/haproxy"
	"assay.dev/assay/internal/servers/mysqld"
	"assay.dev/assay/internal/servers/mysqld/replication"
	"assay.dev/assay/internal/servers/process"
	"assay.dev/assay/internal/testing/artifact"
	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/influxtest"
	"assay.dev/assay/internal/testing/memorytest"
	"assay.dev/assay/internal/testing/mysqldtest"
)

// TestMain puts the test binary on the scripts' PATH as assay and as k6. Workers and the
// stack's reference service are the same binary.
func TestMain(m *testing.M) {
	// Scripts, and the stacks that they start, are about commands: with their files in
	// memory, no commit waits for a disk that others use.
	if err := os.Setenv("GOTMPDIR", memorytest.Root()); err != nil {
		panic(err)
	}
	testscript.Main(m, map[string]func(){"assay": main, "k6": main})
}

// TestScripts runs testdata/script: what each command accepts and refuses, as typed by a
// user, against a real service and database.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, params(t, string(mysqld.MariaDB), testscript.Params{Dir: "testdata/script"}))
}

// TestScriptsOnMySQL runs the script that depends most on the database on MySQL too.
func TestScriptsOnMySQL(t *testing.T) {
	t.Parallel()
	testscript.Run(t, params(t, string(mysqld.MySQL), testscript.Params{Files: []string{"testdata/script/database.txtar"}}))
}

// writeChapters writes into dir the thresholds.json and the script that docs/service.md
// shows for a user's own service, and next to dir the chapters whose commands scripts run.
func writeChapters(dir string) error {
	service, err := os.ReadFile("../../docs/service.md")
	if err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	for _, name := range []string{"ci.md", "fleets.md"} {
		chapter, err := os.ReadFile("../../docs/" + name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(filepath.Dir(dir), name), chapter, 0o644); err != nil {
			return err
		}
	}
	for name, block := range map[string]struct{ language, contains string }{
		"thresholds.json": {"json", `"checkout"`}, "checkout.js": {"js", "/cart/buy"},
	} {
		at := slices.IndexFunc(blocks(string(service), block.language), func(b string) bool { return strings.Contains(b, block.contains) })
		if at < 0 {
			return fmt.Errorf("docs/service.md has no %s", name)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(blocks(string(service), block.language)[at]), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func params(t *testing.T, flavour string, p testscript.Params) testscript.Params {
	t.Helper()
	starting, err := budget.Take(0.5, t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	db, view := startDatabase(t, flavour), influxtest.Start(t)
	starting()
	insights, shared := startPerformanceInsights(t), &recording{dir: t.TempDir()}
	p.RequireExplicitExec, p.RequireUniqueNames = true, true
	p.Setup = func(e *testscript.Env) error {
		setUpInflux(e, view)
		for name, value := range insights.Environment() {
			e.Setenv(name, value)
		}
		e.Values[recordingKey{}] = shared
		return setUpScript(e, db)
	}
	p.Cmds = commands
	return p
}

// setUpScript starts a script's target and sets its variables.
func setUpScript(e *testscript.Env, db *database) error {
	s := startService(db)
	e.Defer(s.close)
	e.Defer(func() { keepRecords(e) })
	// A script that fails half way must leave nothing running.
	e.Defer(func() {
		_ = localstack.Down(context.Background(), filepath.Join(e.WorkDir, ".assay"), localstack.Parts{Database: true, Influx: true, Target: true})
	})
	e.Values[serviceKey{}], e.Values[otherHostKey{}] = s, new(*atomic.Int64)
	if err := os.WriteFile(filepath.Join(e.WorkDir, "ca.pem"), s.authority(), 0o644); err != nil {
		return err
	}
	vars := map[string]string{
		"TARGET": s.URL, "TAKEN": s.port(), "TLS_TARGET": s.secure.URL,
		"SECRET":       db.password,
		"DB":           db.dsn("certifier", db.password),
		"DB_ADDR":      db.addr,
		"DB_WRONG":     db.dsn("certifier", rand.Text()),
		"DB_BLIND":     db.dsn("blind", db.password),
		"DB_NO_LEDGER": db.dsn("auditor", db.password),
		"DB_AWKWARD":   db.dsn("awkward", awkwardPassword),
		"DB_SERVICE":   db.dsn("keeper", db.password),
		"DB_NO_DELETE": db.dsn("reader", db.password),
		"DB_NOBODY":    fmt.Sprintf("certifier:%s@tcp(127.0.0.1:1)/shop", db.password),
		"DB_IS_HTTP":   fmt.Sprintf("certifier:%s@tcp(127.0.0.1:%s)/shop", db.password, s.port()),
		"INFLUXD":      influxtest.Binary(db.t),
		"SERVER":       db.binary,
		"MARIADBD":     mysqldtest.Binary(db.t, string(mysqld.MariaDB)).Path,
	}
	for _, folder := range []string{"scenarios", "stubs"} {
		if err := os.CopyFS(filepath.Join(e.WorkDir, folder), os.DirFS("../../"+folder)); err != nil {
			return err
		}
	}
	ours, err := os.ReadFile("../../thresholds.json")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(e.WorkDir, "ours.json"), ours, 0o644); err != nil {
		return err
	}
	if err := writeChapters(filepath.Join(e.WorkDir, "service")); err != nil {
		return err
	}
	// assay-lab is a program that make has built; its assay is this test binary.
	lab, path := os.Getenv(program.LabEnv), e.Getenv("PATH")
	if lab == "" {
		return errors.New(program.LabEnv + " is not set: run make test")
	}
	vars[program.LabEnv], vars["PATH"] = lab, path+string(filepath.ListSeparator)+filepath.Dir(lab)
	vars[program.Env] = filepath.Join(filepath.SplitList(path)[0], "assay")
	for _, name := range []string{replication.GarbdEnv, haproxy.BinaryEnv} { // empty: on the PATH
		vars[name] = os.Getenv(name)
	}
	for _, name := range []string{"FREE_A", "FREE_B", "FREE_C", "FREE_D"} {
		port, err := process.FreePorts(4) // enough for a stack with several nodes
		if err != nil {
			return err
		}
		vars[name] = strconv.Itoa(port)
	}
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		e.Setenv(name, vars[name])
	}
	return nil
}

// keepRecords keeps the records of a script that has failed, and the logs of its stack.
func keepRecords(e *testscript.Env) {
	folders := []string{filepath.Join(e.WorkDir, ".assay", "log")}
	for _, pattern := range []string{"*/evidence", "*/*/evidence"} {
		found, _ := filepath.Glob(filepath.Join(e.WorkDir, pattern)) // the pattern is well formed
		for _, evidence := range found {
			folders = append(folders, filepath.Dir(evidence))
		}
	}
	artifact.KeepNow(e.T().(testing.TB), folders...)
}
