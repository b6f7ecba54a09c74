package databasetest

import (
	"io"
	"net"
	"sync"
	"testing"
)

// AbandoningProxy connects clients to a real server. abandon closes the connections of all
// clients, of which the server learns nothing, as behind a network that loses packets: their
// sessions stay open until the server ends them, or the test ends.
func AbandoningProxy(t testing.TB, server string) (addr string, abandon func()) {
	t.Helper()
	var mu sync.Mutex
	var kept []net.Conn
	addr, abandon = accept(t, func(conn net.Conn) {
		behind, err := net.Dial("tcp", server)
		if err != nil {
			return
		}
		mu.Lock()
		kept = append(kept, behind)
		mu.Unlock()
		var answers sync.WaitGroup
		answers.Go(func() { _, _ = io.Copy(conn, behind) })
		_, _ = io.Copy(behind, conn)
		answers.Wait()
		_ = behind.Close()
	})
	t.Cleanup(func() { // before the proxy waits for its connections to end
		mu.Lock()
		defer mu.Unlock()
		for _, behind := range kept {
			_ = behind.Close()
		}
	})
	return addr, abandon
}
