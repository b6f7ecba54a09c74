package mysql

import (
	"testing"

	"assay.dev/assay/internal/observe/collect/sampling"
)

func TestActivity(t *testing.T) {
	const (
		update = "statement/sql/update"
		query  = "statement/sql/select"
	)
	mysql := func(event string) session {
		return session{flavour: &mySQL, Command: "Query", State: "updating", Statement: update, Event: "wait/" + event}
	}
	maria := func(event string) session {
		return session{flavour: &mariaDB, Command: "Query", State: "Updating", Statement: update, Event: "wait/" + event}
	}
	locked := func(s session) session { s.RowLock = true; return s }
	for _, c := range []struct {
		session      session
		event, class string
		inferred     bool
	}{
		// Section 4 of the wait table, row by row.
		{mysql("io/aurora_redo_log_flush"), "io/aurora_redo_log_flush", "commit", false},
		{mysql("io/redo_log_flush"), "io/redo_log_flush", "commit", false},
		{mysql("io/file/innodb/innodb_log_file"), "io/file/innodb/innodb_log_file", "commit", false},
		{session{flavour: &mySQL, Command: "Query", State: "waiting for handler commit", Statement: update}, "waiting for handler commit", "commit", true},
		{session{flavour: &mariaDB, Command: "Execute", State: "Commit", Statement: "statement/com/Execute"}, "Commit", "commit", true},
		{session{flavour: &mariaDB, Command: "Query", Statement: update}, "Commit", "commit", true},
		{mysql("synch/cond/sql/MYSQL_BIN_LOG::COND_done"), "synch/cond/sql/MYSQL_BIN_LOG::COND_done", "binlog", false},
		{mysql("synch/mutex/sql/MYSQL_BIN_LOG::LOCK_log"), "synch/mutex/sql/MYSQL_BIN_LOG::LOCK_log", "binlog", false},
		{mysql("synch/mutex/sql/MYSQL_BIN_LOG::LOCK_commit"), "synch/mutex/sql/MYSQL_BIN_LOG::LOCK_commit", "binlog", false},
		{mysql("synch/mutex/sql/MYSQL_BIN_LOG::LOCK_sync"), "synch/mutex/sql/MYSQL_BIN_LOG::LOCK_sync", "binlog", false},
		{mysql("io/file/sql/binlog"), "io/file/sql/binlog", "binlog", false},
		{maria("io/file/sql/binlog"), "io/file/sql/binlog", "binlog", false},
		{maria("synch/cond/sql/THD::COND_wakeup_ready"), "synch/cond/sql/THD::COND_wakeup_ready", "binlog", false},
		{maria("synch/mutex/sql/LOG::LOCK_log"), "synch/mutex/sql/LOG::LOCK_log", "binlog", false},
		{mysql("synch/cond/innodb/row_lock_wait"), "synch/cond/innodb/row_lock_wait", "row lock", false},
		{mysql("synch/cond/innodb/row_lock_wait_cond"), "synch/cond/innodb/row_lock_wait_cond", "row lock", false},
		{mysql("synch/mutex/innodb/aurora_lock_thread_slot_futex"), "synch/mutex/innodb/aurora_lock_thread_slot_futex", "row lock", false},
		{locked(mysql("io/table/sql/handler")), "io/table/sql/handler", "row lock", false},
		{locked(maria("io/table/sql/handler")), "io/table/sql/handler", "row lock", false},
		{mysql("io/table/sql/handler"), "io/table/sql/handler", "engine", false},
		{maria("io/table/sql/handler"), "io/table/sql/handler", "engine", false},
		{mysql("lock/metadata/sql/mdl"), "lock/metadata/sql/mdl", "metadata lock", false},
		{maria("synch/cond/sql/MDL_context::COND_wait_status"), "synch/cond/sql/MDL_context::COND_wait_status", "metadata lock", false},
		{mysql("lock/table/sql/handler"), "lock/table/sql/handler", "table lock", false},
		{mysql("io/file/innodb/innodb_data_file"), "io/file/innodb/innodb_data_file", "buffer pool", false},
		{mysql("synch/sxlock/innodb/hash_table_locks"), "synch/sxlock/innodb/hash_table_locks", "buffer pool", false},
		{mysql("synch/mutex/innodb/buf_pool_mutex"), "synch/mutex/innodb/buf_pool_mutex", "buffer pool", false},
		{mysql("synch/sxlock/innodb/index_tree_rw_lock"), "synch/sxlock/innodb/index_tree_rw_lock", "latch", false},
		{mysql("synch/mutex/innodb/trx_sys_mutex"), "synch/mutex/innodb/trx_sys_mutex", "latch", false},
		{mysql("synch/sxlock/innodb/dict_sys_lock"), "synch/sxlock/innodb/dict_sys_lock", "latch", false},
		{mysql("synch/mutex/sql/LOCK_table_cache"), "synch/mutex/sql/LOCK_table_cache", "latch", false},
		{mysql("io/socket/sql/client_connection"), "io/socket/sql/client_connection", "connection storm", false},
		{mysql("io/aurora_respond_to_client"), "io/aurora_respond_to_client", "network", false},
		{session{flavour: &mySQL, Event: "cpu"}, "cpu", "CPU", false},
		{session{flavour: &mySQL, Command: "Query", State: "executing", Statement: query}, "cpu", "CPU", true},

		// A row lock takes precedence over the wait and the state.
		{locked(session{flavour: &mySQL, Command: "Query", State: "waiting for handler commit"}), "row_lock_wait", "row lock", false},
		{locked(mysql("io/file/sql/binlog")), "row_lock_wait", "row lock", false},
		// A wait takes precedence over the state.
		{session{flavour: &mySQL, Command: "Query", State: "waiting for handler commit", Event: "wait/io/file/sql/binlog"}, "io/file/sql/binlog", "binlog", false},
		// Names and states that mean something on the other flavour only.
		{mysql("synch/mutex/sql/LOG::LOCK_log"), "synch/mutex/sql/LOG::LOCK_log", "other", false},
		{session{flavour: &mySQL, Command: "Query", Statement: update}, "cpu", "CPU", true},
		{session{flavour: &mariaDB, Command: "Query", Statement: query}, "cpu", "CPU", true},
		{session{flavour: &mariaDB, Command: "Query", State: "Updating", Statement: update}, "cpu", "CPU", true},
		// Unknown ones keep their name.
		{mysql("synch/mutex/sql/LOCK_never_heard_of"), "synch/mutex/sql/LOCK_never_heard_of", "other", false},
		// States from which a wait is inferred whose instrument is disabled.
		{session{flavour: &mariaDB, Command: "Query", State: "Waiting for table metadata lock", Statement: update}, "Waiting for table metadata lock", "metadata lock", true},
		{session{flavour: &mySQL, Command: "Query", State: "Waiting for table level lock", Statement: update}, "Waiting for table level lock", "table lock", true},
		{session{flavour: &mySQL, Command: "Query", State: "Sending to client", Statement: query}, "Sending to client", "network", true},
		{session{flavour: &mariaDB, Command: "Query", State: "Writing to net", Statement: query}, "Writing to net", "network", true},
		{session{flavour: &mySQL, Command: "Query", State: "User sleep", Statement: query}, "User sleep", "other", true},
		{session{flavour: &mySQL, Command: "Query", State: "Waiting for semi-sync ACK from replica"}, "Waiting for semi-sync ACK from replica", "other", true},
		{session{flavour: &mySQL, Command: "Connect"}, "connect", "connection storm", true},
	} {
		want := sampling.Session{Event: c.event, Class: c.class, Inferred: c.inferred}
		if got := c.session.activity(); got != want {
			t.Errorf("%+v\n got %+v\nwant %+v", c.session, got, want)
		}
	}
}

func TestMarkRowLocks(t *testing.T) {
	handler, other := "wait/io/table/sql/handler", "wait/io/file/sql/binlog"
	sessions := func() []active {
		return []active{
			{session: session{flavour: &mySQL, Statement: "statement/sql/select", Event: handler}, waited: 9e9}, // a long scan
			{session: session{flavour: &mySQL, Statement: "statement/sql/update", Event: handler}, waited: 1e6},
			{session: session{flavour: &mySQL, Statement: "statement/com/Execute", Event: handler}, waited: 5e9},
			{session: session{flavour: &mySQL, Statement: "statement/sql/update", Event: other}, waited: 8e9},
			{session: session{flavour: &mySQL, Statement: "statement/sql/update"}},
		}
	}
	for n, want := range [][]int{{}, {2}, {1, 2}, {0, 1, 2}, {0, 1, 2}} {
		got := sessions()
		markRowLocks(got, n)
		for i, s := range got {
			wanted := false
			for _, w := range want {
				wanted = wanted || w == i
			}
			if s.RowLock != wanted {
				t.Errorf("%d waiters: session %d marked %v, want %v", n, i, s.RowLock, wanted)
			}
		}
	}
}
