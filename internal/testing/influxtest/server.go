package influxtest

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"assay.dev/assay/internal/servers/influxd"
	"assay.dev/assay/internal/servers/process"
	"assay.dev/assay/internal/testing/processtest"
)

// Env names the influxd to test with.
const Env = "ASSAY_TEST_INFLUXD"

// Binary is the influxd to test with. A missing one fails the test: a suite that skips its
// servers has tested nothing.
func Binary(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath(os.Getenv(Env))
	if err != nil {
		t.Fatalf("no InfluxDB to test with: %s: %v (run: make test)", Env, err)
	}
	return path
}

// Server is a running InfluxDB that can be started again.
type Server struct {
	*influxd.Server
	t       testing.TB
	options influxd.Options
}

// Start starts a server with an administrator account, on a port and in a folder of its own,
// and ends it with the test.
func Start(t testing.TB) *Server {
	t.Helper()
	s := &Server{t: t, options: influxd.Options{Dir: t.TempDir(), Binary: Binary(t), Life: process.Tied}}
	err := process.OnFreePort(func(port int) error {
		s.options.Port = port
		return s.start()
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *Server) start() error {
	started, err := influxd.Start(s.t.Context(), s.options)
	if err != nil {
		return err
	}
	s.Server = started
	s.t.Cleanup(func() {
		if err := started.Kill(); err != nil {
			s.t.Errorf("end InfluxDB: %v", err)
		}
	})
	return nil
}

// URL is the server's address, without a database.
func (s *Server) URL() string {
	address, _, _ := strings.Cut(s.Server.URL(), "?")
	return address
}

// Kill kills the server, as a crash does. Its data remain.
func (s *Server) Kill() {
	s.t.Helper()
	if err := s.Server.Kill(); err != nil {
		s.t.Errorf("kill influxd: %v", err)
	}
}

// Freeze stops the server's process: the kernel accepts connections, and nothing
// responds.
func (s *Server) Freeze() {
	s.t.Helper()
	if err := processtest.Suspend(s.Process.PID); err != nil {
		s.t.Errorf("freeze influxd: %v", err)
	}
}

// Restart restarts a killed server with the same data and port. It may be called from
// any goroutine of the test.
func (s *Server) Restart() {
	s.t.Helper()
	if err := s.start(); err != nil {
		s.t.Errorf("start influxd again: %v", err)
	}
}
