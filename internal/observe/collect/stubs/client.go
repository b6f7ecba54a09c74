package stubs

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"time"

	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/mask"
	"assay.dev/assay/internal/observe/collect"
)

const (
	// timeout bounds a request, which is repeated every second.
	timeout = 800 * time.Millisecond
	// ledgerTimeout bounds the time without a line while the ledger is read.
	ledgerTimeout = 10 * time.Second
	// maxAnswer and maxLine bound what is read.
	maxAnswer = 1 << 20
	maxLine   = 64 << 10
	maxHeader = 64 << 10
	// ledgerLimit bounds the time for the whole ledger.
	ledgerLimit = 10 * time.Minute
)

// TokenEnv is the environment variable that holds the token of the stubs.
const TokenEnv = "ASSAY_STUB_TOKEN"

// Client calls the control endpoints of a stub.
type Client struct {
	name, url, token string
	refused          error // why the URL may not be called
	http             *http.Client
}

// NewClient returns a client for the stub of a name at a base URL. Its host must be loopback
// or one of hosts: a run must not control any other system.
func NewClient(name, base, token string, hosts ...string) *Client {
	c := &Client{name: name, url: base, token: token}
	u, err := url.Parse(base)
	switch {
	case err != nil:
		c.refused = fmt.Errorf("stub %s: its URL is malformed", name)
	case !collect.IsLoopback(u.Hostname()) && !slices.Contains(hosts, u.Hostname()):
		c.refused = hint.With(fmt.Errorf("stub %s at %s is neither on loopback nor on an allowed host", name, u.Redacted()),
			`add its host to "targets" of the thresholds file, or: --allow-target `+u.Hostname())
	case token == "":
		c.refused = hint.With(fmt.Errorf("stub %s: no token to control it with", name), "set "+TokenEnv+" to the token with which the stub was started")
	}
	c.http = &http.Client{
		// No proxy from the environment: the stub must be called directly.
		Transport:     &http.Transport{MaxIdleConnsPerHost: 1, MaxResponseHeaderBytes: maxHeader, DialContext: (&net.Dialer{Timeout: timeout}).DialContext},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c
}

// Begin begins a run, or renews it.
func (c *Client) Begin(ctx context.Context, b Begin) (State, error) {
	body, err := json.Marshal(b)
	if err != nil {
		return State{}, err
	}
	return c.state(ctx, http.MethodPut, PathRun, body)
}

// State reads the stub's state, and changes nothing.
func (c *Client) State(ctx context.Context) (State, error) {
	return c.state(ctx, http.MethodGet, PathRun, nil)
}

// End ends a run.
func (c *Client) End(ctx context.Context, run string) (State, error) {
	return c.state(ctx, http.MethodDelete, PathRun+"?run="+url.QueryEscape(run), nil)
}

// Ledger visits the lines of the last run's calls.
func (c *Client) Ledger(ctx context.Context, visit func(line []byte) error) error {
	ctx, end := context.WithTimeoutCause(ctx, ledgerLimit, fmt.Errorf("stub %s: its ledger was not read within %s", c.name, ledgerLimit))
	defer end()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	idle := time.AfterFunc(ledgerTimeout, func() { cancel(fmt.Errorf("stub %s: it sent nothing for %s", c.name, ledgerTimeout)) })
	defer idle.Stop()
	resp, err := c.do(ctx, http.MethodGet, PathLedger, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // it was only read
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, maxLine)
	for n := 0; lines.Scan(); n++ {
		if n%1024 == 0 {
			idle.Reset(ledgerTimeout)
		}
		if err := visit(lines.Bytes()); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return cmp.Or(context.Cause(ctx), fmt.Errorf("stub %s: read its ledger: %w", c.name, err))
	}
	return nil
}

func (c *Client) state(ctx context.Context, method, path string, body []byte) (s State, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	resp, err := c.do(ctx, method, path, body)
	if err != nil {
		return s, err
	}
	defer resp.Body.Close() //nolint:errcheck // it was only read
	if s, err = decode(resp.Body); err != nil {
		return s, c.foreign()
	}
	return s, nil
}

// foreign is the error of something else at the URL.
func (c *Client) foreign() error {
	return hint.With(fmt.Errorf("stub %s: what answers at %s is no stub of this program", c.name, c.url), "check its URL, and that it runs: assay stub FILE")
}

// maxWhy bounds the reason of a refusal, bytes.
const maxWhy = 300

// do sends a request, and returns a response of success only.
func (c *Client) do(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	if c.refused != nil {
		return nil, c.refused
	}
	req, err := http.NewRequestWithContext(ctx, method, c.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("stub %s: %w", c.name, err)
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	resp, err := c.http.Do(req)
	if err != nil {
		var of *url.Error
		if errors.As(err, &of) {
			err = of.Err // without the URL, which is named
		}
		return nil, hint.With(fmt.Errorf("stub %s does not answer at %s: %w", c.name, c.url, foreign.Line(err)), "start it: assay stub FILE")
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer resp.Body.Close() //nolint:errcheck // it was only read
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxLine))
	switch resp.StatusCode {
	case http.StatusUnauthorized:
		return nil, hint.With(fmt.Errorf("stub %s at %s refuses the token", c.name, c.url), "set "+TokenEnv+" to the token with which the stub was started")
	case http.StatusForbidden:
		return nil, hint.With(fmt.Errorf("stub %s at %s was started without a token, and takes no run", c.name, c.url), "start it with "+TokenEnv+" set")
	case http.StatusConflict:
		return nil, hint.With(fmt.Errorf("stub %s at %s serves another run: %s", c.name, c.url, mask.Line(string(text), maxWhy)), "wait until that has ended, or start a stub of your own")
	}
	return nil, c.foreign()
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }
