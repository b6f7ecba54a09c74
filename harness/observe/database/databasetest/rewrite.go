package databasetest

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"
)

// RewritingProxy connects clients to a real server, and replaces words in their
// queries, such as a table or a variable that only Aurora has, by those of the test.
// It returns its address.
func RewritingProxy(t testing.TB, server string, words ...string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	replacer := strings.NewReplacer(words...)
	var mu sync.Mutex
	var open []net.Conn
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			behind, err := net.Dial("tcp", server)
			if err != nil {
				_ = conn.Close()
				continue
			}
			mu.Lock()
			open = append(open, conn, behind)
			mu.Unlock()
			serving.Go(func() { _, _ = io.Copy(conn, behind); _ = conn.Close() })
			serving.Go(func() { rewrite(behind, conn, replacer) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		mu.Lock()
		for _, conn := range open {
			_ = conn.Close()
		}
		mu.Unlock()
		serving.Wait()
	})
	return listener.Addr().String()
}

// comQuery begins a packet with a query.
const comQuery = 0x03

func rewrite(to io.WriteCloser, from io.Reader, words *strings.Replacer) {
	defer func() { _ = to.Close() }()
	for {
		p, err := readPacket(from)
		if err != nil {
			return
		}
		if p.sequence == 0 && len(p.body) > 0 && p.body[0] == comQuery {
			p.body = append([]byte{comQuery}, words.Replace(string(p.body[1:]))...)
		}
		if writePacket(to, p) != nil {
			return
		}
	}
}
