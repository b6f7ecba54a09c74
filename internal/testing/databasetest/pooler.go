package databasetest

import (
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/go-mysql-org/go-mysql/client"
	"github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/server"
)

// MySQLPooler is a synthetic pooler before a MySQL server: like ProxySQL it greets by
// itself, answers who it is, and executes the statements of all its clients on one session
// of the server. It stands for ProxySQL and MaxScale, which no package registry
// offers. name is its @@version_comment; empty: that of the server.
func MySQLPooler(t testing.TB, address, user, password, name string) (addr string) {
	t.Helper()
	backend, err := client.Connect(address, user, password, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = backend.Close() }) // nobody uses it any more
	shared := &sharedSession{conn: backend, name: name}
	front := server.NewServer("8.0.11", mysql.DEFAULT_COLLATION_ID, mysql.AUTH_NATIVE_PASSWORD, nil, nil)
	addr, _ = accept(t, func(conn net.Conn) {
		own, err := front.NewConn(conn, user, password, shared)
		for err == nil {
			err = own.HandleCommand()
		}
	})
	return addr
}

// sharedSession executes the statements of all clients of a pooler.
type sharedSession struct {
	server.EmptyHandler
	name string
	mu   sync.Mutex
	conn *client.Conn
}

func (s *sharedSession) UseDB(string) error { return nil }

func (s *sharedSession) HandleQuery(query string) (*mysql.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.name != "" && strings.Contains(query, "@@version_comment") {
		set, err := mysql.BuildSimpleTextResultset([]string{query}, [][]any{{s.name}})
		return mysql.NewResult(set), err
	}
	return s.conn.Execute(query)
}
