//go:build live

package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// otherHostKey is the key of the request count of the host that load may not be sent to.
type otherHostKey struct{}

// fault KIND starts a target with that fault, and sets the variable KIND to its base URL.
func fault(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: fault KIND")
	}
	handler := map[string]http.HandlerFunc{
		"errors": func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "no stock", http.StatusInternalServerError)
		},
		"resets":  resets,
		"slow":    func(http.ResponseWriter, *http.Request) { time.Sleep(500 * time.Millisecond) },
		"hangs":   hangs,
		"tires":   tires(8), // preflight and the first seconds of a run
		"garbage": garbage,
		"expands": expands,
		"loops":   func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path, http.StatusFound) },
		"moved": func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/new" {
				http.Redirect(w, r, "/new", http.StatusFound)
				return
			}
			think(w, r)
		},
	}[args[0]]
	if args[0] == "redirects" {
		other := serveOtherHost(ts)
		handler = func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other, http.StatusFound) }
	}
	if handler == nil {
		ts.Fatalf("there is no fault %s", args[0])
	}
	ended, end := context.WithCancel(context.Background())
	s := httptest.NewUnstartedServer(handler)
	s.Config.BaseContext = func(net.Listener) context.Context { return ended }
	s.Start()
	ts.Defer(func() { end(); s.CloseClientConnections(); s.Close() })
	ts.Setenv(args[0], s.URL)
}

// tires answers this many requests, and then fails.
func tires(good int64) http.HandlerFunc {
	var n atomic.Int64
	return func(w http.ResponseWriter, _ *http.Request) {
		if n.Add(1) > good {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}
}

// resets reads the request and cuts the connection off with a TCP reset.
func resets(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // fails if the client is gone
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_ = conn.(*net.TCPConn).SetLinger(0)
		_ = conn.Close()
	}
}

// hangs reads the request and never responds.
func hangs(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

// garbage responds with something other than HTTP.
func garbage(w http.ResponseWriter, _ *http.Request) {
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_, _ = io.WriteString(conn, "SSH-2.0-OpenSSH_9.2p1\r\n")
		_ = conn.Close()
	}
}

// expands answers with 250 MB, compressed to 250 kB.
func expands(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Encoding", "gzip")
	_, _ = w.Write(expanding()) // to a client that may be gone
}

var expanding = sync.OnceValue(func() []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = io.CopyN(z, zeros{}, 250<<20) // into memory
	_ = z.Close()
	return b.Bytes()
})

// zeros is an endless reader.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// serveOtherHost starts a server at this machine's host name, which load may not be sent
// to unless it is listed.
func serveOtherHost(ts *testscript.TestScript) (url string) {
	name, err := os.Hostname()
	ts.Check(err)
	listener, err := net.Listen("tcp", net.JoinHostPort(name, "0"))
	ts.Check(err)
	received := new(atomic.Int64)
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { received.Add(1); think(w, r) })}
	go func() { _ = s.Serve(listener) }() // ends with Close
	ts.Defer(func() { _ = s.Close() })
	*ts.Value(otherHostKey{}).(**atomic.Int64) = received
	ts.Setenv("OTHER_HOST", name)
	return fmt.Sprintf("http://%s:%d/", name, listener.Addr().(*net.TCPAddr).Port)
}

// other-host-requests COUNT fails unless the server that the fault redirects leads to has
// received exactly that many requests. Negated, it fails if it has.
func otherHostRequests(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: other-host-requests COUNT")
	}
	got := strconv.FormatInt((*ts.Value(otherHostKey{}).(**atomic.Int64)).Load(), 10)
	if (got == args[0]) == neg {
		ts.Fatalf("the other host received %s requests", got)
	}
}
