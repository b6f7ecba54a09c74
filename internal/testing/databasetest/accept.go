package databasetest

import (
	"net"
	"sync"
	"testing"
)

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
