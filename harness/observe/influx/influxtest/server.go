package influxtest

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"assay/harness/lab/stack/process"
)

// Env names the program influxd to test with.
const Env = "ASSAY_TEST_INFLUXD"

// User is the administrator of every server.
const User = "certifier"

// Server is an influxd of the test's own, on loopback.
type Server struct {
	t        testing.TB
	dir      string
	port     int
	password string
	child    *process.Child
}

// Start starts a server with an administrator and no database. A missing
// program fails the test: a suite that skips its servers has tested nothing.
func Start(t testing.TB) *Server {
	t.Helper()
	s := &Server{t: t, dir: t.TempDir(), password: rand.Text()}
	s.configure()
	s.launch()
	t.Cleanup(func() {
		if s.child != nil {
			s.Kill()
		}
	})
	// The first administrator is made without authentication.
	s.answer(fmt.Sprintf(`CREATE USER %s WITH PASSWORD '%s' WITH ALL PRIVILEGES`, User, s.password), "")
	return s
}

// URL is the server's address.
func (s *Server) URL() string { return "http://" + process.Address(s.port) }

// Token is what ASSAY_INFLUX_TOKEN holds: user:password.
func (s *Server) Token() string { return User + ":" + s.password }

// Password is the administrator's.
func (s *Server) Password() string { return s.password }

// Kill ends the server at once, as a crash does. Its data stay.
func (s *Server) Kill() {
	s.t.Helper()
	if err := s.child.Kill(); err != nil {
		s.t.Errorf("kill influxd: %v", err)
	}
	s.child = nil
}

// Freeze stops the server without ending it: it takes connections and never
// answers.
func (s *Server) Freeze() {
	s.t.Helper()
	if err := s.child.Signal(syscall.SIGSTOP); err != nil {
		s.t.Errorf("stop influxd: %v", err)
	}
}

// Restart starts a killed server again, on the same data and port.
func (s *Server) Restart() {
	s.t.Helper()
	s.launch()
}

// configure writes the configuration, on ports that are free now.
func (s *Server) configure() {
	s.t.Helper()
	var rpc int
	for _, port := range []*int{&s.port, &rpc} {
		var err error
		if *port, err = process.FreePort(); err != nil {
			s.t.Fatal(err)
		}
	}
	text := fmt.Sprintf(`reporting-disabled = true
bind-address = %q
[meta]
  dir = %q
[data]
  dir = %q
  wal-dir = %q
[monitor]
  store-enabled = false
[http]
  bind-address = %q
  auth-enabled = true
  log-enabled = false
`, process.Address(rpc), filepath.Join(s.dir, "meta"), filepath.Join(s.dir, "data"), filepath.Join(s.dir, "wal"), process.Address(s.port))
	if err := os.WriteFile(filepath.Join(s.dir, "influxdb.conf"), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func (s *Server) launch() {
	s.t.Helper()
	program := os.Getenv(Env)
	if program == "" {
		s.t.Fatalf("no InfluxDB to test with: %s is not set (run: make test)", Env)
	}
	log, err := os.OpenFile(filepath.Join(s.dir, "influxd.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	defer log.Close() // the child has it too
	cmd := exec.Command(program, "-config", filepath.Join(s.dir, "influxdb.conf"))
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, log, log
	if s.child, err = process.Start(cmd, process.Tied); err != nil {
		s.t.Fatalf("start influxd: %v (run: make test)", err)
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		resp, err := http.Get(s.URL() + "/ping")
		if err == nil {
			_ = resp.Body.Close()
			return
		}
		select {
		case <-s.child.Done():
			said, _ := os.ReadFile(log.Name())
			s.t.Fatalf("influxd ended: %v\n%s", s.child.Err(), said)
		default:
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("influxd does not answer: %v", err)
		}
	}
}

func (s *Server) request(query, database string) (*http.Request, error) {
	form := url.Values{"q": {query}, "db": {database}, "epoch": {"s"}}
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.URL()+"/query?"+form.Encode(), nil)
	if err == nil {
		req.SetBasicAuth(User, s.password)
	}
	return req, err
}
