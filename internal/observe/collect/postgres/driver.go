package postgres

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"assay.dev/assay/internal/observe/collect/sampling"
	"assay.dev/assay/internal/observe/database"
)

// Driver is the driver for PostgreSQL.
type Driver struct{}

// Accepts reports whether a DSN has one of libpq's two schemes.
func (Driver) Accepts(dsn string) bool {
	return strings.HasPrefix(dsn, "postgres://") || strings.HasPrefix(dsn, "postgresql://")
}

// Open opens the database at the DSN, with sessions whose time zone is UTC.
func (Driver) Open(dsn string) (*database.DB, error) {
	c, err := config(dsn)
	if err != nil {
		return nil, err
	}
	intake := &database.Intake{}
	return database.NewDB(sql.OpenDB(connector{c, intake, ownName}), &dialect, intake), nil
}

// ownName is the name of sessions, after which those of runs have one of their own.
const ownName = "assay"

// meaning has the settings that change what a statement means, whether it is executed in
// full, or how much of it any user's session logs: the defaults of the server, the database
// and the role are made for the service. Its search_path is that of the ledger's tables.
var meaning = map[string]string{
	"default_transaction_read_only": "off", "default_transaction_isolation": "read committed",
	"statement_timeout": "0", "lock_timeout": "0", "gin_fuzzy_search_limit": "0",
	"client_encoding": "UTF8", "standard_conforming_strings": "on", "transform_null_equals": "off", "datestyle": "ISO",
	"debug_print_parse": "off", "debug_print_rewritten": "off", "debug_print_plan": "off",
}

func config(dsn string) (*pgx.ConnConfig, error) {
	_, c, err := parse(dsn)
	if err != nil {
		return nil, err
	}
	c.ConnectTimeout = database.ConnectTimeout
	for name, value := range meaning {
		if !names(c.RuntimeParams, name) {
			c.RuntimeParams[name] = value
		}
	}
	c.RuntimeParams["timezone"] = "UTC"
	// The server determines the types of arguments, and no session is left with a prepared
	// statement.
	c.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	return c, nil
}

// Collector returns a collector for the server at the DSN. It does not connect.
func (Driver) Collector(dsn string) sampling.Collector { return New(dsn) }

// Dialect describes the SQL of PostgreSQL.
func (Driver) Dialect() *database.Dialect { return &dialect }

var dialect = database.Dialect{
	Name:     "PostgreSQL",
	Versions: []string{fmt.Sprintf("PostgreSQL %d or later", oldest)},
	Supports: supports,
	Example:  "postgres://user:password@127.0.0.1:5432/shop",
	Protocol: database.PostgreSQLProtocol,

	NumberedArguments: true,
	Timestamps:        []string{"TIMESTAMPTZ", "TIMESTAMP"},

	Connections:          2,
	VersionQuery:         "SHOW server_version",
	ConnectionLimitQuery: "SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int",
	ConnectionsQuery:     "SELECT sum(numbackends) FROM pg_stat_database",
	ClockQuery:           "SELECT clock_timestamp()",
	RaiseConnectionLimit: "ALTER SYSTEM SET max_connections = %s; and restart it",
	Explainer:            "EXPLAIN",
	ReadOnlyQuery:        "SELECT current_setting('transaction_read_only')::boolean",

	SessionIDQuery: "SELECT pg_backend_pid()",
	CancelFormat:   "SELECT pg_cancel_backend(%d)",
	ChangeRights:   "see the manual of the statement",

	ServerError: serverError,
	Hint:        connectHint,
}

// connectHint returns the next step after a failed connection; empty: none.
func connectHint(err error) string {
	if e, _ := serverError(err); e.Condition == database.TooManyConnections && strings.HasPrefix(e.Message, "too many connections for ") {
		return "a run needs two connections of its own: raise the limit of the role or the database: ALTER ROLE ... CONNECTION LIMIT -1, or ALTER DATABASE ... CONNECTION LIMIT -1"
	}
	return ""
}

func supports(version string) bool {
	var major int
	_, err := fmt.Sscanf(version, "%d.", &major)
	return err == nil && major >= oldest
}

// Error codes that are handled (PostgreSQL manual, appendix A).
const (
	errTooMany    = "53300" // too_many_connections
	errDeadlock   = "40P01" // deadlock_detected
	errDenied     = "42501" // insufficient_privilege
	errNotLoaded  = "55000" // object_not_in_prerequisite_state: the extension's library is no longer loaded
	errNoFunction = "42883" // undefined_function: the extension was dropped
	errNoSchema   = "3F000" // invalid_schema_name: the extension was dropped with its schema
)

var conditions = map[string]database.Condition{
	errTooMany: database.TooManyConnections, errDeadlock: database.Deadlock, errDenied: database.Denied,
	"55P03": database.LockTimeout,   // lock_not_available
	"23505": database.Duplicate,     // unique_violation
	"40001": database.Serialization, // serialization_failure
	"25006": database.ReadOnly,      // read_only_sql_transaction
	"57014": database.Timeout,       // query_canceled, also by statement_timeout
	"57P01": database.Shutdown,      // admin_shutdown
	"57P02": database.Shutdown,      // crash_shutdown
	"57P03": database.Shutdown,      // cannot_connect_now
	"42601": database.Unexplained,   // syntax_error
}

func serverError(err error) (database.ServerError, bool) {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return database.ServerError{}, false
	}
	return database.ServerError{Message: e.Message, Code: e.Code, State: e.Code, Condition: conditions[e.Code]}, true
}

// is reports whether the server returned one of these error codes.
func is(err error, codes ...string) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && slices.Contains(codes, e.Code)
}
