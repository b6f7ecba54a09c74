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
		behind, err := net.Dial("tcp", server)
		if err != nil {
			return
		}
		var answers sync.WaitGroup
		answers.Go(func() { _, _ = io.Copy(conn, behind); _ = conn.Close() })
		passQueries(behind, conn, pass)
		answers.Wait()
	})
	return addr
}

// comQuery begins a packet with a query.
const comQuery = 0x03

func passQueries(to io.WriteCloser, from io.Reader, pass func(query string) string) {
	defer func() { _ = to.Close() }()
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
