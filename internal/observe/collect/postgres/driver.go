package postgres

import (
	"cmp"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

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

// Store is Open, for any family.
func (d Driver) Store(dsn string) (database.Store, error) { return database.StoreOf(d.Open(dsn)) }

// execMode is the parameter of a DSN that says how statements are executed. Without it a
// statement takes one round trip, as a prepared one does, and leaves none prepared in the
// session: a script may go through a pooler, which would pass it on to other clients.
const execMode = "default_query_exec_mode"

func (Driver) Connector(dsn, schema string, dial database.DialFunc) (driver.Connector, error) {
	c, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	c.Database, c.DialFunc = cmp.Or(schema, c.Database), dial
	if !strings.Contains(dsn, execMode) {
		c.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
	return stdlib.GetConnector(*c), nil
}

// Replica is nil: lags are not read.
func (Driver) Replica(string, string) database.LagReader { return nil }

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
	delete(c.RuntimeParams, "timezone") // settle sets it
	// The server determines the types of arguments, and no session is left with a prepared
	// statement.
	c.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	return c, nil
}

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
	ToTimestamp:       "to_timestamp(ms / 1000.0)",

	Connections:          2,
	VersionQuery:         "SHOW server_version",
	ConnectionLimitQuery: "SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int",
	ConnectionsQuery:     "SELECT sum(numbackends) FROM pg_stat_database",
	ClockQuery:           "SELECT clock_timestamp()",
	// The zone of a session is that of its role or database, else the server's.
	ZonesQuery: `SELECT DISTINCT extract(epoch FROM now() AT TIME ZONE zone - now() AT TIME ZONE 'UTC') FROM (
SELECT reset_val AS zone FROM pg_settings WHERE name = 'TimeZone'
UNION SELECT split_part(c, '=', 2) FROM pg_db_role_setting, unnest(setconfig) c WHERE c ILIKE 'timezone=%') z`,
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

// parse reads a DSN as the driver does, in libpq's form: sslmode and the certificate files
// are parameters, whose defaults are PGSSLMODE and the other PG environment variables.
func parse(dsn string) (*url.URL, *pgx.ConnConfig, error) {
	// The errors of the parsers could contain a part of the password.
	u, err := url.Parse(dsn)
	if err != nil {
		return nil, nil, errors.New("read DSN: not a URL; percent-encode special characters in the password (%XX)")
	}
	c, err := pgx.ParseConfig(dsn)
	if err != nil {
		why := errors.Unwrap(err)
		if why == nil {
			why = errors.New("invalid value of a parameter")
		}
		return nil, nil, fmt.Errorf("read DSN: %w", why)
	}
	given := c.RuntimeParams
	c.RuntimeParams = map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(given)) { // TimeZone is timezone
		c.RuntimeParams[strings.ToLower(name)] = given[name]
	}
	delete(c.RuntimeParams, "application_name") // settle sets it
	return u, c, nil
}

// option matches a setting in the parameter `options`: -c name=value, or --name=value.
var option = regexp.MustCompile(`(?:^|\s)(?:-c\s*|--)([\w.-]+)\s*=`)

// names reports whether the parameters of a DSN have a setting, by itself or among the
// options, which a server applies first.
func names(parameters map[string]string, setting string) bool {
	_, named := parameters[setting]
	for _, o := range option.FindAllStringSubmatch(parameters["options"], -1) {
		named = named || strings.EqualFold(strings.ReplaceAll(o[1], "-", "_"), setting)
	}
	return named
}

// secrets are the parameters that are neither printed nor recorded.
var secrets = []string{"password", "sslpassword", "passfile"}

// Parse reads a DSN and the files that it names.
func (Driver) Parse(dsn string) (database.DSN, error) {
	u, c, err := parse(dsn)
	if err != nil {
		return database.DSN{}, err
	}
	q := u.Query()
	d := database.DSN{User: u.User.Username(), Password: q.Get("password")}
	if named := q.Get("user"); named != "" {
		d.User = named
	}
	if given, set := u.User.Password(); set {
		d.Password = given
	}
	if !strings.HasPrefix(c.Host, "/") {
		d.Address = net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port)))
	}
	if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	for _, name := range secrets {
		q.Del(name)
	}
	u.RawQuery = q.Encode()
	d.Public = u.String()
	return d, nil
}

// WithPassword returns the DSN with this password, or unchanged if it is invalid.
func (Driver) WithPassword(dsn, password string) string {
	u, err := url.Parse(dsn)
	if err != nil {
		return dsn
	}
	if u.User != nil && u.User.Username() != "" {
		u.User = url.UserPassword(u.User.Username(), password)
		return u.String()
	}
	q := u.Query()
	q.Set("password", password)
	u.RawQuery = q.Encode()
	return u.String()
}
