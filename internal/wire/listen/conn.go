package listen

import (
	"bytes"
	"container/list"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync/atomic"
	"syscall"
	"time"
)

// conn is one connection. Its first byte says whether it is TLS: net/http, which reads
// it in a goroutine of its own, sees plain HTTP/1.1 in either case.
type conn struct {
	net.Conn // the socket
	gate     *gate
	from     netip.Addr
	read     bool                     // something
	tls      atomic.Pointer[tls.Conn] // nil: plain

	// Guarded by gate.mu.
	peer  *peer
	place *list.Element // in gate.pending; nil: not pending
	late  *time.Timer
}

func (c *conn) Read(p []byte) (int, error) {
	if t := c.tls.Load(); t != nil {
		return t.Read(p)
	}
	n, err := c.Conn.Read(p)
	if c.read || n == 0 {
		return n, err
	}
	c.read = true
	const handshake = 0x16 // the first byte of TLS, and of no request
	if p[0] != handshake {
		return n, err
	}
	t := tls.Server(&replay{c.Conn, bytes.NewReader(slices.Clone(p[:n]))}, c.gate.tls)
	c.tls.Store(t)
	if err := t.Handshake(); err != nil {
		if !gone(err) {
			c.refuse(BadHandshake)
		}
		return 0, io.EOF // net/http would answer another error in plain text
	}
	return t.Read(p)
}

// gone reports whether a connection has ended because a side closed it, as that of a client
// that is killed: nobody was refused.
func gone(err error) bool {
	return slices.ContainsFunc([]error{io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, syscall.ECONNRESET, syscall.EPIPE}, func(end error) bool { return errors.Is(err, end) })
}

// over is what is written to: TLS, or the socket.
func (c *conn) over() net.Conn {
	if t := c.tls.Load(); t != nil {
		return t
	}
	return c.Conn
}

// Write has a deadline of its own: an answer may be long, and come after minutes.
func (c *conn) Write(p []byte) (int, error) {
	if err := c.Conn.SetWriteDeadline(time.Now().Add(c.gate.limits.Write)); err != nil {
		return 0, err
	}
	return c.over().Write(p)
}

// CloseWrite lets net/http end a connection in steps, so that a client that still sends
// can read why.
func (c *conn) CloseWrite() error { return c.over().(interface{ CloseWrite() error }).CloseWrite() }

func (c *conn) Close() error {
	c.settle()
	return c.over().Close()
}

// settle ends the account of a connection as one without the token.
func (c *conn) settle() bool {
	c.gate.mu.Lock()
	defer c.gate.mu.Unlock()
	return c.gate.forget(c)
}

// refuse closes a connection that has not shown the token.
func (c *conn) refuse(why Refusal) {
	if c.settle() {
		c.abort()
		c.gate.refusals.add(why, c.from)
	}
}

// abort closes the socket with a reset, at once and leaving nothing in the kernel. It
// may be called while the connection is in use.
func (c *conn) abort() {
	_ = c.Conn.(*net.TCPConn).SetLinger(0) // both fail for closed sockets only
	_ = c.Conn.Close()
}

// replay reads what has been read already before the rest.
type replay struct {
	net.Conn
	first *bytes.Reader
}

func (r *replay) Read(p []byte) (int, error) {
	if r.first.Len() > 0 {
		return r.first.Read(p)
	}
	return r.Conn.Read(p)
}

type connKey struct{}

func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

func connOf(r *http.Request) *conn { return r.Context().Value(connKey{}).(*conn) }
