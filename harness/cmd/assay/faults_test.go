package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// elsewhereKey names the script's server that no load may go to.
type elsewhereKey struct{}

// fault KIND: starts a target with that fault, and puts its base URL into the
// variable KIND.
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
		"garbage": garbage,
		"loops":   func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path, http.StatusFound) },
		"moved": func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/new" {
				http.Redirect(w, r, "/new", http.StatusFound)
				return
			}
			think(w, r)
		},
	}[args[0]]
	if args[0] == "leads" {
		elsewhere := serveElsewhere(ts)
		handler = func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere, http.StatusFound) }
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

// resets reads the request and cuts the connection off with a TCP reset.
func resets(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // of a client that may be gone
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_ = conn.(*net.TCPConn).SetLinger(0)
		_ = conn.Close()
	}
}

// hangs accepts and never answers.
func hangs(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

// garbage answers what is not HTTP.
func garbage(w http.ResponseWriter, _ *http.Request) {
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_, _ = io.WriteString(conn, "SSH-2.0-OpenSSH_9.2p1\r\n")
		_ = conn.Close()
	}
}

// serveElsewhere starts a server under the machine's own name, which load may
// not be sent to unless it is listed.
func serveElsewhere(ts *testscript.TestScript) (url string) {
	name, err := os.Hostname()
	ts.Check(err)
	listener, err := net.Listen("tcp", net.JoinHostPort(name, "0"))
	ts.Check(err)
	came := new(atomic.Int64)
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { came.Add(1); think(w, r) })}
	go func() { _ = s.Serve(listener) }() // ends with Close
	ts.Defer(func() { _ = s.Close() })
	*ts.Value(elsewhereKey{}).(**atomic.Int64) = came
	ts.Setenv("ELSEWHERE", name)
	return fmt.Sprintf("http://%s:%d/", name, listener.Addr().(*net.TCPAddr).Port)
}

// elsewhere COUNT: so many requests have come to the server of the fault leads.
// With ! it is another number.
func elsewhere(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: elsewhere COUNT")
	}
	got := strconv.FormatInt((*ts.Value(elsewhereKey{}).(**atomic.Int64)).Load(), 10)
	if (got == args[0]) == neg {
		ts.Fatalf("%s requests came elsewhere", got)
	}
}
