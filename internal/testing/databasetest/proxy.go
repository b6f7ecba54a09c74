package databasetest

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// IAMProxy connects clients that log in with an IAM token over TLS to a real server,
// as RDS does: it forwards the server's greeting, switches to the method
// mysql_clear_password, and checks the token. It then logs in as the user of Backend
// and forwards everything else unchanged.
type IAMProxy struct {
	Addr      string
	Authority Authority
	Lifetime  time.Duration // maximum age of a token

	user     string
	identity Identity
	backend  Backend
	drop     func()

	mu     sync.Mutex
	tokens []string // accepted
	denied int
}

// Backend is the real server and its user.
type Backend struct{ Addr, User, Password string }

// NewIAMProxy starts a proxy for one user, whose tokens are signed by the identity. It
// stops when the test ends.
func NewIAMProxy(t testing.TB, backend Backend, user string, identity Identity) *IAMProxy {
	t.Helper()
	p := &IAMProxy{Authority: NewAuthority(t), Lifetime: 15 * time.Minute, user: user, identity: identity, backend: backend}
	p.Addr, p.drop = accept(t, p.serve)
	return p
}

// Drop closes all connections, as a failover does.
func (p *IAMProxy) Drop() { p.drop() }

// Tokens returns the accepted tokens in order, and the number of denied ones.
func (p *IAMProxy) Tokens() (accepted []string, denied int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.tokens...), p.denied
}

// serve logs the client in and forwards everything that follows.
func (p *IAMProxy) serve(conn net.Conn) {
	server, err := net.Dial("tcp", p.backend.Addr)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	client, err := p.login(conn, server)
	if err != nil {
		return // the client sees that the connection is closed
	}
	var both sync.WaitGroup
	both.Go(func() { _, _ = io.Copy(server, client); _ = server.Close() })
	_, _ = io.Copy(client, server)
	_ = conn.Close()
	both.Wait()
}

var errDenied = errors.New("access denied")

// login changes to TLS with the client, checks its token, and logs in at the server.
func (p *IAMProxy) login(conn, server net.Conn) (client net.Conn, err error) {
	greeting, err := readPacket(server)
	if err != nil {
		return nil, err
	}
	// Announce TLS to the client, whether the real server has it or not.
	hello, salt, err := parseGreeting(greeting.body)
	if err != nil {
		return nil, err
	}
	if err := writePacket(conn, packet{0, hello}); err != nil {
		return nil, err
	}
	if _, err := readPacket(conn); err != nil { // the request to change to TLS
		return nil, err
	}
	client = tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{p.Authority.Server}})
	login, err := readPacket(client)
	if err != nil {
		return nil, err
	}
	if err := writePacket(client, packet{login.sequence + 1, append([]byte{0xfe}, "mysql_clear_password\x00\x00"...)}); err != nil {
		return nil, err
	}
	auth, err := readPacket(client)
	if err != nil {
		return nil, err
	}
	if !p.accepts(conn.LocalAddr().String(), userOf(login.body), string(trimNull(auth.body))) {
		return nil, errors.Join(errDenied, writePacket(client, packet{auth.sequence + 1, accessDenied}))
	}
	if err := writePacket(server, packet{1, loginAs(login.body, p.backend, salt)}); err != nil {
		return nil, err
	}
	done, err := readPacket(server)
	if err != nil {
		return nil, err
	}
	return client, writePacket(client, packet{auth.sequence + 1, done.body})
}

// accepts checks a token for a user at the proxy's address, and counts it.
func (p *IAMProxy) accepts(addr, user, token string) bool {
	ok := user == p.user && p.identity.signed(token, addr, user, p.Lifetime)
	p.mu.Lock()
	defer p.mu.Unlock()
	if ok {
		p.tokens = append(p.tokens, token)
	} else {
		p.denied++
	}
	return ok
}
