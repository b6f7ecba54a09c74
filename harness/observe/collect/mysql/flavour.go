package mysql

import (
	_ "embed"
	"slices"
	"strings"

	"assay/harness/observe/wait"
)

// flavour is what MySQL and MariaDB differ in, as data. All else is the same code.
// Aurora MySQL is MySQL here.
type flavour struct {
	name    wait.Server // in records and in package wait
	oldest  int         // major version of which waits can be read
	timeout string      // format: bounds each statement of a session; takes milliseconds
	// instruments that must be on, as LIKE patterns.
	instruments []string

	// sample returns the active sessions, with those that wait for a row lock; or,
	// where those cannot be told one by one, with their number alone.
	sample         string
	countsRowLocks bool   // sample tells their number
	sampleWithout  string // without row locks, where sample costs too much or may not be read
	blockers       string
	digestIsText   bool   // a running statement has no digest; sample returns its text
	unlabelled     string // beside the digests: the time in statements that have none; empty: none
	commitHasGaps  bool   // a commit passes through states that show nothing
	transactions   string // how many ended; empty: SHOW STATUS tells
	historyLength  string // undo that purge is behind with; empty: SHOW STATUS tells
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

// commonInstruments are those that both flavours have. The latches of InnoDB are
// left alone: they cost too much for a certifying run.
var commonInstruments = []string{
	"wait/io/file/sql/binlog", "wait/io/file/innodb/innodb_log_file", "wait/io/file/innodb/innodb_data_file",
	"wait/io/table/sql/handler", "wait/lock/table/sql/handler",
}

var mySQL = flavour{
	name: wait.MySQL, oldest: 8, timeout: "SET SESSION max_execution_time = %d",
	instruments: slices.Concat(commonInstruments, []string{
		"transaction", "wait/lock/metadata/sql/mdl", "wait/synch/cond/sql/MYSQL_BIN_LOG%", "wait/synch/mutex/sql/MYSQL_BIN_LOG%",
	}),
	sample: sampleMySQL, sampleWithout: sampleMySQLQuick, blockers: blockersMySQL,
	transactions:  "SELECT COUNT_STAR FROM performance_schema.events_transactions_summary_global_by_event_name WHERE EVENT_NAME = 'transaction'",
	historyLength: "SELECT COUNT FROM information_schema.INNODB_METRICS WHERE NAME = 'trx_rseg_history_len'", // needs PROCESS
}

var mariaDB = flavour{
	name: wait.MariaDB, timeout: "SET SESSION max_statement_time = %d / 1000",
	instruments: slices.Concat(commonInstruments, []string{
		// What a session that waits for a metadata lock sleeps on.
		// lock/metadata/sql/mdl, which is off here by default, shows the same waits,
		// but every statement pays for it: 0.7 of 26 us CPU a commit (one session,
		// nothing flushed), nine tenths of what all instruments cost.
		"wait/synch/cond/sql/MDL_context::COND_wait_status",
		"wait/synch/cond/sql/THD::COND_wakeup_ready", "wait/synch/mutex/sql/LOG::LOCK_log",
		// The other queues of a group commit: seen in 81 of 16,000 samples of
		// sessions, of 32. LOCK_prepare_ordered was in none, and every commit
		// takes it.
		"wait/synch/mutex/sql/LOCK_commit_ordered",
		"wait/synch/mutex/sql/LOCK_after_binlog_sync", "wait/synch/cond/sql/MYSQL_BIN_LOG::COND_queue_busy",
	}),
	sample: sampleMariaDB, countsRowLocks: true, sampleWithout: sampleMariaDB, blockers: blockersMariaDB,
	digestIsText: true,
	// Prepared statements have no digest. Their time, over all schemas, is found by
	// these instruments, whose names serve as digests.
	unlabelled: `SELECT NULL, SUBSTRING(EVENT_NAME, 11), COUNT_STAR, SUM_TIMER_WAIT, SUM_ROWS_EXAMINED
FROM performance_schema.events_statements_summary_global_by_event_name
WHERE EVENT_NAME IN ('statement/com/Execute', 'statement/com/Prepare')`,
	commitHasGaps: true,
}

// flavourOf tells the flavour by what the server says of its version.
func flavourOf(version string) *flavour {
	if strings.Contains(strings.ToLower(version), "mariadb") {
		return &mariaDB
	}
	return &mySQL
}

// IsMariaDB tells MariaDB by what the server says of its version.
func IsMariaDB(version string) bool { return flavourOf(version) == &mariaDB }
