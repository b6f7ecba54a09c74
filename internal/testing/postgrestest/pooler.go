package postgrestest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"assay.dev/assay/internal/servers/process"
)

// The environment variables that name the poolers' programs.
const (
	BouncerEnv = "ASSAY_TEST_PGBOUNCER"
	PgpoolEnv  = "ASSAY_TEST_PGPOOL"
)

// Pooler is a connection pooler before a server, on loopback.
type Pooler struct {
	dir   string
	port  int
	end   syscall.Signal // ends it without waiting for clients
	child *process.Child
}

// DSN is a DSN of the server that goes through the pooler instead.
func (p *Pooler) DSN(direct string) string {
	u, err := url.Parse(direct)
	if err != nil {
		panic(err) // it is a server's
	}
	u.Host = process.Address(p.port)
	return u.String()
}

// Log is what the pooler has logged.
func (p *Pooler) Log() string {
	text, _ := os.ReadFile(p.log()) // empty: nothing
	return string(text)
}

func (p *Pooler) log() string { return filepath.Join(p.dir, "log") }

// IgnoreSettings is a setting of PgBouncer with which it takes connections of this program's
// collector, and does not do what they ask for.
const IgnoreSettings = "ignore_startup_parameters = statement_timeout,search_path,default_transaction_read_only,assay.connection," +
	"default_transaction_isolation,lock_timeout,gin_fuzzy_search_limit,transform_null_equals,debug_print_parse,debug_print_rewritten,debug_print_plan"

// StartBouncer starts a real PgBouncer in transaction mode with a pool of five connections,
// and ends it with the test. Settings ("name = value") replace these. Besides the superuser
// it knows the users that are named as in "user" "password".
func StartBouncer(t testing.TB, s *Server, users []string, settings ...string) *Pooler {
	t.Helper()
	config := append([]string{
		"[databases]", fmt.Sprintf("* = host=%s port=%d", process.Loopback, s.port),
		"[pgbouncer]", "listen_addr = " + process.Loopback, "listen_port = PORT", "unix_socket_dir =",
		"auth_type = scram-sha-256", "auth_file = users", "pool_mode = transaction", "default_pool_size = 5",
	}, settings...)
	users = append(users, fmt.Sprintf("%q %q", superuser, s.password))
	return startPooler(t, s, BouncerEnv, syscall.SIGTERM, map[string]string{"config": strings.Join(config, "\n"), "users": strings.Join(users, "\n")}, "config")
}

// StartPgpool starts a real Pgpool-II that keeps connections, and ends it with the test.
func StartPgpool(t testing.TB, s *Server) *Pooler {
	t.Helper()
	control, err := process.FreePort() // it cannot be switched off
	if err != nil {
		t.Fatal(err)
	}
	config := []string{
		"listen_addresses = '" + process.Loopback + "'", "port = PORT", "socket_dir = '.'", fmt.Sprintf("pcp_port = %d", control), "pcp_socket_dir = '.'", "pcp_listen_addresses = '" + process.Loopback + "'",
		"backend_clustering_mode = 'raw'", "backend_hostname0 = '" + process.Loopback + "'", fmt.Sprintf("backend_port0 = %d", s.port),
		"enable_pool_hba = on", "allow_clear_text_frontend_auth = on", "num_init_children = 4", "connection_cache = on", "use_watchdog = off",
		"logdir = '.'", "pid_file_name = 'pid'", "work_dir = '.'", "log_destination = 'stderr'",
	}
	files := map[string]string{"config": strings.Join(config, "\n"), "hba": "host all all all password\n", "pcp": ""}
	return startPooler(t, s, PgpoolEnv, syscall.SIGINT, files, "-n", "-f", "config", "-a", "hba", "-F", "pcp")
}

// startPooler runs a pooler with these files in its folder, in which PORT is the port to
// listen at, until it answers.
func startPooler(t testing.TB, s *Server, env string, end syscall.Signal, files map[string]string, args ...string) *Pooler {
	t.Helper()
	binary := os.Getenv(env)
	if binary == "" {
		t.Fatalf("no pooler to test with: set %s (run: make test)", env)
	}
	dir, err := os.MkdirTemp("", "assay-pooler-")
	if err != nil {
		t.Fatal(err)
	}
	p := &Pooler{dir: dir, end: end}
	t.Cleanup(func() {
		if p.child != nil {
			err = p.stop()
		}
		if err := errors.Join(err, os.RemoveAll(dir)); err != nil {
			t.Errorf("end the pooler: %v", err)
		}
	})
	err = process.OnFreePort(func(port int) error {
		p.port = port
		return p.start(t.Context(), s, binary, files, args)
	})
	if err != nil {
		t.Fatalf("start the pooler: %v\n%s", err, p.Log())
	}
	return p
}

func (p *Pooler) start(ctx context.Context, s *Server, binary string, files map[string]string, args []string) error {
	for name, text := range files {
		path := filepath.Join(p.dir, name)
		text = strings.ReplaceAll(text, "PORT", fmt.Sprint(p.port)) + "\n"
		if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), chown(s.owner, path)); err != nil {
			return err
		}
	}
	if err := chown(s.owner, p.dir); err != nil {
		return err
	}
	log, err := process.OpenLog(p.log())
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the pooler has its own copy
	cmd := exec.Command(binary, args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = p.dir, process.Environment("LC_ALL=C"), log.File, log.File
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.owner}
	if p.child, err = process.Start(cmd, process.TiedGently); err != nil {
		return err
	}
	return p.child.Await(ctx, startTimeout, func(ctx context.Context) error {
		config, err := pgx.ParseConfig(p.DSN(s.DSN()))
		if err != nil {
			return err
		}
		config.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
		conn, err := pgx.ConnectConfig(ctx, config)
		if err != nil {
			return err
		}
		return conn.Close(ctx)
	})
}

// stop ends the pooler with its children, and its shared memory.
func (p *Pooler) stop() error {
	if err := p.child.Signal(p.end); err != nil {
		return err
	}
	select {
	case <-p.child.Done():
		return nil
	case <-time.After(stopTimeout):
		return errors.Join(errors.New("it does not stop"), p.child.Kill())
	}
}
