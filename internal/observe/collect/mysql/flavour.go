package mysql

import (
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strings"

	"assay.dev/assay/internal/observe/wait"
)

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
		fmt.Sprintf("SET SESSION max_execution_time = %d", statementTimeout.Milliseconds()),
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
		fmt.Sprintf("SET SESSION max_statement_time = %g, slow_query_log = OFF", statementTimeout.Seconds()),
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
