package mysql

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	code "github.com/go-mysql-org/go-mysql/mysql"

	"assay.dev/assay/internal/observe/database"
)

// Replica reads the lag of a MySQL, MariaDB or Aurora replica. An Aurora replica shares
// the writer's storage and reports its lag itself. For the others the lag is the age of
// the first transaction in the source's binlog that the replica has not executed: the
// replica reports only whole seconds, and nothing while replication is stopped.
type Replica struct {
	dsn, source string

	reader, primary *database.DB
	aurora          bool
	binlog          history

	// The statements that the two servers support.
	replicaStatement, binlogStatement string
}

// Replica returns a reader of a replica's lag. It does not connect. source is the DSN of
// the replica's source; empty for Aurora.
func (Driver) Replica(dsn, source string) database.LagReader {
	return &Replica{dsn: dsn, source: source}
}

// Statements by version, the newest first. The first one that a server supports is used.
var (
	showReplica = []string{"SHOW REPLICA STATUS", "SHOW SLAVE STATUS"}
	showBinlog  = []string{"SHOW BINARY LOG STATUS", "SHOW BINLOG STATUS", "SHOW MASTER STATUS"}
)

// auroraLag is documented for Aurora MySQL 3. The table has one row per replica, which
// remains for some minutes after the replica is gone.
const auroraLag = "SELECT REPLICA_LAG_IN_MILLISECONDS FROM information_schema.replica_host_status" +
	" WHERE SERVER_ID = @@aurora_server_id AND LAST_UPDATE_TIMESTAMP > CURRENT_TIMESTAMP - INTERVAL 1 MINUTE"

var errNoRow = errors.New("the server returned no row")

// replicaTimeout bounds Open: connecting to both servers and the checks.
const replicaTimeout = 4500 * time.Millisecond

// Open connects and checks that the lag can be read.
func (r *Replica) Open(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, replicaTimeout)
	defer cancel()
	if r.reader, err = r.connect(ctx, r.dsn); err != nil {
		return err
	}
	var version string
	err = r.reader.QueryRowContext(ctx, "SELECT @@aurora_version").Scan(&version)
	switch {
	case err == nil:
		r.aurora = true
		return nil
	case !is(err, code.ER_UNKNOWN_SYSTEM_VARIABLE):
		return err
	case r.source == "":
		return &database.Error{Problem: "it is not Aurora, and its source is not named", Remedy: "set ASSAY_DB to the DSN of the source"}
	}
	if r.primary, err = r.connect(ctx, r.source); err != nil {
		return fmt.Errorf("its source: %w", err)
	}
	return r.checkReplication(ctx)
}

func (r *Replica) connect(ctx context.Context, dsn string) (*database.DB, error) {
	db, err := Driver{}.Open(dsn)
	if err != nil {
		return nil, err
	}
	if err := db.Ping(ctx); err != nil {
		_ = db.Close()
		return nil, err
	}
	return db, nil
}

// checkReplication checks that the replica follows the source directly, so that their
// positions are comparable, and that replication is running.
func (r *Replica) checkReplication(ctx context.Context) error {
	var id string
	if err := r.primary.QueryRowContext(ctx, "SELECT @@server_id").Scan(&id); err != nil {
		return fmt.Errorf("its source: %w", err)
	}
	var status, end map[string]string
	var err error
	if r.replicaStatement, status, err = firstSupported(ctx, r.reader.DB, showReplica); err != nil {
		return explainDenied(err, "REPLICATION CLIENT (MariaDB: REPLICA MONITOR)", "replica")
	}
	sourceID := column(status, "Source_Server_Id", "Master_Server_Id")
	switch {
	case status == nil:
		return &database.Error{Problem: "it is not a replica", Remedy: "name a replica of the database with --db-reader"}
	case sourceID != id && sourceID != "0":
		return &database.Error{Problem: fmt.Sprintf("it replicates from server %s, and the database is server %s", sourceID, id), Remedy: "name a replica that replicates directly from the database of ASSAY_DB"}
	case column(status, "Replica_SQL_Running", "Slave_SQL_Running") != "Yes" || column(status, "Replica_IO_Running", "Slave_IO_Running") == "No":
		return &database.Error{Problem: "its replication is stopped", Remedy: "run START REPLICA, and wait until it has caught up"}
	}
	r.binlogStatement, end, err = firstSupported(ctx, r.primary.DB, showBinlog)
	switch {
	case err != nil:
		return explainDenied(err, "REPLICATION CLIENT (MariaDB: BINLOG MONITOR)", "database")
	case end == nil:
		return &database.Error{Problem: "its source writes no binlog", Remedy: "set ASSAY_DB to the DSN of the replica's source"}
	}
	return nil
}

// explainDenied adds the missing privilege to an error if the server denied access.
func explainDenied(err error, privilege, where string) error {
	if a, _ := serverError(err); a.Condition == database.Denied {
		return &database.Error{Problem: "its replication status cannot be read: " + a.Message, Remedy: fmt.Sprintf("run as an administrator of the %s: GRANT %s ON *.* TO the user", where, privilege)}
	}
	return err
}

// Lag returns the replica's current lag in ms.
func (r *Replica) Lag(ctx context.Context) (float64, error) {
	if r.aurora {
		var ms float64
		err := r.reader.QueryRowContext(ctx, auroraLag).Scan(&ms)
		if errors.Is(err, sql.ErrNoRows) {
			err = errors.New("the replica does not report its lag")
		}
		return ms, err
	}
	// The source is read first: transactions committed between the two readings must not
	// count as lag.
	end, err := row(ctx, r.primary.DB, r.binlogStatement)
	if err != nil || end == nil {
		return 0, fmt.Errorf("read the source's position: %w", cmp.Or(err, errNoRow))
	}
	offset, err := strconv.ParseUint(end["Position"], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read the source's position: %w", err)
	}
	r.binlog.add(position{end["File"], offset}, time.Now())
	status, err := row(ctx, r.reader.DB, r.replicaStatement)
	if err != nil || status == nil {
		return 0, fmt.Errorf("read the replica's position: %w", cmp.Or(err, errNoRow))
	}
	executed, err := strconv.ParseUint(column(status, "Exec_Source_Log_Pos", "Exec_Master_Log_Pos"), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read the replica's position: %w", err)
	}
	lag := r.binlog.lag(position{column(status, "Relay_Source_Log_File", "Relay_Master_Log_File"), executed}, time.Now())
	// Only the replica knows its lag from before the first reading. It reports whole
	// seconds, so one second less is certain.
	if reported, err := strconv.Atoi(column(status, "Seconds_Behind_Source", "Seconds_Behind_Master")); err == nil {
		lag = max(lag, time.Duration(reported-1)*time.Second)
	}
	return lag.Seconds() * 1000, nil
}

func (r *Replica) Close() {
	for _, db := range []*database.DB{r.reader, r.primary} {
		if db != nil {
			_ = db.Close()
		}
	}
}

// firstSupported runs the first of the statements that the server supports.
func firstSupported(ctx context.Context, db *sql.DB, statements []string) (supported string, found map[string]string, err error) {
	for _, s := range statements {
		if found, err = row(ctx, db, s); !is(err, code.ER_PARSE_ERROR) {
			return s, found, err
		}
	}
	return "", nil, err
}

// row returns the first row of a statement by column name; nil if there is none.
func row(ctx context.Context, db *sql.DB, statement string) (map[string]string, error) {
	all, err := database.Maps(db.QueryContext(ctx, statement)) //nolint:rowserrcheck // Maps does
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return all[0], nil
}

// column returns the value of a column whose name differs by version.
func column(status map[string]string, names ...string) string {
	i := slices.IndexFunc(names, func(name string) bool { _, has := status[name]; return has })
	return status[names[max(0, i)]]
}

// position is a position in a binlog.
type position struct {
	file   string
	offset uint64
}

// compare orders positions of one server. File names end in a number of six digits,
// and of more digits after 999999.
func (p position) compare(q position) int {
	return cmp.Or(cmp.Compare(len(p.file), len(q.file)), strings.Compare(p.file, q.file), cmp.Compare(p.offset, q.offset))
}

// history holds the observed end positions of a binlog. It discards those that the
// replica has executed.
type history struct {
	ends []end
	last time.Time // time of the latest observation
}

// end is an observed end position. The binlog reached it after since, the time of the
// observation before it.
type end struct {
	position
	since time.Time
}

// add records the end of the binlog at now. A position that goes backwards belongs to a
// new series of files, with which the older ones cannot be compared.
func (h *history) add(p position, now time.Time) {
	since := h.last
	if since.IsZero() {
		since = now
	}
	h.last = now
	if n := len(h.ends); n > 0 {
		switch c := p.compare(h.ends[n-1].position); {
		case c == 0:
			return
		case c < 0:
			h.ends = nil
		}
	}
	h.ends = append(h.ends, end{p, since})
}

// lag returns the greatest possible age of the oldest transaction that is not executed
// yet; 0 if the replica has executed everything that was observed. It exceeds the true
// age by at most the interval between two observations. It is too low only for
// transactions that were written before the first observation.
func (h *history) lag(executed position, now time.Time) time.Duration {
	first := 0
	for first < len(h.ends) && h.ends[first].compare(executed) <= 0 {
		first++
	}
	if first > 0 && first == len(h.ends) {
		h.ends = h.ends[first-1:] // add compares the next position with it
		return 0
	}
	h.ends = h.ends[first:]
	if len(h.ends) == 0 {
		return 0
	}
	return now.Sub(h.ends[0].since)
}
