//go:build live

package stack_test

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/go-sql-driver/mysql"

	"assay.dev/assay/internal/servers/mysqld"
	"assay.dev/assay/internal/servers/process"
	"assay.dev/assay/internal/testing/influxtest"
	"assay.dev/assay/internal/testing/memorytest"
	"assay.dev/assay/internal/testing/mysqldtest"
	"assay.dev/assay/internal/testing/polltest"
	"assay.dev/assay/lab/stack"
	"assay.dev/assay/lab/stack/health"
)

// upEnv names a folder for which the test binary runs `assay-lab stack up`.
const upEnv = "ASSAY_TEST_STACK_UP"

// TestMain lets the test binary also be the assay binary that a stack runs as `assay
// target`.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "target" {
		os.Exit(serve(os.Args[2:]))
	}
	if len(os.Args) > 1 && os.Args[1] == stack.HealthCommand {
		fmt.Fprintln(os.Stderr, health.Main(context.Background(), os.Getenv(health.NodesEnv), os.Args[2:]))
		os.Exit(1)
	}
	if dir := os.Getenv(upEnv); dir != "" {
		os.Exit(up(dir, os.Args[1:]))
	}
	os.Exit(m.Run())
}

// serve replaces the reference service. It is healthy when its database is.
func serve(args []string) int {
	if len(args) < 2 || args[0] != "--listen" {
		fmt.Fprintln(os.Stderr, "want --listen ADDRESS")
		return 2
	}
	if slices.Contains(args, "--die") {
		fmt.Fprintln(os.Stderr, "cannot use", os.Getenv("ASSAY_DB"))
		return 1
	}
	c, err := mysql.ParseDSN(os.Getenv("ASSAY_DB"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	c.Logger = &mysql.NopLogger{}
	db, err := sql.Open("mysql", c.FormatDSN())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	http.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) {
		if slices.Contains(args, "--sick") || db.PingContext(r.Context()) != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	server := &http.Server{Addr: args[1]}
	context.AfterFunc(ctx, func() { _ = server.Shutdown(context.Background()) })
	fmt.Fprintln(os.Stderr, server.ListenAndServe())
	return 0
}

func up(dir string, args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	b, err := mysqld.Probe(os.Getenv(mysqldtest.MariaDBEnv))
	if err == nil {
		var ports [3]int
		for i := range ports {
			ports[i], _ = process.FreePort()
		}
		_, _, err = stack.Up(ctx, stack.Options{
			Dir: dir, Binary: b, DBPort: ports[0], TargetPort: ports[1], InfluxPort: ports[2], Influxd: os.Getenv(influxtest.Env), TargetArgs: args,
		}, slog.New(slog.NewTextHandler(os.Stderr, nil)))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// options returns the options of a stack, which is stopped when the test ends.
func options(t *testing.T, flavour string) stack.Options {
	t.Helper()
	o := stack.Options{Dir: memorytest.Folder(t), Binary: mysqldtest.Binary(t, flavour), DBPort: ports(t, 4), TargetPort: ports(t, 1), InfluxPort: ports(t, 1), Influxd: influxtest.Binary(t)}
	cleanUp(t, o.Dir)
	return o
}

// prepared are options whose database need not be initialised.
func prepared(t *testing.T, flavour string) stack.Options {
	t.Helper()
	o := options(t, flavour)
	mysqldtest.Prepare(t, mysqld.Options{Dir: filepath.Join(o.Dir, "db"), Binary: o.Binary})
	return o
}

// cleanUp stops the stack when the test ends, and checks that no process is left.
func cleanUp(t *testing.T, dir string) {
	t.Helper()
	t.Cleanup(func() {
		if err := stack.Down(context.Background(), dir, stack.All); err != nil {
			t.Errorf("down: %v", err)
		}
		noProcess(t, dir)
	})
}

// ports is the first of n free ports. Node b and HAProxy use those after the database's.
func ports(t *testing.T, n int) int {
	t.Helper()
	first, err := process.FreePorts(n)
	if err != nil {
		t.Fatal(err)
	}
	return first
}

func mustUp(t *testing.T, o stack.Options) (*stack.State, stack.Parts) {
	t.Helper()
	s, started, err := stack.Up(t.Context(), o, slog.New(slog.NewTextHandler(t.Output(), nil)))
	if err != nil {
		t.Fatalf("up: %v", err)
	}
	return s, started
}

// conditions fails the test unless database, target and InfluxDB have these conditions. One
// that takes too long to answer on a busy machine is asked again.
func conditions(t *testing.T, dir string, database, target, influx stack.Condition) {
	t.Helper()
	polltest.Until(t, fmt.Sprintf("database %s, target %s and InfluxDB %s", database, target, influx), func() bool {
		_, ps, err := stack.Status(dir)
		if err != nil {
			t.Fatal(err)
		}
		met := true
		for i, want := range []stack.Condition{database, target, influx} {
			if len(ps) != 3 || ps[i].Condition != want && ps[i].Condition != stack.IsSilent {
				t.Fatalf("status %+v", ps)
			}
			met = met && ps[i].Condition == want
		}
		return met
	})
}

// noProcess fails the test if a process of this stack is running: a database has the
// folder in its command line, a target has its log open.
func noProcess(t *testing.T, dir string) {
	t.Helper()
	if left := running(t, dir); len(left) > 0 {
		t.Errorf("left running on %s: %q", dir, left)
	}
}

func running(t *testing.T, dir string) (found []string) {
	t.Helper()
	pids, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range pids {
		line, _ := os.ReadFile("/proc/" + pid.Name() + "/cmdline")
		stderr, _ := os.Readlink("/proc/" + pid.Name() + "/fd/2")
		if strings.Contains(string(line), "="+dir+"/") || strings.HasPrefix(stderr, dir+"/") {
			found = append(found, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}

func listen(t *testing.T) (l net.Listener, port int) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l, l.Addr().(*net.TCPAddr).Port
}
