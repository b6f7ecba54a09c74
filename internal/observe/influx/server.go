package influx

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/mask"
)

// DefaultDatabase is the database unless the address names another one.
const DefaultDatabase = "assay"

// Server is an InfluxDB server that points are written to. It is safe for concurrent
// use.
type Server struct {
	base     url.URL // without a query
	database string
	auth     string // value of the header Authorization; empty: none
	client   *http.Client
}

const (
	addressHint = "set ASSAY_INFLUX_URL to an address like http://127.0.0.1:8086 or http://127.0.0.1:8086?db=assay"
	tokenHint   = "set ASSAY_INFLUX_TOKEN to user:password, or to the token of InfluxDB 2 and 3"
)

// requestTimeout bounds one request: the kernel accepts connections to a stopped
// process, which never responds.
const requestTimeout = 5 * time.Second

// NewServer parses an address, which may name the database, and a token, which is
// user:password for InfluxDB 1.x, or empty. Errors quote neither, since they may contain
// a secret.
func NewServer(address, token string) (*Server, error) {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" || u.Fragment != "" {
		return nil, hint.With(fmt.Errorf("ASSAY_INFLUX_URL is not an http or https URL"), addressHint)
	}
	if u.User != nil {
		return nil, hint.With(fmt.Errorf("ASSAY_INFLUX_URL contains a user or password"), tokenHint)
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, hint.With(fmt.Errorf("ASSAY_INFLUX_URL has a malformed query"), addressHint)
	}
	for key, values := range query {
		if key != "db" || len(values) != 1 || values[0] == "" {
			return nil, hint.With(fmt.Errorf("ASSAY_INFLUX_URL may have no query parameter other than one db"), addressHint)
		}
	}
	s := &Server{base: url.URL{Scheme: u.Scheme, Host: u.Host, Path: strings.TrimSuffix(u.Path, "/")}, database: DefaultDatabase}
	if query.Has("db") {
		s.database = query.Get("db")
	}
	if strings.ContainsFunc(token+s.database, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return nil, hint.With(fmt.Errorf("ASSAY_INFLUX_URL or ASSAY_INFLUX_TOKEN contains a control character"), tokenHint)
	}
	if user, password, isBasic := strings.Cut(token, ":"); isBasic {
		s.auth = "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
		mask.Add(token, password, base64.StdEncoding.EncodeToString([]byte(token)))
	} else if token != "" {
		s.auth = "Token " + token
		mask.Add(token)
	}
	s.client = &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 1, IdleConnTimeout: 30 * time.Second,
		},
		Timeout: requestTimeout,
		// The token must not be sent to another server.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return s, nil
}

// String is host, port and database, for display.
func (s *Server) String() string { return fmt.Sprintf("%s (database %s)", s.base.Host, s.database) }

// Close closes idle connections.
func (s *Server) Close() { s.client.CloseIdleConnections() }

// Check reports why points could not be written. It creates the database if it is
// missing.
func (s *Server) Check(ctx context.Context) error { return s.Write(ctx, nil) }

// Write writes lines. On a server of version 1 it creates the database if it is missing.
func (s *Server) Write(ctx context.Context, lines []byte) error {
	write := func() (response, error) {
		return s.post(ctx, "/write", url.Values{"db": {s.database}, "precision": {"s"}}, "text/plain; charset=utf-8", lines)
	}
	resp, err := write()
	if err == nil && resp.noDatabase() {
		if err = s.createDatabase(ctx); err == nil {
			resp, err = write()
		}
	}
	if err != nil {
		return err
	}
	// Versions 2 and 3 reject a write without lines, but only after they have
	// authorized it.
	if len(lines) == 0 && resp.status == http.StatusBadRequest {
		return nil
	}
	return s.errorOf(resp)
}

func (s *Server) createDatabase(ctx context.Context) error {
	name := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s.database) + `"`
	form := url.Values{"q": {"CREATE DATABASE " + name}}
	resp, err := s.post(ctx, "/query", nil, "application/x-www-form-urlencoded", []byte(form.Encode()))
	if err != nil {
		return err
	}
	if resp.status/100 != 2 || resp.message != "" {
		return hint.With(fmt.Errorf("InfluxDB at %s has no such database, and it cannot be created: %s", s, resp.text()),
			"run as an administrator: CREATE DATABASE "+name+"; the user needs WRITE on it")
	}
	return nil
}

// Access holds the address of a server and its credentials.
type Access struct {
	URL   string // empty: none
	Token string // user:password of InfluxDB 1, or a token of 2 and 3
}

// FromEnvironment reads ASSAY_INFLUX_URL and ASSAY_INFLUX_TOKEN.
func FromEnvironment() Access {
	return Access{URL: os.Getenv("ASSAY_INFLUX_URL"), Token: os.Getenv("ASSAY_INFLUX_TOKEN")}
}

// Server returns nil if the URL is empty.
func (a Access) Server() (*Server, error) {
	if a.URL == "" {
		return nil, nil //nolint:nilnil // no server is a choice, not an error
	}
	return NewServer(a.URL, a.Token)
}
