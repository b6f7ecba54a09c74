package doctor

import (
	"io"
	"net"
	"testing"
)

// listen handles connections with serve, and returns its address.
func listen(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go serve(conn)
		}
	}()
	return l.Addr().String()
}

func hang(conn net.Conn) { _, _ = io.Copy(io.Discard, conn); _ = conn.Close() }
