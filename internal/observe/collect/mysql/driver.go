package mysql

import (
	"cmp"
	"database/sql"
	dbdriver "database/sql/driver"
	_ "embed"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	code "github.com/go-mysql-org/go-mysql/mysql"
	driver "github.com/go-sql-driver/mysql"

	"assay.dev/assay/internal/observe/collect/sampling"
	"assay.dev/assay/internal/observe/database"
	"assay.dev/assay/internal/observe/wait"
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

// Store is Open, for any family.
func (d Driver) Store(dsn string) (database.Store, error) { return database.StoreOf(d.Open(dsn)) }

// Connector returns a connector for scripts. The driver interpolates arguments, so that a
// statement takes one round trip.
func (Driver) Connector(dsn, schema string, dial database.DialFunc) (dbdriver.Connector, error) {
	c, err := Config(dsn)
	if err != nil {
		return nil, err
	}
	c.DialFunc, c.InterpolateParams, c.DBName = dial, true, cmp.Or(schema, c.DBName)
	return driver.NewConnector(c)
}

func (Driver) Collector(dsn string) sampling.Collector { return New(dsn) }

// Dialect describes the SQL of this family.
func (Driver) Dialect() *database.Dialect { return &dialect }

var dialect = database.Dialect{
	Name:     "MySQL",
	Versions: []string{"MySQL 8 or 9", "MariaDB 10.6 or later"},
	Supports: supports,
	Example:  "user:password@tcp(127.0.0.1:3306)/shop",
	Protocol: database.MySQLProtocol,

	Timestamps:  []string{"DATETIME", "TIMESTAMP"},
	ToTimestamp: "FROM_UNIXTIME(ms / 1000)",

	Connections:          3,
	VersionQuery:         "SELECT VERSION()",
	ConnectionLimitQuery: "SHOW GLOBAL VARIABLES LIKE 'max_connections'",
	ConnectionsQuery:     "SHOW GLOBAL STATUS LIKE 'Threads_connected'",
	ClockQuery:           "SELECT UTC_TIMESTAMP(6)",
	// The zone of a session is the server's, unless the session sets it.
	ZonesQuery: `SELECT TIMESTAMPDIFF(SECOND, u.now, CONVERT_TZ(u.now, '+00:00', z.zone)) FROM (SELECT UTC_TIMESTAMP() AS now) u,
(SELECT @@GLOBAL.time_zone AS zone UNION SELECT 'SYSTEM') z`,
	RaiseConnectionLimit: "SET GLOBAL max_connections = %s",
	Explainer:            "EXPLAIN FORMAT=TRADITIONAL",
	Scanned: func(step map[string]string) (s database.Scan) {
		if step["type"] == "ALL" || step["type"] == "index" {
			s.Table = step["table"]
			s.Rows, _ = strconv.ParseInt(step["rows"], 10, 64) // 0: a step without a table
		}
		return s
	},

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

func serverError(err error) (database.ServerError, bool) {
	var e *driver.MySQLError
	if !errors.As(err, &e) {
		return database.ServerError{}, false
	}
	found := database.ServerError{Message: e.Message, Code: strconv.Itoa(int(e.Number)), Condition: conditions[e.Number]}
	if e.SQLState != [5]byte{} {
		found.State = string(e.SQLState[:])
	}
	// This is about any option of the server, of which read_only and super_read_only alone are
	// conditions.
	if e.Number == code.ER_OPTION_PREVENTS_STATEMENT && strings.Contains(strings.ReplaceAll(e.Message, "_", "-"), "read-only") {
		found.Condition = database.ReadOnly
	}
	return found, true
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

// flavour holds the differences between MySQL and MariaDB. Aurora MySQL counts as
// MySQL.
type flavour struct {
	name      wait.Server // in records and in package wait
	oldest    int         // first major version whose waits can be read
	identity  string      // expression that tells servers apart
	session   []string    // statements that set up a session, each of which may be refused
	setups    []setup     // what must be on
	change    string      // in front of a statement that changes them, to give it time
	logRights string      // what keeps a session's statements out of the general log

	// sample returns the active sessions and whether each waits for a row lock, or,
	// if countsRowLocks, only how many do.
	sample         string
	countsRowLocks bool
	sampleWithout  string // without row locks, where reading them costs too much or is denied
	blockers       string
	digestIsText   bool   // running statements have no digest; sample returns their text
	unlabelled     string // query for the time in statements without a digest; empty: all have one
	commitHasGaps  bool   // during parts of a commit a session shows neither wait nor state
	transactions   string // query for the number of ended transactions; empty: in SHOW STATUS
	innodbMetrics  string // query for further variables by name; empty: all are in SHOW STATUS
}

//go:embed sql/sample_mysql.sql
var sampleMySQL string

//go:embed sql/sample_mysql_quick.sql
var sampleMySQLQuick string

//go:embed sql/sample_mariadb.sql
var sampleMariaDB string

//go:embed sql/blockers_mysql.sql
var blockersMySQL string

//go:embed sql/blockers_mariadb.sql
var blockersMariaDB string

// commonInstruments exist in both flavours. InnoDB's latches are not among them: they
// cost too much for a certifying run.
var commonInstruments = []string{
	"wait/io/file/sql/binlog", "wait/io/file/innodb/innodb_log_file", "wait/io/file/innodb/innodb_data_file",
	"wait/io/table/sql/handler", "wait/lock/table/sql/handler",
}

const (
	noGeneralLog = "SET SESSION sql_log_off = ON"
	// manyRows is more rows than any of the collector's statements examines.
	manyRows = math.MaxUint32
)

var mySQL = flavour{
	name: wait.MySQL, oldest: 8, identity: "CONCAT(@@hostname, ':', @@port, ', server_uuid ', @@server_uuid)",
	session: []string{
		fmt.Sprintf("SET SESSION max_execution_time = %d", sampling.StatementTimeout.Milliseconds()),
		// Statements that use no index are logged, however fast, unless they examine fewer
		// rows. This and the next one need SESSION_VARIABLES_ADMIN.
		fmt.Sprintf("SET SESSION min_examined_row_limit = %d", manyRows), noGeneralLog,
	},
	setups: []setup{consumers, instruments(slices.Concat(commonInstruments, []string{
		"transaction", "wait/lock/metadata/sql/mdl", "wait/synch/cond/sql/MYSQL_BIN_LOG%", "wait/synch/mutex/sql/MYSQL_BIN_LOG%",
	}))},
	logRights: "SESSION_VARIABLES_ADMIN, CONNECTION_ADMIN",
	sample:    sampleMySQL, sampleWithout: sampleMySQLQuick, blockers: blockersMySQL,
	transactions: "SELECT COUNT_STAR FROM performance_schema.events_transactions_summary_global_by_event_name WHERE EVENT_NAME = 'transaction'",
	// Needs PROCESS. A metric that is not enabled counts nothing.
	innodbMetrics: `SELECT CASE NAME WHEN 'lock_deadlocks' THEN '` + deadlocks + `' ELSE '` + historyLength + `' END, COUNT
FROM information_schema.INNODB_METRICS WHERE NAME IN ('lock_deadlocks', 'trx_rseg_history_len') AND STATUS = 'enabled'`,
}

var mariaDB = flavour{
	name: wait.MariaDB, identity: "CONCAT(@@hostname, ':', @@port, ', server_id ', @@server_id)",
	session: []string{
		fmt.Sprintf("SET SESSION max_statement_time = %g, slow_query_log = OFF", sampling.StatementTimeout.Seconds()),
		noGeneralLog,
	},
	change: fmt.Sprintf("SET STATEMENT max_statement_time = %g FOR ", changeTimeout.Seconds()),
	setups: []setup{consumers, instruments(slices.Concat(commonInstruments, []string{
		// The condition variable of sessions that wait for a metadata lock.
		// lock/metadata/sql/mdl, off by default here, shows the same waits but costs
		// every statement: 0.7 of 26 us CPU per commit (one session, nothing flushed),
		// nine tenths of the cost of all instruments.
		"wait/synch/cond/sql/MDL_context::COND_wait_status",
		"wait/synch/cond/sql/THD::COND_wakeup_ready", "wait/synch/mutex/sql/LOG::LOCK_log",
		// The other queues of a group commit, seen in 81 of 16,000 session samples with
		// 32 sessions. LOCK_prepare_ordered, which every commit takes, was seen in none.
		"wait/synch/mutex/sql/LOCK_commit_ordered",
		"wait/synch/mutex/sql/LOCK_after_binlog_sync", "wait/synch/cond/sql/MYSQL_BIN_LOG::COND_queue_busy",
	}))},
	logRights: "SUPER",
	sample:    sampleMariaDB, countsRowLocks: true, sampleWithout: sampleMariaDB, blockers: blockersMariaDB,
	digestIsText: true,
	// Prepared statements have no digest. These instruments give their time over all
	// schemas; the instruments' names serve as digests.
	unlabelled: `SELECT NULL, SUBSTRING(EVENT_NAME, 11), COUNT_STAR, SUM_TIMER_WAIT, SUM_ROWS_EXAMINED
FROM performance_schema.events_statements_summary_global_by_event_name
WHERE EVENT_NAME IN ('statement/com/Execute', 'statement/com/Prepare')`,
	commitHasGaps: true,
}

// flavourOf derives the flavour from the result of SELECT VERSION().
func flavourOf(version string) *flavour {
	if strings.Contains(strings.ToLower(version), "mariadb") {
		return &mariaDB
	}
	return &mySQL
}

// IsMariaDB reports whether the result of SELECT VERSION() is MariaDB's.
func IsMariaDB(version string) bool { return flavourOf(version) == &mariaDB }
