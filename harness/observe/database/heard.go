package database

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"strings"
	"sync"
	"syscall"

	"assay/harness/hint"
)

// maxHeard is enough for a greeting of any family.
const maxHeard = 256

// Heard keeps the first bytes that the other side of a connection sends. They tell who
// answers there, whatever the driver makes of them.
type Heard struct {
	mu    sync.Mutex
	first []byte // nil: never connected
}

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
	if n > 0 {
		c.heard.add(b[:n], !c.began)
		c.began = true
	}
	return n, err
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
