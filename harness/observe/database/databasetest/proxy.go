package databasetest

import (
	"crypto/tls"
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
	listener net.Listener

	mu     sync.Mutex
	open   map[net.Conn]bool
	tokens []string // accepted
	denied int
}

// Backend is the real server and its user.
type Backend struct{ Addr, User, Password string }

// NewIAMProxy starts a proxy for one user, whose tokens are signed by the identity. It
// stops when the test ends.
func NewIAMProxy(t testing.TB, backend Backend, user string, identity Identity) *IAMProxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := &IAMProxy{
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

// Drop closes all connections, as a failover does.
func (p *IAMProxy) Drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for conn := range p.open {
		_ = conn.Close()
	}
}

// Tokens returns the accepted tokens in order, and the number of denied ones.
func (p *IAMProxy) Tokens() (accepted []string, denied int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.tokens...), p.denied
}

func (p *IAMProxy) track(conn net.Conn, open bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if open {
		p.open[conn] = true
	} else {
		delete(p.open, conn)
	}
}

func (p *IAMProxy) serve(conn net.Conn) {
	p.track(conn, true)
	defer p.track(conn, false)
	defer func() { _ = conn.Close() }()
	server, err := net.Dial("tcp", p.backend.Addr)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	greeting, err := readPacket(server)
	if err != nil {
		return
	}
	// Announce TLS to the client, whether the real server has it or not.
	hello, salt, err := parseGreeting(greeting.body)
	if err != nil || writePacket(conn, packet{0, hello}) != nil {
		return
	}
	request, err := readPacket(conn)
	if err != nil || len(request.body) < 32 {
		return
	}
	secure := tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{p.Authority.Server}})
	login, err := readPacket(secure)
	if err != nil {
		return
	}
	if writePacket(secure, packet{login.sequence + 1, append([]byte{0xfe}, "mysql_clear_password\x00\x00"...)}) != nil {
		return
	}
	auth, err := readPacket(secure)
	if err != nil {
		return
	}
	token := string(trimNull(auth.body))
	if !p.accept(userOf(login.body), token) {
		_ = writePacket(secure, packet{auth.sequence + 1, accessDenied})
		return
	}
	if writePacket(server, packet{1, loginAs(login.body, p.backend, salt)}) != nil {
		return
	}
	done, err := readPacket(server)
	if err != nil || writePacket(secure, packet{auth.sequence + 1, done.body}) != nil {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { _, _ = io.Copy(server, secure); _ = server.Close() })
	_, _ = io.Copy(secure, server)
	_ = conn.Close()
	both.Wait()
}

func (p *IAMProxy) accept(user, token string) bool {
	ok := user == p.user && p.identity.signed(token, p.Addr, user, p.Lifetime)
	p.mu.Lock()
	defer p.mu.Unlock()
	if ok {
		p.tokens = append(p.tokens, token)
	} else {
		p.denied++
	}
	return ok
}
