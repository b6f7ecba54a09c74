package listen_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"assay.dev/assay/internal/wire"
	"assay.dev/assay/internal/wire/identity"
	"assay.dev/assay/internal/wire/listen"
)

const token = "an-example-of-32-characters-0001"

// server is a running server, which answers a body with the same.
type server struct {
	*listen.Server
	identity identity.Identity
	log      *text
	handled  atomic.Int64 // requests that reached the handler
}

// text is what was logged.
type text struct {
	mu sync.Mutex
	b  strings.Builder
}

func (t *text) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.Write(p)
}

func (t *text) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.String()
}

func echo(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(w, r.Body) // a client that does not get it fails
}

// start starts a server with other options than these.
func start(t testing.TB, change func(*listen.Options)) *server {
	t.Helper()
	i, err := identity.Random()
	if err != nil {
		t.Fatal(err)
	}
	s := &server{identity: i, log: &text{}}
	o := listen.Options{
		Identity: i, Authorize: hasToken, Handler: http.HandlerFunc(echo),
		Bodies: map[string]int64{"/large": 16 << 20},
		Log:    slog.New(slog.NewTextHandler(s.log, nil)),
	}
	if change != nil {
		change(&o)
	}
	inner := o.Handler
	o.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.handled.Add(1)
		inner.ServeHTTP(w, r)
	})
	if s.Server, err = listen.Serve(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.stop(t)
		if strings.Contains(s.log.String(), token) {
			t.Errorf("the log has the token:\n%s", s.log)
		}
	})
	return s
}

func (s *server) stop(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	if err := s.Close(ctx); err != nil {
		t.Error(err)
	}
}

// dial connects from an address of this host.
func (s *server) dial(ctx context.Context, from string) (net.Conn, error) {
	d := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(from), 0))}
	return d.DialContext(ctx, "tcp", s.Address().String())
}

// connect connects from an address, with TLS unless plain.
func (s *server) connect(t testing.TB, from string, plain bool) net.Conn {
	t.Helper()
	c, err := s.dial(t.Context(), from)
	if err != nil {
		t.Fatal(err)
	}
	if !plain {
		c = tls.Client(c, s.trust())
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func (s *server) trust() *tls.Config {
	return identity.Address{Fingerprint: s.identity.Fingerprint()}.TLS(token)
}

// client is a client from one address. It may open a new connection for a request of its own
// accord: http.Transport does not keep one whose request, on a busy machine, has not been noted
// as written 50 ms after the answer.
type client struct {
	http.Client
	s      *server
	closed atomic.Int64 // connections that the server closed
}

// watched is a connection of a client.
type watched struct {
	net.Conn
	ended func() // called once, when the server has closed it
}

func (c *client) watch(socket net.Conn, err error) (net.Conn, error) {
	if err != nil {
		return nil, err
	}
	return watched{socket, sync.OnceFunc(func() { c.closed.Add(1) })}, nil
}

func (w watched) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	if err != nil && !errors.Is(err, net.ErrClosed) { // else the client has closed it
		w.ended()
	}
	return n, err
}

func (s *server) client(t testing.TB, from string) *client {
	c := &client{s: s}
	transport := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return c.watch(s.dial(ctx, from))
		},
		DialTLSContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			socket, err := s.dial(ctx, from)
			if err != nil {
				return nil, err
			}
			secure := tls.Client(socket, s.trust())
			if err = secure.HandshakeContext(ctx); err != nil {
				_ = socket.Close()
			}
			return c.watch(secure, err)
		},
	}
	c.Transport = transport
	t.Cleanup(transport.CloseIdleConnections)
	return c
}

// answer is a response, or why there is none.
type answer struct {
	status int
	body   string
	closed bool
	err    error
}

func (c *client) post(ctx context.Context, scheme, token, path string, body io.Reader, header ...string) answer {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, scheme+"://"+c.s.Address().String()+path, body)
	if err != nil {
		return answer{err: err}
	}
	r.Header.Set("Authorization", "Bearer "+token)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := c.Do(r)
	if err != nil {
		return answer{err: err}
	}
	got, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	return answer{resp.StatusCode, string(got), resp.Close, err}
}

// beside sends requests with the token from an address until the returned function ends it,
// which fails the test unless all were answered and their connection was kept.
func (s *server) beside(t testing.TB, from string) (end func()) {
	t.Helper()
	c := s.client(t, from)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	first := make(chan struct{})
	sent, slowest := 0, time.Duration(0)
	go func() {
		done <- func() error {
			for ctx.Err() == nil {
				body, began := fmt.Sprintf("request %d", sent), time.Now()
				got := c.post(context.Background(), "https", token, "/", strings.NewReader(body))
				if got.err != nil || got.status != http.StatusOK || got.body != body {
					return fmt.Errorf("request %d: %+v", sent, got)
				}
				if sent == 0 {
					close(first)
				}
				sent++
				slowest = max(slowest, time.Since(began))
				select {
				case <-ctx.Done():
				case <-time.After(10 * time.Millisecond):
				}
			}
			return nil
		}()
	}()
	select {
	case <-first:
	case err := <-done:
		t.Fatalf("the client with the token: %v", err)
	}
	return func() {
		t.Helper()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the client with the token: %v", err)
		}
		if n := c.closed.Load(); n != 0 {
			t.Errorf("the server closed %d connections of the client with the token", n)
		}
		t.Logf("the client with the token: %d requests, the slowest in %s", sent, slowest.Round(time.Millisecond))
	}
}

// ends waits until the server has closed a connection, and returns what it sent before.
func ends(t testing.TB, c net.Conn) string {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(c)
	if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
		t.Fatalf("the server did not close the connection; it sent %q", got)
	}
	return string(got)
}

// repeat reads one byte without end.
type repeat byte

func (b repeat) Read(p []byte) (int, error) {
	copy(p, bytes.Repeat([]byte{byte(b)}, len(p)))
	return len(p), nil
}

func hasToken(text string) bool {
	_, ok := wire.NewKeys("run", token).Sender(text)
	return ok
}
