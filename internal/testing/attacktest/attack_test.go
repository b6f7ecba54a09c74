//go:build live

package attacktest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"syscall"
	"testing"
	"time"

	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/networktest"

	"github.com/google/go-cmp/cmp"
)

const (
	brief = time.Second
	long  = time.Minute // only reached by a test that fails
)

// serve starts a server; the Attack is a client of it.
func serve(t *testing.T, withTLS bool, config *http.Server) Attack {
	t.Helper()
	s := httptest.NewUnstartedServer(nil)
	s.Config = config
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	t.Cleanup(s.Close)
	if !withTLS {
		s.Start()
		return Attack{Address: s.Listener.Addr().String()}
	}
	s.StartTLS()
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	return Attack{Address: s.Listener.Addr().String(), TLS: &tls.Config{RootCAs: roots, ServerName: "127.0.0.1"}}
}

func check(t *testing.T, what string, got Ends, err error, want Ends) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// Connections that send nothing or too slowly stay open on a server without time
// limits, and are closed by one with them.
func TestConnections(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.1)
	const n = 20
	for _, withTLS := range []bool{false, true} {
		patient := serve(t, withTLS, &http.Server{})
		ends, err := patient.Idle(t.Context(), n, brief)
		if ends.Total() != n || ends.Open == 0 || ends.Closed+len(ends.Status) > 0 {
			t.Errorf("idle connections, TLS %t: %+v, %v", withTLS, ends, err)
		}
		strict := serve(t, withTLS, &http.Server{ReadHeaderTimeout: brief / 2})
		// A slow machine does not finish each TLS handshake in time.
		ends, err = strict.Idle(t.Context(), n, long)
		check(t, "idle connections", ends, err, Ends{Closed: n - ends.Refused, Refused: ends.Refused})
		// The response is lost where another byte arrives after the server has closed.
		ends, err = strict.SlowHeaders(t.Context(), n, long)
		refused := ends.Status[http.StatusBadRequest]
		check(t, "slow headers", ends, err, Ends{Closed: ends.Closed, Refused: ends.Refused, Status: map[int]int{http.StatusBadRequest: refused}})
		if ends.Total() != n || refused == 0 {
			t.Errorf("slow headers, TLS %t: %+v", withTLS, ends)
		}
	}
}

// A body is sent whole to a server that reads it, and in part to one that refuses it.
func TestBody(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.15)
	// The large one does not fit into the buffers of the kernel.
	const size, large = 10 << 20, 100 << 20
	for _, withTLS := range []bool{false, true} {
		a := serve(t, withTLS, &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("X-Test") != "value" {
				w.WriteHeader(http.StatusBadRequest)
			}
			if r.URL.Path == "/bounded" {
				r.Body = http.MaxBytesReader(w, r.Body, 1<<20)
			}
			if _, err := io.Copy(io.Discard, r.Body); err != nil {
				w.WriteHeader(http.StatusRequestEntityTooLarge)
			}
		})})
		header := http.Header{"X-Test": {"value"}}
		ends, sent, err := a.Body(t.Context(), "/", header, size, long)
		check(t, "body", ends, err, Ends{Status: map[int]int{http.StatusOK: 1}})
		if sent != size {
			t.Errorf("%d bytes of %d sent", sent, size)
		}
		ends, sent, err = a.Body(t.Context(), "/bounded", header, large, long)
		check(t, "bounded body", ends, err, Ends{Status: map[int]int{http.StatusRequestEntityTooLarge: 1}})
		if sent < 1<<20 || sent >= large {
			t.Errorf("%d bytes of %d sent to a server that reads 1 MiB", sent, large)
		}
	}
}

// Each request has a token of its own.
func TestWrongTokens(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.1)
	const rate = 50
	for _, withTLS := range []bool{false, true} {
		var mu sync.Mutex
		tokens := map[string]bool{}
		a := serve(t, withTLS, &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			tokens[r.Header.Get("Authorization")] = true
			w.WriteHeader(http.StatusUnauthorized)
		})})
		start := time.Now()
		ends, err := a.WrongTokens(t.Context(), "/path", rate, brief)
		if took := time.Since(start); took < brief-brief/rate { // when the last one is due
			t.Errorf("took %s", took)
		}
		refused := ends.Status[http.StatusUnauthorized]
		if refused == 0 || refused != len(tokens) {
			t.Errorf("%d refused, %d tokens", refused, len(tokens))
		}
		// A slow machine sends fewer.
		check(t, "wrong tokens", ends, err, Ends{Status: map[int]int{http.StatusUnauthorized: refused}, Unsent: rate - refused})
	}
}

// An attack comes from a host of a test network.
func TestFromHost(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.05)
	n := networktest.New(t)
	server, attacker := n.Host("server"), n.Host("attacker")
	var mu sync.Mutex
	from := map[string]bool{}
	s := server.Serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		address, _, _ := net.SplitHostPort(r.RemoteAddr)
		from[address] = true
		w.WriteHeader(http.StatusUnauthorized)
	}))
	a := Attack{Address: s.Listener.Addr().String(), Dial: attacker.DialContext}
	if ends, err := a.Idle(t.Context(), 50, brief); err != nil || ends.Total() != 50 || ends.Open == 0 {
		t.Errorf("%+v, %v", ends, err)
	}
	if ends, err := a.WrongTokens(t.Context(), "/", 20, brief); err != nil || ends.Status[http.StatusUnauthorized] == 0 {
		t.Errorf("%+v, %v", ends, err)
	}
	if diff := cmp.Diff(map[string]bool{attacker.Addr().String(): true}, from); diff != "" {
		t.Error(diff)
	}
}

// A server that is not there, or whose certificate is another, refuses; a client
// without descriptors is an error.
func TestRefused(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.05)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	stranger := serve(t, true, &http.Server{})
	stranger.TLS = &tls.Config{RootCAs: x509.NewCertPool(), ServerName: "127.0.0.1"}
	for name, a := range map[string]Attack{"no server": {Address: l.Addr().String()}, "another certificate": stranger} {
		ends, err := a.Idle(t.Context(), 10, long)
		check(t, name, ends, err, Ends{Refused: 10})
		ends, err = a.WrongTokens(t.Context(), "/", 10, brief)
		check(t, name, ends, err, Ends{Refused: 10 - ends.Unsent, Unsent: ends.Unsent})
	}
	exhausted := Attack{Address: "server:1", Dial: func(context.Context, string, string) (net.Conn, error) { return nil, syscall.EMFILE }}
	if ends, err := exhausted.Idle(t.Context(), 10, long); !errors.Is(err, syscall.EMFILE) || ends.Total() != 10 {
		t.Errorf("without descriptors: %+v, %v", ends, err)
	}
	if ends, err := exhausted.WrongTokens(t.Context(), "/", 10, brief); !errors.Is(err, syscall.EMFILE) || ends.Total() != 10 {
		t.Errorf("without descriptors: %+v, %v", ends, err)
	}
}
