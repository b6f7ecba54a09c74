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
	replacer := strings.NewReplacer(words...)
	addr, _ := accept(t, func(conn net.Conn) {
		behind, err := net.Dial("tcp", server)
		if err != nil {
			return
		}
		var answers sync.WaitGroup
		answers.Go(func() { _, _ = io.Copy(conn, behind); _ = conn.Close() })
		rewrite(behind, conn, replacer)
		answers.Wait()
	})
	return addr
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
