package databasetest

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

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
		behind, err := net.Dial("tcp", to)
		if err != nil {
			return
		}
		var answers sync.WaitGroup
		answers.Go(func() { _, _ = io.Copy(conn, behind) })
		_, _ = io.Copy(behind, conn)
		_ = behind.Close()
		answers.Wait()
	})
	return addr, func() { failed.Store(true); drop() }
}
