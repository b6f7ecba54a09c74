// SPDX-License-Identifier: Apache-2.0

package database

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"regexp"
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

// Protocol is what the servers of a family speak, as their first bytes tell. One that is not
// among protocols is told from these by its own family alone.
type Protocol struct {
	Speaker string // who speaks it, with an article
	Speaks  func(first []byte) bool
}

// The protocols.
var (
	MySQLProtocol = &Protocol{"a MySQL or MariaDB server", func(first []byte) bool {
		// A packet's length in three bytes, its number, and the protocol's version with that of
		// the server, or an error with a number from 1024.
		return len(first) > 6 && first[3] == 0 && (first[4] == 10 && first[5] >= '0' && first[5] <= '9' || first[4] == 0xff && first[6] >= 4 && first[6] < 16)
	}}
	httpProtocol       = &Protocol{"an HTTP server", func(first []byte) bool { return bytes.HasPrefix(first, []byte("HTTP/")) }}
	PostgreSQLProtocol = &Protocol{"a PostgreSQL server", func(first []byte) bool {
		// The answer to a request for TLS, with what follows the consent; or TLS at once.
		if string(first) == "S" || string(first) == "N" {
			return true
		}
		if len(first) <= 6 {
			return false
		}
		return first[0] == 'S' && first[1] >= 20 && first[1] <= 23 && first[2] == 3 || first[0] == 22 && first[1] == 3 ||
			// A message on authentication, on the protocol's version, or of an error; the latter
			// before version 3 was text.
			bytes.IndexByte([]byte("RvE"), first[0]) >= 0 && binary.BigEndian.Uint32(first[1:]) < 1<<16
	}}
	otherProtocol = &Protocol{Speaker: "something else"}
)

// protocols are all that are known, those first that look like another one.
var protocols = []*Protocol{MySQLProtocol, httpProtocol, PostgreSQLProtocol}

// checkDSN is the next step if another server or none answers.
const checkDSN = "check host and port in the DSN, and its form: user:password@tcp(HOST:PORT)/DATABASE for MySQL and MariaDB, postgres://user:password@HOST:PORT/DATABASE for PostgreSQL"

// protocol is what the other side speaks: one of those, or the family's own.
func protocol(first []byte, own ...*Protocol) *Protocol {
	for _, p := range append(protocols[:len(protocols):len(protocols)], own...) {
		if p.Speaks(first) {
			return p
		}
	}
	return otherProtocol
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
	found := protocol(first, d.Protocol)
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case h.exceeded.Load():
		return errTooMuch
	case found == d.Protocol && (answered || strings.Contains(err.Error(), "%!")): // pgx has no words for an unexpected message
		return &Error{"what answers there is not understood, as " + d.Protocol.Speaker + " would be", checkDSN}
	case found == d.Protocol:
		return err
	case len(first) > 0:
		return &Error{found.Speaker + " answers there, not " + d.Protocol.Speaker, checkDSN}
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return hint.With(err, checkDSN)
	case first != nil:
		return &Error{"the connection is closed without an answer, which is not what " + d.Protocol.Speaker + " does", checkDSN}
	}
	return err
}

// ErrPooler is wrapped by the errors of Pooler.
var ErrPooler = errors.New("a connection pooler answers")

// poolerError is an Error that wraps ErrPooler.
type poolerError struct{ known *Error }

func (e poolerError) Error() string   { return e.known.Problem }
func (e poolerError) Unwrap() []error { return []error{ErrPooler, e.known} }

// Pooler is the error of a DSN at which a connection pooler answers: sign says how that is
// known, and product is empty if it is not known which one it is.
//
// Assay connects to servers only. A pooler gives one connection of the server to many
// clients in turn: settings that one leaves on it break another, and a prepared statement
// or a lock belongs to whoever comes next. One that keeps a connection for its client
// (session mode) would lend the run some of the few that the service needs, for as long as
// the run takes, and may send it to another server than the one that is measured. Which
// mode it is in cannot be seen from outside, and may change at any time.
func Pooler(product, sign string) error {
	if product != "" {
		product = " (" + product + ")"
	}
	return poolerError{&Error{
		Problem: "a connection pooler" + product + " answers there, not the server: " + sign,
		Remedy:  nameServer,
	}}
}

const nameServer = "name the server itself, its own host and port, in ASSAY_DB, --db and ASSAY_DB_NODES; the service may go on through the pooler"

// Unidentified is the error of who took the login, and did not tell which server it is. A
// pooler whose connections are all in use lets its clients wait then.
func Unidentified(err error) error {
	err = fmt.Errorf("identify the server: %w", err)
	if errors.Is(err, context.DeadlineExceeded) {
		return hint.With(err, "if the server itself answers there, see what keeps it busy; if a connection pooler does, "+nameServer)
	}
	return err
}

// ByItsName is the sign of a pooler that is known by its host name.
const ByItsName = "its host name is that of a proxy"

// rdsProxy matches the endpoints of RDS Proxy, such as
// shop.proxy-abcdefghijkl.eu-west-1.rds.amazonaws.com.
var rdsProxy = regexp.MustCompile(`(?i)\.proxy-[a-z0-9]+\.[a-z0-9-]+\.rds\.amazonaws\.com(\.cn)?\.?$`)

// CheckAddress refuses an address, host:port or a host, that is a pooler's by its name.
func CheckAddress(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	if rdsProxy.MatchString(host) {
		return Pooler("RDS Proxy", ByItsName)
	}
	return nil
}
