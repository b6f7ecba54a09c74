package mysql

import (
	"context"
	"database/sql"
	"strconv"

	"assay.dev/assay/internal/observe/collect/sampling"
	"assay.dev/assay/internal/observe/metric"
)

// counters are status variables that only increase; frames hold the increases. They
// include the collector's own statements, about 13 per second.
var counters = []string{
	"Aborted_clients", "Aborted_connects",
	"Binlog_cache_disk_use", "Binlog_cache_use", binlogCommits, "Binlog_group_commits",
	"Com_commit", "Com_delete", "Com_insert", "Com_rollback", "Com_select", "Com_stmt_prepare", "Com_update",
	"Connection_errors_max_connections", "Connections",
	transactions,
	"Innodb_buffer_pool_read_requests", "Innodb_buffer_pool_reads", "Innodb_buffer_pool_wait_free",
	"Innodb_data_fsyncs", deadlocks, "Innodb_log_waits", "Innodb_os_log_fsyncs", "Innodb_os_log_written",
	"Innodb_row_lock_time", "Innodb_row_lock_waits",
	"Performance_schema_digest_lost", "Questions", "Threads_created",
	"wsrep_local_bf_aborts", "wsrep_local_cert_failures", // Galera
}

// gauges are status variables that increase and decrease.
var gauges = []string{
	historyLength, checkpointAge, "Innodb_buffer_pool_pages_dirty", "Innodb_row_lock_current_waits",
	"Threads_connected", "Threads_running",
}

// Status variables that need special treatment.
const (
	uptime        = "Uptime"
	historyLength = "Innodb_history_list_length" // MySQL: in INNODB_METRICS, not in SHOW STATUS
	deadlocks     = "Innodb_deadlocks"           // MySQL: likewise
	checkpointAge = "Innodb_checkpoint_age"      // MySQL: difference of the two LSNs below
	lsnCurrent    = "Innodb_redo_log_current_lsn"
	lsnCheckpoint = "Innodb_redo_log_checkpoint_lsn"

	// transactions counts ended transactions, by COMMIT or autocommit, including read-only
	// ones. (Com_commit counts only COMMIT, and Handler_commit each statement within a
	// transaction, once for InnoDB and once for the binlog.) MySQL has this number in
	// performance_schema rather than in SHOW STATUS. On MariaDB, where the instrument is
	// disabled, binlogCommits counts the transactions that were written to the binlog.
	transactions  = "events_transactions"
	binlogCommits = "Binlog_commits"
)

var showStatus = "SHOW GLOBAL STATUS WHERE Variable_name IN " + list(append(append([]string{uptime, lsnCurrent, lsnCheckpoint}, counters...), gauges...))

var variables = sampling.Variables{Counters: counters, Gauges: gauges, Unit: unitOf}

// status converts readings of status variables to points.
type status struct {
	sampling.Status
	uptime float64 // at the previous reading
}

// readStatus reads the variables that the server has.
func (c *Collector) readStatus(ctx context.Context) (map[string]float64, error) {
	now := map[string]float64{}
	add := func(rows *sql.Rows) error {
		var name, text string
		if err := rows.Scan(&name, &text); err != nil {
			return err
		}
		if v, err := strconv.ParseFloat(text, 64); err == nil {
			now[name] = v
		}
		return nil
	}
	err := c.link.query(ctx, showStatus, nil, add)
	if err != nil {
		return now, err
	}
	if lsn, ok := now[lsnCurrent]; ok {
		now[checkpointAge] = max(0, lsn-now[lsnCheckpoint])
	}
	f := c.link.flavour
	if f.transactions != "" {
		if now[transactions], err = c.link.queryNumber(ctx, f.transactions); err != nil {
			return now, c.readError("read events_transactions_summary_global_by_event_name", err)
		}
	}
	if f.innodbMetrics == "" || c.noMetrics {
		return now, nil
	}
	if err = c.link.query(ctx, f.innodbMetrics, nil, add); denied(err) {
		c.noMetrics, err = true, nil
		c.notes.Add("database: the history list length (undo not purged yet) and deadlocks are not recorded; run as an administrator: GRANT PROCESS ON *.* TO %s;", c.account(ctx))
	}
	return now, err
}

// points converts a reading to points. restarted reports that the server was restarted
// since the last reading.
func (s *status) points(now map[string]float64) (points []metric.Point, restarted bool) {
	for _, name := range []string{transactions, binlogCommits} {
		if now[name] == 0 { // the instrument is disabled, or there is no binlog: unknown rather than 0
			delete(now, name)
		}
	}
	restarted = now[uptime] < s.uptime
	s.uptime = now[uptime]
	return s.Points(variables, now, restarted), restarted
}

func unitOf(name string) string {
	switch name {
	case "Innodb_row_lock_time":
		return "ms"
	case "Innodb_os_log_written", checkpointAge:
		return "By"
	}
	return ""
}
