package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"assay/harness/observe/collect/sampling"
	"assay/harness/observe/database"
)

// Driver is that of PostgreSQL.
type Driver struct{}

// Accepts takes DSNs of libpq's two schemes.
func (Driver) Accepts(dsn string) bool {
	return strings.HasPrefix(dsn, "postgres://") || strings.HasPrefix(dsn, "postgresql://")
}

// Open opens the database at the DSN, in a session whose times are UTC.
func (Driver) Open(dsn string) (*database.DB, error) {
	_, c, err := parse(dsn)
	if err != nil {
		return nil, err
	}
	c.ConnectTimeout = database.ConnectTimeout
	c.RuntimeParams["application_name"] = "assay"
	c.RuntimeParams["timezone"] = "UTC"
	// The types of arguments are the server's to tell, and nothing is left
	// prepared in a session that a pooler gives to others.
	c.DefaultQueryExecMode = pgx.QueryExecModeDescribeExec
	return database.NewDB(stdlib.OpenDB(*c), &dialect), nil
}

// Collector samples the server at the DSN. It changes nothing there, and needs no
// journal.
func (Driver) Collector(dsn, _ string) sampling.Collector { return New(dsn) }

// Examine looks whether the waits can be read.
func (Driver) Examine(ctx context.Context, dsn string) (sampling.Examination, error) {
	return Examine(ctx, dsn)
}

// Dialect is how the servers are asked.
func (Driver) Dialect() *database.Dialect { return &dialect }

var dialect = database.Dialect{
	Name:     "PostgreSQL",
	Versions: []string{fmt.Sprintf("PostgreSQL %d or later", oldest)},
	Supports: supports,
	Example:  "postgres://user:password@127.0.0.1:5432/shop",

	NumberedArguments: true,
	Timestamps:        []string{"TIMESTAMPTZ", "TIMESTAMP"},

	VersionQuery:         "SHOW server_version",
	ConnectionLimitQuery: "SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int",
	ConnectionsQuery:     "SELECT sum(numbackends) FROM pg_stat_database",
	ClockQuery:           "SELECT clock_timestamp()",
	RaiseConnectionLimit: "ALTER SYSTEM SET max_connections = %s; and restart it",

	SessionIDQuery: "SELECT pg_backend_pid()",
	CancelFormat:   "SELECT pg_cancel_backend(%d)",
	ChangeRights:   "see the manual of the statement",

	ServerError: serverError,
}

func supports(version string) bool {
	var major int
	_, err := fmt.Sscanf(version, "%d.", &major)
	return err == nil && major >= oldest
}

// Conditions of the server that are acted on (PostgreSQL manual, appendix A).
const (
	errTooMany    = "53300" // too_many_connections
	errDeadlock   = "40P01" // deadlock_detected
	errDenied     = "42501" // insufficient_privilege
	errNotLoaded  = "55000" // object_not_in_prerequisite_state: the extension's library is not loaded any more
	errNoFunction = "42883" // undefined_function: the extension was dropped
	errNoSchema   = "3F000" // invalid_schema_name: likewise, with its schema
)

var conditions = map[string]database.Condition{
	errTooMany: database.TooManyConnections, errDeadlock: database.Deadlock, errDenied: database.Denied,
}

func serverError(err error) (database.ServerError, bool) {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return database.ServerError{}, false
	}
	return database.ServerError{Message: e.Message, Condition: conditions[e.Code]}, true
}

// is reports whether the server answered with one of these conditions.
func is(err error, codes ...string) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && slices.Contains(codes, e.Code)
}
