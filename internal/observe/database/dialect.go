// SPDX-License-Identifier: Apache-2.0

package database

// Dialect describes how to query the servers of one family through database/sql:
// data rather than behaviour where possible. Queries return one row, whose last
// column is the result.
type Dialect struct {
	Name     string   // display name, such as PostgreSQL
	Versions []string // tested version ranges, for display
	Supports func(version string) bool
	Example  string // DSN with a password
	Protocol Protocol

	NumberedArguments bool     // $1, $2, ... instead of question marks
	Timestamps        []string // column types that hold an instant, as named by database/sql

	// For preflight.
	Connections          int // of a run: the collector's, the ledger's, and, where it needs one, that which ends a statement of the latter
	VersionQuery         string
	ConnectionLimitQuery string // connections available to ordinary users
	ConnectionsQuery     string // open connections of all users, including this one
	ClockQuery           string // the current time, to at least a millisecond
	RaiseConnectionLimit string // format of the administrator's command; takes the number as text
	Explainer            string // before a statement: it is checked, and not executed
	ReadOnlyQuery        string // whether a session takes no writes; empty: Explainer tells

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
