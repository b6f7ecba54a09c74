package influxd

import (
	"bytes"
	"context"
	"crypto/rand"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"text/template"
	"time"

	"assay.dev/assay/internal/servers/process"
	"assay.dev/assay/internal/servers/statefile"
)

// Options are what a server needs.
type Options struct {
	Dir    string // folder of configuration, data and log; made if missing
	Port   int
	Binary string // influxd
	Life   process.Life
}

// Server is a running InfluxDB.
type Server struct {
	Process  process.Identity `json:"process"`
	Port     int              `json:"port"`
	Binary   string           `json:"binary"`
	Password string           `json:"password"` // password of User; a secret
	child    *process.Child
}

// The account and the database that every server has.
const (
	User     = "assay"
	Database = "assay"
)

const (
	startTimeout = time.Minute
	// stopTimeout is how long a server may take to flush its cache to disk.
	stopTimeout = 20 * time.Second
)

// BinaryEnv is the environment variable that names the program, if it is not on the
// PATH.
const BinaryEnv = "ASSAY_INFLUXD"

// Find returns the program to run: that in BinaryEnv, else influxd from the PATH;
// "" if there is none.
func Find() (string, error) {
	if name := os.Getenv(BinaryEnv); name != "" {
		return Probe(name)
	}
	path, err := Probe("influxd")
	if errors.Is(err, exec.ErrNotFound) {
		return "", nil
	}
	return path, err
}

// Probe finds the program of that name or path.
func Probe(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("find InfluxDB: %w", err)
	}
	return filepath.Abs(path)
}

// LogFile is the log of the server on a folder.
func LogFile(dir string) string { return filepath.Join(dir, "influxd.log") }

//go:embed influxdb.conf.tmpl
var files embed.FS

var configuration = template.Must(template.ParseFS(files, "influxdb.conf.tmpl"))

// state is the server's state file, in its own folder: the server can be found, and its
// data read, even if the caller has lost its own state.
func state(dir string) string { return filepath.Join(dir, "server.json") }

// Attach returns the server that was last started on a folder, which may have
// ended. The error wraps os.ErrNotExist if there was none.
func Attach(dir string) (*Server, error) {
	var s Server
	if err := statefile.Read(state(dir), &s); err != nil {
		return nil, fmt.Errorf("attach to InfluxDB: %w", err)
	}
	s.child = process.Attach(s.Process)
	return &s, nil
}

// URL is its address with the database.
func (s *Server) URL() string { return address(s.Port) + "?db=" + Database }

// Token is user and password. It is a secret.
func (s *Server) Token() string { return User + ":" + s.Password }

// Stop ends the server and returns when it has ended, with an error if it had to be
// killed. It may be called again.
func (s *Server) Stop() error { return s.child.Stop(stopTimeout) }

// Kill ends the server as a crash does (kill -9) and returns when it has ended.
func (s *Server) Kill() error { return s.child.Kill() }

// Start starts a server and returns when it answers and has its account and
// database. When it fails, or ctx ends first, nothing is left running.
func Start(ctx context.Context, o Options) (_ *Server, err error) {
	if o.Dir, err = filepath.Abs(o.Dir); err != nil {
		return nil, fmt.Errorf("start InfluxDB: %w", err)
	}
	if err := process.CheckPort(o.Port); err != nil {
		return nil, fmt.Errorf("start InfluxDB: %w", err)
	}
	s := &Server{Port: o.Port, Binary: o.Binary, Password: rand.Text()}
	if was, err := Attach(o.Dir); err == nil {
		s.Password = was.Password
	}
	if err := o.configure(); err != nil {
		return nil, fmt.Errorf("start InfluxDB: %w", err)
	}
	log, err := process.OpenLog(LogFile(o.Dir))
	if err != nil {
		return nil, fmt.Errorf("start InfluxDB: %w", err)
	}
	defer func() { _ = log.Close() }() // the server has its own copy
	cmd := exec.Command(o.Binary, "run", "-config", o.config())
	cmd.Env = process.Environment("HOME=" + o.Dir)
	cmd.Stdout, cmd.Stderr = log.File, log.File
	if s.child, err = process.Start(cmd, o.Life); err != nil {
		return nil, fmt.Errorf("start InfluxDB: %w", err)
	}
	s.Process = s.child.Identity
	// At once: if this process is killed now, the server must still be found.
	if err = statefile.Write(state(o.Dir), s); err == nil {
		err = s.await(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start InfluxDB: %w (log: %s)", err, LogFile(o.Dir)), s.Kill())
	}
	return s, nil
}

func (o Options) config() string { return filepath.Join(o.Dir, "influxdb.conf") }

func (o Options) configure() error {
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return err
	}
	var text bytes.Buffer
	err := configuration.Execute(&text, struct{ Dir, Address, AnyPort string }{o.Dir, process.Address(o.Port), process.Address(0)})
	if err != nil {
		return err
	}
	return os.WriteFile(o.config(), text.Bytes(), 0o600)
}

// await returns when the server has its account and database.
func (s *Server) await(ctx context.Context) error {
	ctx, refuse := context.WithCancelCause(ctx)
	defer refuse(nil)
	return s.child.Await(ctx, startTimeout, func(ctx context.Context) error {
		err := s.ready(ctx)
		if errors.Is(err, errRefused) { // a retry would not help
			refuse(err)
		}
		return err
	})
}

// ready creates the account and the database. Both can be repeated. The server checks no
// password before it has an account.
func (s *Server) ready(ctx context.Context) error {
	if err := s.Ping(ctx); err != nil {
		return err
	}
	create := fmt.Sprintf(`CREATE USER "%s" WITH PASSWORD '%s' WITH ALL PRIVILEGES`, User, s.Password)
	if err := s.query(ctx, create); err != nil {
		return err
	}
	return s.query(ctx, fmt.Sprintf(`CREATE DATABASE "%s"`, Database))
}

// errRefused is a failure that a retry does not change.
var errRefused = errors.New("authentication failed: the data was created with another password; remove the folder")

// direct ignores the proxies that the environment names.
var direct = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 5 * time.Second}

// Ping fails unless a server answers on the port.
func (s *Server) Ping(ctx context.Context) error {
	resp, _, err := s.do(ctx, http.MethodGet, "/ping", nil) //nolint:bodyclose // do has read and closed it
	if err == nil && resp.StatusCode != http.StatusNoContent {
		err = fmt.Errorf("GET %s/ping: %s", address(s.Port), resp.Status)
	}
	return err
}

func address(port int) string { return "http://" + process.Address(port) }

// do sends a request as the administrator, and returns the response with what was read of it.
func (s *Server) do(ctx context.Context, method, path string, form url.Values) (resp *http.Response, body []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, method, address(s.Port)+path, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, nil, err
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.SetBasicAuth(User, s.Password)
	}
	if resp, err = direct.Do(req); err != nil {
		return nil, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err = io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	return resp, body, err
}

// query executes one statement. Its errors do not quote it, as it may hold a
// password.
func (s *Server) query(ctx context.Context, statement string) error {
	resp, body, err := s.do(ctx, http.MethodPost, "/query", url.Values{"q": {statement}}) //nolint:bodyclose // likewise
	if err != nil {
		return err
	}
	if resp.StatusCode == http.StatusUnauthorized {
		return errRefused
	}
	var answer struct {
		Results []struct{ Error string }
		Error   string
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return fmt.Errorf("%s: %w", resp.Status, err)
	}
	for _, r := range answer.Results {
		answer.Error += r.Error
	}
	if answer.Error != "" {
		return errors.New(answer.Error)
	}
	return nil
}
