package influx

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"assay/harness/hint"
)

// DefaultDatabase is where points go unless the address names another one.
const DefaultDatabase = "assay"

// Server is one that points are written to. It is safe for concurrent use.
type Server struct {
	base     url.URL // without a query
	database string
	auth     string   // value of the header Authorization; empty: none
	secrets  []string // what no error may hold
	client   *http.Client
}

const (
	addressHint = "set ASSAY_INFLUX_URL to an address like http://127.0.0.1:8086 or http://127.0.0.1:8086?db=assay"
	tokenHint   = "set ASSAY_INFLUX_TOKEN to user:password, or to the token of InfluxDB 2 and 3"
)

// requestTimeout bounds one request: a server that is stopped takes connections
// and never answers.
const requestTimeout = 5 * time.Second

// NewServer reads an address, which may name the database, and a token, which
// is user:password for InfluxDB 1.x, or empty. Neither is told back where it is
// refused: a secret may stand in it.
func NewServer(address, token string) (*Server, error) {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" || u.Fragment != "" {
		return nil, hint.With(fmt.Errorf("ASSAY_INFLUX_URL is not an http or https URL"), addressHint)
	}
	if u.User != nil {
		return nil, hint.With(fmt.Errorf("ASSAY_INFLUX_URL holds a user or password"), tokenHint)
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, hint.With(fmt.Errorf("ASSAY_INFLUX_URL has a query that cannot be read"), addressHint)
	}
	for key, values := range query {
		if key != "db" || len(values) != 1 || values[0] == "" {
			return nil, hint.With(fmt.Errorf("ASSAY_INFLUX_URL has more in its query than one database"), addressHint)
		}
	}
	s := &Server{base: url.URL{Scheme: u.Scheme, Host: u.Host, Path: strings.TrimSuffix(u.Path, "/")}, database: DefaultDatabase}
	if query.Has("db") {
		s.database = query.Get("db")
	}
	if strings.ContainsFunc(token+s.database, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return nil, hint.With(fmt.Errorf("ASSAY_INFLUX_URL or ASSAY_INFLUX_TOKEN holds a control character"), tokenHint)
	}
	if user, password, isBasic := strings.Cut(token, ":"); isBasic {
		s.auth = "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
		s.secrets = []string{token, password}
	} else if token != "" {
		s.auth = "Token " + token
		s.secrets = []string{token}
	}
	s.client = &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 1, IdleConnTimeout: 30 * time.Second,
		},
		Timeout: requestTimeout,
		// The token is for this server alone.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return s, nil
}

// String names the server for people: host, port and database.
func (s *Server) String() string { return fmt.Sprintf("%s (database %s)", s.base.Host, s.database) }

// Close drops the connections that are kept open.
func (s *Server) Close() { s.client.CloseIdleConnections() }

// Check tells what would keep points from being written, and makes the database
// where it is missing.
func (s *Server) Check(ctx context.Context) error { return s.Write(ctx, nil) }

// Write writes lines. A database that a server of version 1 does not have is
// made.
func (s *Server) Write(ctx context.Context, lines []byte) error {
	answer, err := s.post(ctx, "/write", url.Values{"db": {s.database}, "precision": {"s"}}, "text/plain; charset=utf-8", lines)
	if err == nil && answer.noDatabase() {
		if err := s.create(ctx); err != nil {
			return err
		}
		answer, err = s.post(ctx, "/write", url.Values{"db": {s.database}, "precision": {"s"}}, "text/plain; charset=utf-8", lines)
	}
	if err != nil {
		return err
	}
	// Versions 2 and 3 complain of a write without lines, but only once they
	// have let it in.
	if len(lines) == 0 && answer.status == http.StatusBadRequest {
		return nil
	}
	return s.explain(answer)
}

// create makes the database.
func (s *Server) create(ctx context.Context) error {
	name := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s.database) + `"`
	form := url.Values{"q": {"CREATE DATABASE " + name}}
	answer, err := s.post(ctx, "/query", nil, "application/x-www-form-urlencoded", []byte(form.Encode()))
	if err != nil {
		return err
	}
	if answer.status/100 != 2 || answer.said != "" {
		return hint.With(fmt.Errorf("InfluxDB at %s has no such database, and it cannot be made: %s", s, answer.text()),
			"run as an administrator: CREATE DATABASE "+name+"; the user needs WRITE on it")
	}
	return nil
}
