// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"

	"assay.dev/assay/internal/hint"
)

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
