package databasetest

import (
	"crypto/tls"
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// Door lets clients through to a real server that log in with a token of IAM,
// by TLS, as RDS does: it offers the server's greeting, switches to the method
// mysql_clear_password, and looks at the token. What follows goes through as it
// is, as the real user Backend.
type Door struct {
	Addr      string
	Authority Authority
	Lifetime  time.Duration // of a token, as the door sees it

	user     string
	identity Identity
	backend  Backend
	listener net.Listener

	mu     sync.Mutex
	open   map[net.Conn]bool
	tokens []string // that were accepted
	denied int
}

// Backend is the real server and its user.
type Backend struct{ Addr, User, Password string }

// NewDoor opens a door for one user, whose tokens are signed by the identity. It
// is shut when the test ends.
func NewDoor(t testing.TB, backend Backend, user string, identity Identity) *Door {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := &Door{
		Addr: listener.Addr().String(), Authority: NewAuthority(t), Lifetime: 15 * time.Minute,
		user: user, identity: identity, backend: backend, listener: listener, open: map[net.Conn]bool{},
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { d.serve(conn) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		d.Drop()
		serving.Wait()
	})
	return d
}

// Drop cuts all connections, as a failover does.
func (d *Door) Drop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for conn := range d.open {
		_ = conn.Close()
	}
}

// Tokens are those that were accepted, in order; denied is how many were not.
func (d *Door) Tokens() (accepted []string, denied int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]string(nil), d.tokens...), d.denied
}

func (d *Door) keep(conn net.Conn, open bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if open {
		d.open[conn] = true
	} else {
		delete(d.open, conn)
	}
}

func (d *Door) serve(conn net.Conn) {
	d.keep(conn, true)
	defer d.keep(conn, false)
	defer func() { _ = conn.Close() }()
	server, err := net.Dial("tcp", d.backend.Addr)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	greeting, err := readPacket(server)
	if err != nil {
		return
	}
	// The client hears that there is TLS, whatever the server behind has.
	hello, salt, err := parseGreeting(greeting.body)
	if err != nil || writePacket(conn, packet{0, hello}) != nil {
		return
	}
	request, err := readPacket(conn)
	if err != nil || len(request.body) < 32 {
		return
	}
	secure := tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{d.Authority.Server}})
	login, err := readPacket(secure)
	if err != nil {
		return
	}
	if writePacket(secure, packet{login.sequence + 1, append([]byte{0xfe}, "mysql_clear_password\x00\x00"...)}) != nil {
		return
	}
	answer, err := readPacket(secure)
	if err != nil {
		return
	}
	token := string(trimNull(answer.body))
	if !d.admit(userOf(login.body), token) {
		_ = writePacket(secure, packet{answer.sequence + 1, accessDenied})
		return
	}
	if writePacket(server, packet{1, loginAs(login.body, d.backend, salt)}) != nil {
		return
	}
	done, err := readPacket(server)
	if err != nil || writePacket(secure, packet{answer.sequence + 1, done.body}) != nil {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { _, _ = io.Copy(server, secure); _ = server.Close() })
	_, _ = io.Copy(secure, server)
	_ = conn.Close()
	both.Wait()
}

func (d *Door) admit(user, token string) bool {
	ok := user == d.user && d.identity.signed(token, d.Addr, user, d.Lifetime)
	d.mu.Lock()
	defer d.mu.Unlock()
	if ok {
		d.tokens = append(d.tokens, token)
	} else {
		d.denied++
	}
	return ok
}
