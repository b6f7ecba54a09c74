package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"assay.dev/assay/internal/observe/collect/sampling"
	"assay.dev/assay/internal/observe/metric"
)

// picosecond is the unit of performance_schema's timers, in ms.
const picosecond = 1e-9

// preparedExecute labels prepared statements where the server gives them no digest.
const preparedExecute = "com/Execute"

// statementKey identifies a row of events_statements_summary_by_digest. The row without
// a digest holds the sum of the statements for which the table has no room.
type statementKey struct{ schema, digest string }

// statements turns readings of statement times into points.
type statements struct {
	sampling.Statements[statementKey, string]
	at time.Time // time of the previous reading
}

func newStatements() statements {
	return statements{Statements: sampling.Statements[statementKey, string]{
		Statement: func(row statementKey) string { return row.digest }, Partial: true, Names: map[string]sampling.StatementName{},
	}}
}

// readStatements returns the increases since the last reading by digest; none the first
// time.
func (c *collector) readStatements(ctx context.Context, s *statements) (map[string]sampling.Usage, error) {
	now := time.Now()
	query := "SELECT SCHEMA_NAME, DIGEST, COUNT_STAR, SUM_TIMER_WAIT, SUM_ROWS_EXAMINED FROM performance_schema.events_statements_summary_by_digest WHERE TRUE"
	var args []any
	if c.link.schema != "" {
		query += " AND (SCHEMA_NAME = ? OR DIGEST IS NULL)"
		args = append(args, c.link.schema)
	}
	if s.Last != nil {
		// Unchanged rows need not be read. LAST_SEEN has whole seconds on MariaDB.
		query += fmt.Sprintf(" AND LAST_SEEN >= NOW(6) - INTERVAL %d SECOND", int(math.Ceil(now.Sub(s.at).Seconds()))+2)
	}
	if more := c.link.flavour.unlabelled; more != "" {
		query += " UNION ALL " + more
	}
	seen := map[statementKey]sampling.Usage{}
	err := c.link.query(ctx, query, args, func(rows *sql.Rows) error {
		var row statementKey
		var count, time, examined uint64
		err := rows.Scan(orZero(&row.schema), orZero(&row.digest), &count, &time, &examined)
		seen[row] = sampling.Usage{Calls: float64(count), Ms: float64(time) * picosecond, Rows: float64(examined)}
		return err
	})
	if err != nil {
		return nil, err
	}
	s.at = now
	return s.Increase(seen), nil
}

// restart discards the values from before a restart of the server, so that the next
// reading is a first one.
func (s *statements) restart() { s.Last = nil }

// statementPoints returns points for the digests with the most time, and for the sum of
// all others.
func (c *collector) statementPoints(ctx context.Context, s *statements, changed map[string]sampling.Usage, labels sampling.Digests) ([]metric.Point, error) {
	if changed[""].Calls > 0 {
		c.notes.Add("database: the digest table of performance_schema is full, so the digest \"other\" includes statements of any schema; " +
			"run as an administrator: TRUNCATE TABLE performance_schema.events_statements_summary_by_digest;")
	}
	byTime := sampling.ByTime(changed)
	err := c.nameDigests(ctx, s, byTime[:min(len(byTime), sampling.TopDigests)])
	points, _ := s.Points(changed, labels, true)
	return points, err
}

func (c *collector) nameDigests(ctx context.Context, s *statements, digests []string) error {
	var missing []string
	for _, digest := range digests {
		switch _, known := s.Names[digest]; {
		case known || digest == "": // the row without a digest stays "other"
		case strings.HasPrefix(digest, "com/"):
			s.Names[digest] = sampling.StatementName{Digest: digest, Text: "prepared statements, which have no digest on MariaDB"}
		default:
			missing = append(missing, digest)
		}
	}
	if len(missing) == 0 || len(s.Names) > 4*sampling.MaxDigests {
		return nil
	}
	query := "SELECT DIGEST, DIGEST_TEXT FROM performance_schema.events_statements_summary_by_digest WHERE DIGEST IN " + list(missing)
	var args []any
	if c.link.schema != "" {
		query += " AND SCHEMA_NAME = ?" // MySQL then uses an index
		args = append(args, c.link.schema)
	}
	return c.link.query(ctx, query, args, func(rows *sql.Rows) error {
		var digest, text string
		err := rows.Scan(&digest, orZero(&text))
		name := sampling.StatementName{Digest: digest[:min(len(digest), sampling.DigestDigits)], Text: sampling.Shorten(text)}
		if c.link.flavour.digestIsText {
			name.Digest = textDigest(text)
		}
		s.Names[digest] = name
		return err
	})
}

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

func (c *collector) readStatus(ctx context.Context) (map[string]float64, error) {
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
		if now[transactions], err = value[float64](ctx, c.link, f.transactions); err != nil {
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
