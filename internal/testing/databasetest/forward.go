package databasetest

import (
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// forward connects a client to a server, in both directions, until one of them ends: what
// pass sends to the server ends with the client.
func forward(conn net.Conn, server string, pass func(to net.Conn)) {
	behind, err := net.Dial("tcp", server)
	if err != nil {
		return
	}
	var answers sync.WaitGroup
	answers.Go(func() { _, _ = io.Copy(conn, behind); _ = conn.Close() })
	pass(behind)
	_ = behind.Close()
	answers.Wait()
}

// AbandoningProxy connects clients to a real server. abandon closes the connections of all
// clients, of which the server learns nothing, as behind a network that loses packets: their
// sessions stay open until the server ends them, or the test ends.
func AbandoningProxy(t testing.TB, server string) (addr string, abandon func()) {
	t.Helper()
	ended := make(chan struct{})
	addr, abandon = accept(t, func(conn net.Conn) {
		forward(conn, server, func(to net.Conn) {
			_, _ = io.Copy(to, conn)
			<-ended
		})
	})
	t.Cleanup(func() { close(ended) }) // before the proxy waits for its connections to end
	return addr, abandon
}

// FailoverProxy connects clients to a real server, as the endpoint of a cluster does. failOver
// closes their connections, and connects them to the next server from then on.
func FailoverProxy(t testing.TB, server, next string) (addr string, failOver func()) {
	t.Helper()
	var failed atomic.Bool
	addr, drop := accept(t, func(conn net.Conn) {
		to := server
		if failed.Load() {
			to = next
		}
		forward(conn, to, func(to net.Conn) { _, _ = io.Copy(to, conn) })
	})
	return addr, func() { failed.Store(true); drop() }
}

// RewritingProxy connects clients to a real server, and replaces words in their
// queries, such as a table or a variable that only Aurora has, by those of the test.
// It returns its address.
func RewritingProxy(t testing.TB, server string, words ...string) string {
	t.Helper()
	return queryProxy(t, server, strings.NewReplacer(words...).Replace)
}

// DelayingProxy connects clients to a real server, and delays the first query of all that
// has a word. It returns its address.
func DelayingProxy(t testing.TB, server, word string, delay time.Duration) string {
	t.Helper()
	var delayed atomic.Bool
	return queryProxy(t, server, func(query string) string {
		if strings.Contains(query, word) && delayed.CompareAndSwap(false, true) {
			time.Sleep(delay)
		}
		return query
	})
}

// queryProxy passes each query through a function.
func queryProxy(t testing.TB, server string, pass func(query string) string) string {
	t.Helper()
	addr, _ := accept(t, func(conn net.Conn) {
		forward(conn, server, func(to net.Conn) { passQueries(to, conn, pass) })
	})
	return addr
}

// comQuery begins a packet with a query.
const comQuery = 0x03

func passQueries(to io.Writer, from io.Reader, pass func(query string) string) {
	for {
		p, err := readPacket(from)
		if err != nil {
			return
		}
		if p.sequence == 0 && len(p.body) > 0 && p.body[0] == comQuery {
			p.body = append([]byte{comQuery}, pass(string(p.body[1:]))...)
		}
		if writePacket(to, p) != nil {
			return
		}
	}
}

// accept listens on loopback and serves each connection in its own goroutine, which may
// close it. drop closes all open connections. When the test ends it stops.
func accept(t testing.TB, serve func(net.Conn)) (addr string, drop func()) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	open := map[net.Conn]bool{}
	track := func(conn net.Conn) {
		mu.Lock()
		defer mu.Unlock()
		open[conn] = true
	}
	closed := func(conn net.Conn) {
		_ = conn.Close()
		mu.Lock()
		defer mu.Unlock()
		delete(open, conn)
	}
	drop = func() {
		mu.Lock()
		defer mu.Unlock()
		for conn := range open {
			_ = conn.Close()
		}
	}
	var accepting, serving sync.WaitGroup
	accepting.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			track(conn)
			serving.Go(func() { serve(conn); closed(conn) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		accepting.Wait() // no connection is opened after drop
		drop()
		serving.Wait()
	})
	return listener.Addr().String(), drop
}
