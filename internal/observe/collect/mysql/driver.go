package mysql

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	code "github.com/go-mysql-org/go-mysql/mysql"
	driver "github.com/go-sql-driver/mysql"

	"assay.dev/assay/internal/observe/collect/sampling"
	"assay.dev/assay/internal/observe/database"
)

// Driver is the driver for MySQL, MariaDB and Aurora MySQL. They share one form of DSN;
// the flavour is known once a server has answered.
type Driver struct{}

// Accepts reports true for any DSN: those of this family have no scheme.
func (Driver) Accepts(string) bool { return true }

// Open opens the database at the DSN, with sessions whose time zone is UTC. A statement that
// is given up is ended in the server.
func (Driver) Open(dsn string) (*database.DB, error) {
	c, err := ownConfig(dsn)
	if err != nil {
		return nil, err
	}
	c.ParseTime, c.Loc, c.Timeout = true, time.UTC, database.ConnectTimeout
	if _, err := driver.NewConnector(c); err != nil {
		return nil, unreadable(err)
	}
	intake := &database.Intake{}
	return database.NewDB(sql.OpenDB(killer{connector{c, intake}}), &dialect, intake), nil
}

// Collector returns a collector for the server at the DSN. It does not connect.
func (Driver) Collector(dsn string) sampling.Collector { return New(dsn) }

// Dialect describes the SQL of this family.
func (Driver) Dialect() *database.Dialect { return &dialect }

var dialect = database.Dialect{
	Name:     "MySQL",
	Versions: []string{"MySQL 8 or 9", "MariaDB 10.6 or later"},
	Supports: supports,
	Example:  "user:password@tcp(127.0.0.1:3306)/shop",
	Protocol: database.MySQLProtocol,

	Timestamps: []string{"DATETIME", "TIMESTAMP"},

	Connections:          3,
	VersionQuery:         "SELECT VERSION()",
	ConnectionLimitQuery: "SHOW GLOBAL VARIABLES LIKE 'max_connections'",
	ConnectionsQuery:     "SHOW GLOBAL STATUS LIKE 'Threads_connected'",
	ClockQuery:           "SELECT UTC_TIMESTAMP(6)",
	RaiseConnectionLimit: "SET GLOBAL max_connections = %s",
	Explainer:            "EXPLAIN FORMAT=TRADITIONAL",

	SessionIDQuery: "SELECT CONNECTION_ID()",
	CancelFormat:   "KILL QUERY %d",

	Variables: &database.Variables{
		ReadFormat:  "SELECT @@GLOBAL.%s",
		SetFormat:   "SET GLOBAL %s = %s",
		Quote:       func(text string) string { return quote(strings.ReplaceAll(text, `\`, `\\`)) },
		BinlogQuery: "SELECT @@GLOBAL.log_bin",
	},
	ChangeRights: "GRANT SYSTEM_VARIABLES_ADMIN, REPLICATION SLAVE, REPLICATION CLIENT ON *.* (MariaDB: SUPER, REPLICATION SLAVE, BINLOG MONITOR)",

	ServerError: serverError,
	Lost:        []error{driver.ErrInvalidConn},
	Hint:        connectHint,
}

// supports reports whether a version is in the range that is tested.
func supports(version string) bool {
	var major, minor int
	if _, err := fmt.Sscanf(version, "%d.%d", &major, &minor); err != nil {
		return false
	}
	if flavourOf(version) == &mariaDB {
		return major > 10 || major == 10 && minor >= 6
	}
	return major == 8 || major == 9
}

// conditions maps the servers' error numbers.
var conditions = map[uint16]database.Condition{
	code.ER_CON_COUNT_ERROR:                 database.TooManyConnections,
	code.ER_TOO_MANY_USER_CONNECTIONS:       database.TooManyConnections,
	code.ER_USER_LIMIT_REACHED:              database.TooManyConnections,
	code.ER_MAX_PREPARED_STMT_COUNT_REACHED: database.TooManyPrepared,
	code.ER_LOCK_DEADLOCK:                   database.Deadlock,
	code.ER_DBACCESS_DENIED_ERROR:           database.Denied,
	code.ER_ACCESS_DENIED_ERROR:             database.Denied,
	code.ER_TABLEACCESS_DENIED_ERROR:        database.Denied,
	code.ER_COLUMNACCESS_DENIED_ERROR:       database.Denied,
	code.ER_SPECIFIC_ACCESS_DENIED_ERROR:    database.Denied,

	code.ER_LOCK_WAIT_TIMEOUT: database.LockTimeout,
	code.ER_DUP_ENTRY:         database.Duplicate,
	errRolledBack:             database.CertificationFailure,
	code.ER_UNKNOWN_COM_ERROR: database.NotPrimary, // "WSREP has not yet prepared node for application use"
	errReadOnly:               database.ReadOnly,
	code.ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION: database.ReadOnly,
	errStatementTime:          database.Timeout,
	errStatementTimeMariaDB:   database.Timeout,
	code.ER_QUERY_INTERRUPTED: database.Canceled,
	code.ER_SERVER_SHUTDOWN:   database.Shutdown,
	errKilled:                 database.Killed,
	errKilledMariaDB:          database.Killed,
	errIdle:                   database.Killed,
	code.ER_PARSE_ERROR:       database.Unexplained,
	code.ER_VIEW_NO_EXPLAIN:   database.Unexplained,
}

// conditionOf is the condition of an error. ER_OPTION_PREVENTS_STATEMENT is about any
// option of the server, of which only read_only and super_read_only are conditions.
func conditionOf(e *driver.MySQLError) database.Condition {
	if e.Number == code.ER_OPTION_PREVENTS_STATEMENT && strings.Contains(strings.ReplaceAll(e.Message, "_", "-"), "read-only") {
		return database.ReadOnly
	}
	return conditions[e.Number]
}

func serverError(err error) (database.ServerError, bool) {
	var e *driver.MySQLError
	if !errors.As(err, &e) {
		return database.ServerError{}, false
	}
	state := ""
	if e.SQLState != [5]byte{} {
		state = string(e.SQLState[:])
	}
	return database.ServerError{Message: e.Message, Code: strconv.Itoa(int(e.Number)), State: state, Condition: conditionOf(e)}, true
}

// Error numbers that go-mysql has no name for.
const (
	errKilledMariaDB = 1927 // ER_CONNECTION_KILLED
	errIdle          = 4031 // ER_CLIENT_INTERACTION_TIMEOUT: disconnected because of inactivity

	errReadOnly             = 1836 // ER_READ_ONLY_MODE
	errStatementTimeMariaDB = 1969 // ER_STATEMENT_TIMEOUT: max_statement_time
	errStatementTime        = 3024 // ER_QUERY_TIMEOUT: max_execution_time
	errRolledBack           = 3101 // ER_TRANSACTION_ROLLBACK_DURING_COMMIT, by Group Replication
	errKilled               = 3169 // ER_SESSION_WAS_KILLED
)

// is reports whether the server answered with one of these error numbers.
func is(err error, numbers ...uint16) bool {
	var e *driver.MySQLError
	return errors.As(err, &e) && slices.Contains(numbers, e.Number)
}

// denied reports whether the user lacks a privilege that the collector needs.
// ER_WRONG_PERFSCHEMA_USAGE means rows and tables that nobody may change.
func denied(err error) bool {
	return dialect.Is(err, database.Denied) || is(err, code.ER_WRONG_PERFSCHEMA_USAGE)
}
