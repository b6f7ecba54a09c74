// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"

	"assay.dev/assay/internal/hint"
)

// ConnectTimeout bounds connecting and the first response: a server of another
// protocol may accept the connection and wait for the client to speak.
const ConnectTimeout = 4 * time.Second

// DB is an open database.
type DB struct {
	*sql.DB
	Dialect *Dialect
	*Intake // limits what the connection receives
}

// NewDB connects lazily, and limits the pool to one connection.
func NewDB(db *sql.DB, d *Dialect, i *Intake) *DB {
	db.SetMaxOpenConns(1)
	return &DB{db, d, i}
}

// StoreOf returns what a driver has opened as a Store.
func StoreOf(db *DB, err error) (Store, error) {
	if err != nil {
		return nil, err
	}
	return db, nil
}

// Ping connects and waits for the server to respond.
func (db *DB) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, ConnectTimeout, fmt.Errorf("no answer within %s", ConnectTimeout))
	defer cancel()
	err := db.PingContext(ctx)
	var known *Error
	if err != nil && ctx.Err() != nil && !errors.As(err, &known) {
		return hint.With(context.Cause(ctx), hint.Of(err))
	}
	return db.Dialect.WithHint(err)
}

// WithHint attaches the next step to a connection error, unless it has one.
func (d *Dialect) WithHint(err error) error {
	if err == nil || d.Hint == nil {
		return err
	}
	return hint.Or(err, d.Hint(err))
}

// Bind replaces the question marks of a statement by the placeholders of the
// dialect.
func (d *Dialect) Bind(statement string) string {
	if !d.NumberedArguments {
		return statement
	}
	parts := strings.Split(statement, "?")
	var b strings.Builder
	for i, part := range parts {
		b.WriteString(part)
		if i < len(parts)-1 {
			b.WriteString("$" + strconv.Itoa(i+1))
		}
	}
	return b.String()
}

// DSN is a parsed data source name of any family.
type DSN struct {
	User, Password string
	Address        string   // host:port of the first server; empty: a local socket file
	Public         string   // the DSN without secrets, safe to print and record
	Extensions     []string // parameters that only Assay knows: a script cannot open such a DSN itself
}

// ErrNoDSN is returned for an empty DSN.
var ErrNoDSN = errors.New("read DSN: it is empty")

// awsRegion matches names of AWS regions, such as eu-west-1.
var awsRegion = regexp.MustCompile(`^[a-z]{2}(-[a-z]+)+-[0-9]$`)

// IsRegion reports whether a name has the form of an AWS region.
func IsRegion(name string) bool { return awsRegion.MatchString(name) }

// LagReader measures the lag of a replica or of another reader of the database.
// Its methods are called by one goroutine.
type LagReader interface {
	// Open connects; its error says why the lag cannot be read.
	Open(ctx context.Context) error
	// Lag is the current lag in ms.
	Lag(ctx context.Context) (float64, error)
	// Close disconnects, also after a failed Open.
	Close()
}

// Store is an open database of any family, as a run and its preflight use it. What a profile
// asks of it is text in the family's language, in which each ? stands for the id of the run.
// DB is the Store of the families that speak SQL.
type Store interface {
	io.Closer
	// Ping connects and waits for an answer, at most ConnectTimeout. Its error has a hint
	// where the cause is known.
	Ping(ctx context.Context) error
	// Is reports whether an error is the server's, of this condition.
	Is(err error, c Condition) bool
	// Facts reads what the preflight judges of the server.
	Facts(ctx context.Context) Facts
	// Rows visits the rows of a query, which returns identities and times, as they come, until
	// visit fails.
	Rows(ctx context.Context, query, run string, visit func(Row) error) error
	// Zones are by how much the time zones in which sessions of the server may write local times
	// are ahead of UTC now; none: it cannot be read.
	Zones(ctx context.Context) []time.Duration
	// Count is the number of rows of a query.
	Count(ctx context.Context, query, run string) (int64, error)
	// CountFew is Count, up to a number of rows, after which no more is read.
	CountFew(ctx context.Context, query, run string, most int64) (int64, error)
	// Number is the number in a query's only row; not ok if there is no row, or no number.
	Number(ctx context.Context, query, run string) (v float64, ok bool, err error)
	// Remove executes the statements that delete a run's rows, and returns the number of rows
	// affected, as far as it is known.
	Remove(ctx context.Context, statements []string, run string) (removed int64, err error)
	// Explain checks what Remove would execute, without executing it, and returns the largest
	// table that would be scanned, as far as that is known. It locks no row.
	Explain(ctx context.Context, statements []string, run string) (Scan, error)
	// Try checks one statement as Explain does, but for whether the server takes writes.
	Try(ctx context.Context, statement, run string) (Scan, error)
}

// Facts are what the preflight judges of a server.
type Facts struct {
	Version   string // as reported by the server, such as 10.11.19-MariaDB; empty: unknown
	Limit     int    // maximum number of connections; 0: unknown
	Connected int    // open connections, without the Store's
	Clock     Offset
}

// Offset is how far the database's clock is ahead of this host's.
type Offset struct {
	Known       bool
	Ahead       time.Duration
	Uncertainty time.Duration // half of the round-trip time
}

// Scan is a table of which a statement reads every row.
type Scan struct {
	Table string
	Rows  int64 // about so many; 0: no table is scanned, or a small one
}

// Dialect describes how to query the servers of one family through database/sql:
// data rather than behaviour where possible. Queries return one row, whose last
// column is the result.
type Dialect struct {
	Name     string   // display name, such as PostgreSQL
	Versions []string // tested version ranges, for display
	Supports func(version string) bool
	Example  string // DSN with a password
	Protocol *Protocol

	NumberedArguments bool     // $1, $2, ... instead of question marks
	Timestamps        []string // column types that hold an instant, as named by database/sql
	ToTimestamp       string   // an expression that makes one of a number of ms since 1970

	// The following fields are for preflight.

	// Connections is how many connections a run needs: the collector's, the ledger's and, on
	// servers that require it, one that ends a statement of the ledger's.
	Connections          int
	VersionQuery         string
	ConnectionLimitQuery string // connections available to ordinary users
	ConnectionsQuery     string // open connections of all users, including this one
	ClockQuery           string // the current time, to at least a millisecond
	ZonesQuery           string // by how many seconds time zones of sessions are ahead of UTC now, a row each
	RaiseConnectionLimit string // format of the administrator's command; takes the number as text
	Explainer            string // before a statement: it is checked, and not executed
	ReadOnlyQuery        string // whether a session takes no writes; empty: Explainer tells
	// Scanned is the table of which a step of an explained statement reads every row, by the
	// step's columns. nil: it is not known.
	Scanned func(step map[string]string) Scan

	// For cancelling a running statement, from another connection.
	SessionIDQuery string
	CancelFormat   string // takes the session id

	// For experiments.
	Variables    *Variables // nil: experiments cannot set variables of this family by name
	ChangeRights string     // what to grant to a user who lacks the right to apply a variant

	// ServerError extracts the server's error from an error of the driver; not ok if
	// the error does not come from the server.
	ServerError func(err error) (e ServerError, ok bool)
	// Lost are the driver's own errors of a connection that has ended.
	Lost []error
	// Hint returns the next step after a connection error, or "" if unknown. It may
	// be nil.
	Hint func(err error) string
}

// Variables describes how to read and set a server's global variables.
type Variables struct {
	ReadFormat  string // takes the name
	SetFormat   string // takes the name and a literal
	Quote       func(text string) string
	BinlogQuery string // 1 or ON if the server writes a binlog
}
