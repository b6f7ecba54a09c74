// SPDX-License-Identifier: Apache-2.0

package database

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"assay.dev/assay/internal/hint"
)

// maxHeard is enough for a greeting of any family.
const maxHeard = 256

// Bounds of what a connection receives, in bytes. Drivers keep a packet, an error or the
// server's parameters in memory, however large or many these are.
const (
	// maxGreeting is until the connection is accepted: a server sends a few kB.
	maxGreeting = 1 << 20
	// maxAnswer is from a request of ours, or from the last call of Received, on.
	maxAnswer = 64 << 20
)

// Intake limits what the connections of a DB receive, of which there is one at a time.
type Intake struct{ received atomic.Int64 }

// Received is called when all that was received so far has been processed, such as a row of
// many.
func (i *Intake) Received() { i.received.Store(0) }

// Heard keeps the first bytes that the other side of a connection sends. They tell who
// answers there, whatever the driver makes of them. It fails a connection that sends too much.
type Heard struct {
	Intake *Intake

	exceeded atomic.Bool // a connection has received more than it may: drivers hide why a reading failed
	accepted atomic.Bool

	mu    sync.Mutex
	first []byte // nil: never connected
}

// Accept is called when the connection can be used.
func (h *Heard) Accept() {
	h.Intake.Received()
	h.accepted.Store(true)
}

// errTooMuch is for a connection that has sent more than it may.
var errTooMuch = &Error{"the server sends more than what was asked for", checkDSN}

// DialFunc makes connections.
type DialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// Dial returns a function that dials, and keeps what the latest connection on which anything
// is received receives first.
func (h *Heard) Dial(dial DialFunc) DialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		h.add(nil, false)
		h.Intake.Received() // each address of a DSN, with and without TLS
		return &heardConn{Conn: conn, heard: h}, nil
	}
}

// bytes are what was received; nil without a connection.
func (h *Heard) bytes() []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	return bytes.Clone(h.first)
}

// add adds what a connection received; first: nothing before.
func (h *Heard) add(b []byte, first bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.first == nil || first {
		h.first = []byte{}
	}
	h.first = append(h.first, b[:min(len(b), maxHeard-len(h.first))]...)
}

// heardConn is a connection that is listened to.
type heardConn struct {
	net.Conn
	heard *Heard
	began bool // something was received
}

func (c *heardConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	limit := int64(maxGreeting)
	if c.heard.accepted.Load() {
		limit = maxAnswer
	}
	if c.heard.Intake.received.Add(int64(n)) > limit {
		c.heard.exceeded.Store(true)
		return 0, errTooMuch
	}
	if n > 0 {
		c.heard.add(b[:n], !c.began)
		c.began = true
	}
	return n, err
}

// Write begins a request, whose answer is limited by itself.
func (c *heardConn) Write(b []byte) (int, error) {
	if c.heard.accepted.Load() {
		c.heard.Intake.Received()
	}
	return c.Conn.Write(b)
}

// SyscallConn lets a driver look whether the connection was closed.
func (c *heardConn) SyscallConn() (syscall.RawConn, error) {
	if s, ok := c.Conn.(syscall.Conn); ok {
		return s.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}

// Protocol is what a server speaks, as its first bytes tell.
type Protocol int

// The protocols.
const (
	OtherProtocol Protocol = iota
	MySQLProtocol
	PostgreSQLProtocol
	httpProtocol
)

// speakers are those who speak a protocol.
var speakers = map[Protocol]string{
	MySQLProtocol: "a MySQL or MariaDB server", PostgreSQLProtocol: "a PostgreSQL server", httpProtocol: "an HTTP server",
	OtherProtocol: "something else",
}

// checkDSN is the next step if another server or none answers.
const checkDSN = "check host and port in the DSN, and its form: user:password@tcp(HOST:PORT)/DATABASE for MySQL and MariaDB, postgres://user:password@HOST:PORT/DATABASE for PostgreSQL"

// protocol is what the other side speaks.
func protocol(first []byte) Protocol {
	long := len(first) > 6
	switch {
	// A packet's length in three bytes, its number, and the protocol's version with that of
	// the server, or an error with a number from 1024.
	case long && first[3] == 0 && (first[4] == 10 && first[5] >= '0' && first[5] <= '9' || first[4] == 0xff && first[6] >= 4 && first[6] < 16):
		return MySQLProtocol
	case bytes.HasPrefix(first, []byte("HTTP/")):
		return httpProtocol
	// The answer to a request for TLS, with what follows the consent; or TLS at once.
	case string(first) == "S", string(first) == "N", long && first[0] == 'S' && first[1] >= 20 && first[1] <= 23 && first[2] == 3, long && first[0] == 22 && first[1] == 3:
		return PostgreSQLProtocol
	// A message on authentication, on the protocol's version, or of an error; the latter
	// before version 3 was text.
	case long && (first[0] == 'R' || first[0] == 'v' || first[0] == 'E') && binary.BigEndian.Uint32(first[1:]) < 1<<16:
		return PostgreSQLProtocol
	}
	return OtherProtocol
}

// Greeting is how a MySQL server begins: its version, and the number of the connection. Not
// ok: the other side began otherwise.
func (h *Heard) Greeting() (version string, connection uint32, ok bool) {
	first := h.bytes()
	if protocol(first) != MySQLProtocol || first[4] != 10 {
		return "", 0, false
	}
	text, rest, ok := bytes.Cut(first[5:], []byte{0})
	if !ok || len(rest) < 4 {
		return "", 0, false
	}
	return string(text), binary.LittleEndian.Uint32(rest), true
}

// Explain returns why a connection failed with this error of the driver: who answers there,
// if it is no server of this family. Errors that a server of the family has returned, and
// those of dialling and of TLS, stay as they are.
func (d *Dialect) Explain(err error, h *Heard) error {
	var known *Error
	var network *net.OpError
	answer, answered := d.ServerError(err)
	if err == nil || answered && answer.Message != "" || errors.As(err, &known) || errors.As(err, &network) && network.Op == "dial" {
		return err
	}
	first := h.bytes()
	found := protocol(first)
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case h.exceeded.Load():
		return errTooMuch
	case found == d.Protocol && (answered || strings.Contains(err.Error(), "%!")): // pgx has no words for an unexpected message
		return &Error{"what answers there is not understood, as " + speakers[d.Protocol] + " would be", checkDSN}
	case found == d.Protocol:
		return err
	case len(first) > 0:
		return &Error{speakers[found] + " answers there, not " + speakers[d.Protocol], checkDSN}
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return hint.With(err, checkDSN)
	case first != nil:
		return &Error{"the connection is closed without an answer, which is not what " + speakers[d.Protocol] + " does", checkDSN}
	}
	return err
}
