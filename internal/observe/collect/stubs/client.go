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
	"net/http"
	"net/url"
	"slices"
	"time"
	"unicode/utf8"

	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/mask"
	"assay.dev/assay/internal/observe/collect"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/spec"
)

const (
	// timeout bounds a request, which is repeated every second.
	timeout = 800 * time.Millisecond
	// ledgerTimeout bounds the time without a line while the ledger is read.
	ledgerTimeout = 10 * time.Second
	// maxAnswer and maxLine bound what is read.
	maxAnswer = 1 << 20
	maxLine   = 64 << 10
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
	c.http, _ = collect.Client(timeout)
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
	defer resp.Body.Close()
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
	defer resp.Body.Close()
	if s, err = decode(resp.Body); err != nil {
		return s, c.foreign()
	}
	return s, nil
}

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
	defer resp.Body.Close()
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

func (c *Client) Close() { c.http.CloseIdleConnections() }

// Paths of a stub's control endpoints. Every request shows the stub's token as a bearer
// token.
const (
	// PathRun: PUT a Begin, to begin a run or to renew it; GET the State; DELETE to end the
	// run, whose id is the parameter run. Each is answered with the State.
	PathRun = spec.StubReserved + "run"
	// PathLedger: GET the calls of the last run, as lines of JSON (Call), in the order in
	// which they ended.
	PathLedger = spec.StubReserved + "ledger"
)

// Begin tells a stub which run it serves. It is repeated every second: a stub that is no
// longer told ends the run by itself.
type Begin struct {
	Run string `json:"run"`
	// SinceMs is the time since the start of the load, negative before it; nil: it is not
	// known yet. It is a time rather than an instant, so that the stub's clock does not matter.
	SinceMs *float64 `json:"since_ms,omitempty"`
}

// State is what a stub says of itself. Counts are those since the run began.
type State struct {
	Instance  string           `json:"instance"` // differs from start to start
	File      record.Digest    `json:"file"`
	Phases    []spec.StubPhase `json:"phases"`
	Run       string           `json:"run"` // run that the stub serves; empty: none
	Endpoints []Counts         `json:"endpoints"`
	// Forgotten is the number of calls that are not in the ledger, because it was full.
	Forgotten int64 `json:"forgotten"`
}

// Counts are those of one endpoint, in ms where they are times.
type Counts struct {
	Endpoint   string `json:"endpoint"`
	Background bool   `json:"background"`
	// Calls are the calls that have ended, by outcome (metric.StubAnswered, ...).
	Calls   map[string]int64 `json:"calls"`
	CallMs  float64          `json:"call_ms"`
	WorkMs  float64          `json:"work_ms"` // time of work whose caller waited to its end
	LeftMs  float64          `json:"left_ms"` // time of work whose caller had left
	Open    int64            `json:"open"`    // calls whose callers wait now
	Queue   int64            `json:"queue"`
	Working int64            `json:"working"`
}

// Call is a line of the ledger.
type Call struct {
	Endpoint string  `json:"endpoint"`
	ID       string  `json:"id,omitempty"` // hash of the header Idempotency-Key, as ledger.Hash; empty: the call had none
	At       int64   `json:"at"`           // when the call arrived, in unix ms by the stub's clock
	Ms       float64 `json:"ms"`           // time from the call's arrival to its end
	Outcome  string  `json:"outcome"`
	Status   int     `json:"status,omitempty"` // status of the response; 0: none
}

// MaxLedger bounds the calls that a stub's ledger keeps, at about 64 bytes each.
const MaxLedger = 2_000_000

// Bounds of what a stub may say: a run has a series of each of its endpoints.
const (
	maxEndpoints = 1000
	maxText      = 1000 // bytes of a text
	maxCalls     = 1e12 // calls that have ended with one outcome
)

// outcomes are those of calls.
var outcomes = []string{
	metric.StubAnswered, metric.StubError, metric.StubLimited, metric.StubHung, metric.StubReset, metric.StubAbandoned, metric.StubUnknown,
}

var errNoStub = errors.New("it is no state of a stub")

// decode reads a state, which must be one that a stub can have.
func decode(from io.Reader) (s State, err error) {
	defer foreign.Guard(&err)
	if err := json.NewDecoder(io.LimitReader(from, maxAnswer)).Decode(&s); err != nil {
		return State{}, err
	}
	if !s.possible() {
		return State{}, errNoStub
	}
	s.mask()
	return s, nil
}

// mask masks the words of a stub, which may have a secret of this process.
func (s *State) mask() {
	s.File.Path = mask.Text(s.File.Path)
	for i := range s.Endpoints {
		s.Endpoints[i].Endpoint = mask.Text(s.Endpoints[i].Endpoint)
	}
	for i := range s.Phases {
		p := &s.Phases[i]
		p.Name = mask.Text(p.Name)
		for j := range p.Endpoints {
			p.Endpoints[j] = mask.Text(p.Endpoints[j])
		}
	}
}

func (s State) possible() bool {
	count := func(n int64) bool { return n >= 0 && n <= maxCalls }
	text := func(all ...string) bool {
		return !slices.ContainsFunc(all, func(t string) bool { return len(t) > maxText || !utf8.ValidString(t) })
	}
	if shown, err := json.MarshalIndent(s, "", "  "); err != nil || len(shown) > maxAnswer { // as the record has it, with what escapes take
		return false
	}
	if s.Instance == "" || !text(s.Instance, s.File.Path, s.File.SHA256, s.Run) || !count(s.Forgotten) || max(len(s.Endpoints), len(s.Phases)) > maxEndpoints {
		return false
	}
	for _, e := range s.Endpoints {
		if !text(e.Endpoint) || !count(e.Open) || !count(e.Queue) || !count(e.Working) || min(e.CallMs, e.WorkMs, e.LeftMs) < 0 || len(e.Calls) > len(outcomes) {
			return false
		}
		for outcome, n := range e.Calls {
			if !slices.Contains(outcomes, outcome) || !count(n) {
				return false
			}
		}
	}
	return true
}

// All is the number of calls that have ended.
func (s State) All() (n int64) {
	for _, e := range s.Endpoints {
		for _, calls := range e.Calls {
			n += calls
		}
	}
	return n
}
