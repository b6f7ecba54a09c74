package influxdtest

import (
	"os"
	"os/exec"
	"testing"

	"assay.dev/assay/internal/servers/influxd"
	"assay.dev/assay/internal/servers/process"
)

// Env names the influxd to test with.
const Env = "ASSAY_TEST_INFLUXD"

// Binary is the influxd to test with. A missing one fails the test.
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

// Start starts a server on a port and in a folder of its own, and ends it with
// the test.
func Start(t testing.TB) *Server {
	t.Helper()
	s := &Server{t: t, options: influxd.Options{Dir: t.TempDir(), Binary: Binary(t), Life: process.Tied}}
	err := process.OnFreePort(func(port int) error {
		s.options.Port = port
		return s.Restart()
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Restart starts the server again, after Kill, on the same data and port.
func (s *Server) Restart() error {
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
