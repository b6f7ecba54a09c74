package listen

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"

	"assay.dev/assay/internal/crash"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/wire/identity"
)

// Options say where and for whom to listen.
type Options struct {
	Address  string // host:port; without a host 127.0.0.1, empty: a free port of it
	Identity identity.Identity
	// Authorize reports whether a bearer token may send requests. It takes the same time
	// for every wrong one.
	Authorize func(token string) bool
	Bodies    map[string]int64 // largest body of a path, bytes, compressed and decompressed; 64 KiB of others
	Plain     []netip.Prefix   // peers that may speak plain HTTP; nil: loopback
	Limits    Limits
	Log       *slog.Logger

	// Handler gets the requests whose token is good. It may wait for minutes, and must
	// return once the request's context is done.
	Handler http.Handler
}

// Server is a running server.
type Server struct {
	options  Options
	gate     *gate
	refusals *refusals
	http     *http.Server
	serving  crash.Group
	failed   error       // why serving has ended
	open     crash.Group // counts the goroutines of connections
}

// Serve listens until Close.
func Serve(o Options) (*Server, error) {
	if o.Plain == nil {
		o.Plain = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	}
	o.Limits = o.Limits.orDefault()
	if o.Address == "" {
		o.Address = ":0"
	}
	host, port, err := net.SplitHostPort(o.Address)
	if err != nil {
		return nil, hint.With(fmt.Errorf("listen on %q: %w", o.Address, err), "give HOST:PORT; 0.0.0.0:PORT is every address of this host")
	}
	if host == "" {
		host = "127.0.0.1" // net.Listen would take every address of the host
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, hint.With(err, "give an address of this host, and a port that no other program has")
	}
	s := &Server{options: o, refusals: newRefusals(o.Log)}
	s.gate = newGate(listener, o.Identity.TLS(), o.Limits, s.refusals)
	s.http = &http.Server{
		Handler:                      http.HandlerFunc(s.handle),
		DisableGeneralOptionsHandler: true, // it answers without the token
		Protocols:                    new(http.Protocols),
		ReadHeaderTimeout:            o.Limits.Header,
		IdleTimeout:                  o.Limits.Idle,
		MaxHeaderBytes:               maxHeader - 4<<10, // net/http adds 4 KiB
		ConnContext:                  withConn,
		ConnState:                    s.count,
		ErrorLog:                     slog.NewLogLogger(o.Log.Handler(), slog.LevelError),
	}
	s.http.Protocols.SetHTTP1(true)
	s.serving.Go(func() {
		if err := s.http.Serve(s.gate); !errors.Is(err, http.ErrServerClosed) {
			s.failed = fmt.Errorf("listen: %w", err)
		}
	})
	return s, nil
}

// maxHeader bounds a request's line and header, bytes.
const maxHeader = 16 << 10

// Address is where the server listens.
func (s *Server) Address() netip.AddrPort {
	return s.gate.Addr().(*net.TCPAddr).AddrPort()
}

// Refused counts the connections that were closed for a reason of this package.
func (s *Server) Refused() map[Refusal]int { return s.refusals.counts() }

// count follows the connections: their goroutines end after StateClosed.
func (s *Server) count(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		s.open.Add(1)
	case http.StateClosed:
		s.open.Done()
	}
}

// leftover is how long a request may run on after it has lost its connection.
const leftover = 2 * time.Second

// Close ends the server. Requests may finish until ctx is done, then they lose their
// connections. It fails if one runs on even so, or if the server had failed before.
func (s *Server) Close(ctx context.Context) error {
	s.gate.end()
	if err := s.http.Shutdown(ctx); err != nil {
		_ = s.http.Close() // its error is about sockets that are closed already
	}
	s.serving.Wait()
	ended := make(chan struct{})
	crash.Go(func() {
		s.open.Wait()
		close(ended)
	})
	select {
	case <-ended:
		return s.failed
	case <-time.After(leftover):
		return errors.Join(s.failed, fmt.Errorf("a request still runs %s after its connection was closed", leftover))
	}
}
