package stub

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/observe/collect"
	"assay.dev/assay/internal/observe/collect/stubs"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
)

// unknown is the name of the endpoint that answers what no endpoint of the file matches.
const unknown = "unknown"

// stopTimeout is how long calls may take to end when the stub stops.
const stopTimeout = 5 * time.Second

// Stub answers as a file says.
type Stub struct {
	file      spec.StubFile
	seed      uint64
	token     string // empty: it takes no run
	instance  string
	calls     *http.ServeMux // the endpoints of the file
	control   *http.ServeMux // those for runs
	endpoints []*endpoint    // in the order of the file, then unknown
	session   session
	book      book
	stopping  chan struct{} // closed when the stub stops
}

// New makes the stub of a file. Its control endpoints require the token.
func New(f spec.StubFile, token string) (*Stub, error) {
	s := &Stub{file: f, seed: f.Seed, token: token, instance: rand.Text(), calls: http.NewServeMux(), stopping: make(chan struct{})}
	s.session.stub = s
	for _, e := range f.Endpoints {
		made := newEndpoint(s, e)
		if err := handle(s.calls, e.Match, made); err != nil {
			return nil, fmt.Errorf("%s: endpoint %s: %w", f.Path, e.Name, err)
		}
		s.endpoints = append(s.endpoints, made)
	}
	other := newEndpoint(s, spec.StubEndpoint{Name: unknown, Background: true}) // no phase changes it
	s.endpoints = append(s.endpoints, other)
	if err := handle(s.calls, "/", http.HandlerFunc(other.refuse)); err != nil {
		s.endpoints = s.endpoints[:len(s.endpoints)-1] // an endpoint of the file matches everything
	}
	s.control = s.controls()
	return s, nil
}

// handle registers a pattern. A pattern that conflicts with another one is an error.
func handle(mux *http.ServeMux, pattern string, h http.Handler) (err error) {
	defer func() {
		if text := recover(); text != nil {
			err = hint.With(fmt.Errorf("%q conflicts with the match of another endpoint", pattern), "of two paths that match the same call, one must be more specific: /charge/{id} and /charge/latest")
		}
	}()
	mux.Handle(pattern, h)
	return nil
}

// refuse answers a call that no endpoint matches.
func (e *endpoint) refuse(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	a := e.enter(r, time.Now())
	e.mu.Unlock()
	e.end(a, metric.StubUnknown, http.StatusNotFound)
	http.Error(w, "the stub has no such endpoint", http.StatusNotFound)
}

// ServeHTTP answers calls, and runs.
func (s *Stub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, spec.StubReserved) {
		s.control.ServeHTTP(w, r)
		return
	}
	s.calls.ServeHTTP(w, r)
}

// Stop lets calls that hang end.
func (s *Stub) Stop() { close(s.stopping) }

// State is what the stub has counted in the last run; before any, since its start.
func (s *Stub) State() stubs.State {
	state := stubs.State{Instance: s.instance, Phases: s.file.Phases, Run: s.session.current(), Forgotten: s.book.lost()}
	state.File.Path, state.File.SHA256 = s.file.Path, s.file.Digest
	for _, e := range s.endpoints {
		if c := e.state(); e.Name != unknown || len(c.Calls) > 0 {
			state.Endpoints = append(state.Endpoints, c)
		}
	}
	return state
}

// Options are those of Run.
type Options struct {
	File        spec.StubFile
	Listen      string // host:port; empty: that of the file
	AllowRemote bool   // Listen may be an address that other hosts can reach
	Token       string // token that a run must show: a secret; empty: no run is taken
	Log         *slog.Logger
}

// Run listens and answers calls until ctx is done; then calls have a few seconds to end. It
// calls ready once, with the address, and returns what the stub has counted.
func Run(ctx context.Context, o Options, ready func(addr string)) (stubs.State, error) {
	s, err := New(o.File, o.Token)
	if err != nil {
		return stubs.State{}, err
	}
	if o.Listen == "" {
		o.Listen = o.File.Listen
	}
	host, _, err := net.SplitHostPort(o.Listen)
	switch {
	case err != nil:
		return stubs.State{}, fmt.Errorf("listen on %s: want host:port: %w", o.Listen, err)
	case !o.AllowRemote && !collect.IsLoopback(host):
		return stubs.State{}, hint.With(fmt.Errorf("listen on %s: not a loopback address", o.Listen), "add --allow-remote to serve other hosts")
	}
	listener, err := net.Listen("tcp", o.Listen)
	if errors.Is(err, syscall.EADDRINUSE) {
		err = hint.With(err, "stop the process that listens there, or choose another address: --listen")
	}
	if err != nil {
		return stubs.State{}, fmt.Errorf("listen: %w", err)
	}
	web := &http.Server{Handler: s, ReadHeaderTimeout: 30 * time.Second, IdleTimeout: 5 * time.Minute, ErrorLog: slog.NewLogLogger(o.Log.Handler(), slog.LevelWarn)}
	served := make(chan error, 1)
	go func() { served <- web.Serve(listener) }()
	ready(listener.Addr().String())
	select {
	case err := <-served:
		return s.State(), fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	s.Stop()
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	if err := web.Shutdown(limit); err != nil {
		o.Log.Warn("calls were cut off", "after", stopTimeout)
		_ = web.Close()
	}
	<-served
	return s.State(), nil
}
