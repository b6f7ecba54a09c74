package influxtest

import (
	"strings"
	"testing"

	"assay.dev/assay/internal/servers/influxd"
	"assay.dev/assay/internal/testing/influxdtest"
	"assay.dev/assay/internal/testing/processtest"
)

// Server is an influxd started for a test, on loopback.
type Server struct {
	server *influxdtest.Server
	t      testing.TB
}

// Start starts a server with an administrator account. It fails the test if influxd is
// not found: a suite that skips its servers has tested nothing.
func Start(t testing.TB) *Server {
	t.Helper()
	return &Server{influxdtest.Start(t), t}
}

// URL is the server's address, without a database.
func (s *Server) URL() string {
	address, _, _ := strings.Cut(s.server.URL(), "?")
	return address
}

// Token is what ASSAY_INFLUX_TOKEN holds: user:password.
func (s *Server) Token() string { return s.server.Token() }

// Password is the administrator's.
func (s *Server) Password() string { return s.server.Password }

// Kill kills the server, as a crash does. Its data remain.
func (s *Server) Kill() {
	s.t.Helper()
	if err := s.server.Kill(); err != nil {
		s.t.Errorf("kill influxd: %v", err)
	}
}

// Freeze stops the server's process: the kernel accepts connections, and nothing
// responds.
func (s *Server) Freeze() {
	s.t.Helper()
	if err := processtest.Suspend(s.server.Process.PID); err != nil {
		s.t.Errorf("freeze influxd: %v", err)
	}
}

// Restart restarts a killed server with the same data and port. It may be called from
// any goroutine of the test.
func (s *Server) Restart() {
	s.t.Helper()
	if err := s.server.Restart(); err != nil {
		s.t.Errorf("start influxd again: %v", err)
	}
}

// user is the administrator's name.
const user = influxd.User
