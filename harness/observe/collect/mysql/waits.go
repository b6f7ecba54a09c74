package mysql

// Classes of waits.
const (
	classCommit     = "commit"
	classBinlog     = "binlog"
	classRowLock    = "row lock"
	classMetadata   = "metadata lock"
	classTableLock  = "table lock"
	classBufferPool = "buffer pool"
	classLatch      = "latch"
	classStorm      = "connection storm"
	classNetwork    = "network"
	classCPU        = "CPU"
	classEngine     = "engine"
	classOther      = "other"
)

// servers says to which flavour a row applies.
type servers uint8

const (
	both servers = iota
	onlyMySQL
	onlyMariaDB
)

// wait is a row of the table of events. The pattern is a name without the
// prefix wait/; a star at its end stands for any rest. The first row that fits
// counts.
type wait struct {
	pattern string
	class   string
	servers servers
}

// waits is section 4 of the table of wait events, in its order. Rows of Aurora
// are from its published reference, the others were seen on MySQL 9.7.4 and
// MariaDB 10.11.
var waits = []wait{
	{"io/aurora_redo_log_flush", classCommit, onlyMySQL}, // Aurora 2
	{"io/redo_log_flush", classCommit, onlyMySQL},        // Aurora 3
	{"io/file/innodb/innodb_log_file", classCommit, both},

	{"synch/cond/sql/MYSQL_BIN_LOG::*", classBinlog, both},
	{"synch/mutex/sql/MYSQL_BIN_LOG::*", classBinlog, both},
	{"io/file/sql/binlog*", classBinlog, both},
	{"synch/cond/sql/THD::COND_wakeup_ready", classBinlog, onlyMariaDB},
	// In MySQL the same name is the lock of the general and the slow log.
	{"synch/mutex/sql/LOG::LOCK_log", classBinlog, onlyMariaDB},
	{"synch/mutex/sql/LOCK_prepare_ordered", classBinlog, onlyMariaDB},
	{"synch/mutex/sql/LOCK_commit_ordered", classBinlog, onlyMariaDB},
	{"synch/mutex/sql/LOCK_after_binlog_sync", classBinlog, onlyMariaDB},

	{"synch/cond/innodb/row_lock_wait", classRowLock, both},
	{"synch/cond/innodb/row_lock_wait_cond", classRowLock, both},
	{"synch/mutex/innodb/aurora_lock_thread_slot_futex", classRowLock, onlyMySQL}, // Aurora

	// With a row lock: see Classify.
	{handlerEvent, classEngine, both},

	{"lock/metadata/sql/mdl", classMetadata, both},
	{"synch/cond/sql/MDL_context::COND_wait_status", classMetadata, both},
	{"lock/table/sql/handler", classTableLock, both},

	{"io/file/innodb/innodb_data_file", classBufferPool, both},
	{"synch/sxlock/innodb/hash_table_locks", classBufferPool, both},
	{"synch/mutex/innodb/buf_pool_mutex", classBufferPool, both},

	{"synch/sxlock/innodb/index_tree_rw_lock", classLatch, both},
	{"synch/mutex/innodb/trx_sys_mutex", classLatch, both},
	{"synch/sxlock/innodb/dict_sys_lock", classLatch, both},
	{"synch/mutex/sql/LOCK_table_cache", classLatch, both},

	{"io/socket/sql/client_connection", classStorm, both},
	{"io/aurora_respond_to_client", classNetwork, onlyMySQL}, // Aurora
	{"cpu", classCPU, both},                                  // Performance Insights
}

// state is a row of the table of session states, which decide where no wait
// event shows. The pattern is as in wait; upper and lower case are the same.
type state struct {
	pattern string
	class   string
	servers servers
}

// states holds the states that are not CPU. The first two are section 2 of the
// table; the lock states serve where the instrument is off and may not be
// switched on.
var states = []state{
	{"waiting for handler commit", classCommit, onlyMySQL},
	{"Commit", classCommit, onlyMariaDB},
	{"Waiting for table level lock", classTableLock, both},
	{"Waiting for table metadata lock", classMetadata, both},
	{"Waiting for global read lock", classMetadata, both},
	{"Waiting for backup lock", classMetadata, both},
	{"Waiting for commit lock", classMetadata, both},
	{"Waiting for schema metadata lock", classMetadata, both},
	{"Waiting for table flush", classMetadata, both},
	{"Sending to client", classNetwork, onlyMySQL},
	{"Receiving from client", classNetwork, onlyMySQL},
	{"Writing to net", classNetwork, onlyMariaDB},
	{"Reading from net", classNetwork, onlyMariaDB},
	{"User sleep", classOther, both},
	{"User lock", classOther, both},
	{"Waiting for *", classOther, both}, // semi-sync, thread pool and such: named, not guessed
}
