package scrape

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"time"

	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/observe/collect"
)

const (
	// timeout bounds a scrape; a promhttp endpoint takes a few milliseconds.
	timeout = 800 * time.Millisecond
	// maxBody bounds what one scrape reads; a large service exposes about 200 kB.
	maxBody = 4 << 20
	// maxHeader bounds the header of an answer.
	maxHeader = 64 << 10
)

// Endpoint is one endpoint. It is safe for concurrent use.
type Endpoint struct {
	url     string
	public  string // the URL without a password
	refused error  // why the URL may not be called
	client  *http.Client
}

// New returns the endpoint at a URL such as http://127.0.0.1:8080/metrics. Its host must
// be a loopback address or one of hosts, to which the run may send load, because a run
// must not call any other system. For another host Err and Fetch return an error.
func New(endpoint string, hosts ...string) *Endpoint {
	e := &Endpoint{url: endpoint}
	u, err := url.Parse(endpoint)
	switch {
	case err != nil:
		// The error of the parser could contain a part of the password.
		e.refused = errors.New("URL of metrics: want http://HOST:PORT/metrics, with the special characters of a password percent-encoded (%XX)")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		e.refused = fmt.Errorf("metrics at %q: want http://HOST:PORT/metrics", u.Redacted())
	case !collect.IsLoopback(u.Hostname()) && !slices.Contains(hosts, u.Hostname()):
		e.refused = fmt.Errorf("metrics at %q: neither loopback nor the target's host", u.Redacted())
	default:
		e.public = u.Redacted()
	}
	e.client = &http.Client{
		Timeout: timeout,
		Transport: &http.Transport{
			// No proxy from the environment: the endpoint must be called directly.
			MaxIdleConnsPerHost:    1,
			MaxResponseHeaderBytes: maxHeader,
			DialContext:            (&net.Dialer{Timeout: timeout}).DialContext,
		},
		// A redirect could lead anywhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return e
}

// Err returns why the endpoint may not be called; nil if it may.
func (e *Endpoint) Err() error { return e.refused }

// String returns the URL without a password.
func (e *Endpoint) String() string { return e.public }

// Fetch reads the exposition.
func (e *Endpoint) Fetch(ctx context.Context) ([]byte, error) {
	if e.refused != nil {
		return nil, e.refused
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, e.url, nil)
	if err != nil {
		return nil, fmt.Errorf("scrape metrics: %w", err)
	}
	req.Header.Set("Accept", "text/plain;version=0.0.4")
	resp, err := e.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("scrape metrics: %w", foreign.Line(err))
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("scrape metrics: %s answers %s", e.public, foreign.Status(resp))
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err != nil {
		return nil, fmt.Errorf("scrape metrics: %w", foreign.Line(err))
	}
	if len(body) > maxBody {
		return nil, fmt.Errorf("scrape metrics: %s sends more than %d bytes", e.public, maxBody)
	}
	return body, nil
}

// Close closes idle connections.
func (e *Endpoint) Close() { e.client.CloseIdleConnections() }
