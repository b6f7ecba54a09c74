package mysql

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	code "github.com/go-mysql-org/go-mysql/mysql"

	"assay/harness/observe/database"
)

// Replica reads the lag of a MySQL, MariaDB or Aurora replica. An Aurora replica shares
// the writer's storage and reports its lag itself. For the others the lag is the age of
// the first transaction in the source's binlog that the replica has not executed: the
// replica reports only whole seconds, and nothing while replication is stopped.
type Replica struct {
	dsn, source string

	reader, primary *database.DB
	aurora          bool
	status, end     string // the statements that the two servers know
	seen            history
}

// Replica does not connect. source is the DSN of the database that the replica
// follows; empty for Aurora's.
func (Driver) Replica(dsn, source string) database.LagReader {
	return &Replica{dsn: dsn, source: source}
}

// Statements differ by version: the first one that a server knows is used from then
// on.
var (
	showReplica = []string{"SHOW REPLICA STATUS", "SHOW SLAVE STATUS"}
	showBinlog  = []string{"SHOW BINARY LOG STATUS", "SHOW BINLOG STATUS", "SHOW MASTER STATUS"}
)

// auroraLag is documented for Aurora MySQL 3; one row for each replica, kept for
// some minutes after it is gone.
const auroraLag = "SELECT REPLICA_LAG_IN_MILLISECONDS FROM information_schema.replica_host_status" +
	" WHERE SERVER_ID = @@aurora_server_id AND LAST_UPDATE_TIMESTAMP > CURRENT_TIMESTAMP - INTERVAL 1 MINUTE"

// errNoRow is the error of a server that answers without a row.
var errNoRow = errors.New("the answer has no row")

// replicaTimeout bounds connecting to both servers, and what they are asked first.
const replicaTimeout = 4500 * time.Millisecond

// Open connects, and makes sure that the lag can be read.
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
		return fmt.Errorf("the database that it follows: %w", err)
	}
	return r.checkReplication(ctx)
}

func (r *Replica) connect(ctx context.Context, dsn string) (*database.DB, error) {
	db, err := Driver{}.Open(dsn)
	if err != nil {
		return nil, err
	}
	if err := database.Ping(ctx, db); err != nil {
		_ = db.Close()
		return nil, err
	}
	return db, nil
}

// checkReplication makes sure that positions of both can be compared, and that
// replication goes on at all.
func (r *Replica) checkReplication(ctx context.Context) error {
	var id string
	if err := r.primary.QueryRowContext(ctx, "SELECT @@server_id").Scan(&id); err != nil {
		return fmt.Errorf("the database that it follows: %w", err)
	}
	var status, end map[string]string
	var err error
	if r.status, status, err = first(ctx, r.reader.DB, showReplica); err != nil {
		return granted(err, "REPLICATION CLIENT (MariaDB: REPLICA MONITOR)", "replica")
	}
	of := pick(status, "Source_Server_Id", "Master_Server_Id")
	switch {
	case status == nil:
		return &database.Error{Problem: "it is not a replica", Remedy: "name a replica of the database with --db-reader"}
	case of != id && of != "0":
		return &database.Error{Problem: fmt.Sprintf("it replicates from server %s, and the database is server %s", of, id), Remedy: "name a replica that follows the database of ASSAY_DB directly"}
	case pick(status, "Replica_SQL_Running", "Slave_SQL_Running") != "Yes" || pick(status, "Replica_IO_Running", "Slave_IO_Running") == "No":
		return &database.Error{Problem: "its replication is stopped", Remedy: "run START REPLICA, and wait until it has caught up"}
	}
	r.end, end, err = first(ctx, r.primary.DB, showBinlog)
	switch {
	case err != nil:
		return granted(err, "REPLICATION CLIENT (MariaDB: BINLOG MONITOR)", "database")
	case end == nil:
		return &database.Error{Problem: "its source writes no binlog", Remedy: "name the database that the replica follows as ASSAY_DB"}
	}
	return nil
}

// granted says which right is missing, if that is it.
func granted(err error, right, where string) error {
	if a, _ := serverError(err); a.Condition == database.Denied {
		return &database.Error{Problem: "its replication status cannot be read: " + a.Message, Remedy: fmt.Sprintf("run as an administrator of the %s: GRANT %s ON *.* TO the user", where, right)}
	}
	return err
}

// Lag is how far the replica is behind now, in ms.
func (r *Replica) Lag(ctx context.Context) (float64, error) {
	if r.aurora {
		var ms float64
		err := r.reader.QueryRowContext(ctx, auroraLag).Scan(&ms)
		if errors.Is(err, sql.ErrNoRows) {
			err = errors.New("the replica does not report its lag")
		}
		return ms, err
	}
	// The source first: what comes between the two looks must not show as lag.
	end, err := row(ctx, r.primary.DB, r.end)
	if err != nil || end == nil {
		return 0, fmt.Errorf("read the source's position: %w", cmp.Or(err, errNoRow))
	}
	at, err := strconv.ParseUint(end["Position"], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read the source's position: %w", err)
	}
	r.seen.add(position{end["File"], at}, time.Now())
	status, err := row(ctx, r.reader.DB, r.status)
	if err != nil || status == nil {
		return 0, fmt.Errorf("read the replica's position: %w", cmp.Or(err, errNoRow))
	}
	executed, err := strconv.ParseUint(pick(status, "Exec_Source_Log_Pos", "Exec_Master_Log_Pos"), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read the replica's position: %w", err)
	}
	behind := r.seen.behind(position{pick(status, "Relay_Source_Log_File", "Relay_Master_Log_File"), executed}, time.Now())
	// What the replica was behind before the first look it knows alone, to whole
	// seconds: one less is sure.
	if told, err := strconv.Atoi(pick(status, "Seconds_Behind_Source", "Seconds_Behind_Master")); err == nil {
		behind = max(behind, time.Duration(told-1)*time.Second)
	}
	return behind.Seconds() * 1000, nil
}

// Close disconnects.
func (r *Replica) Close() {
	for _, db := range []*database.DB{r.reader, r.primary} {
		if db != nil {
			_ = db.Close()
		}
	}
}

// first runs the first of the statements that the server knows.
func first(ctx context.Context, db *sql.DB, statements []string) (known string, found map[string]string, err error) {
	for _, s := range statements {
		if found, err = row(ctx, db, s); !is(err, code.ER_PARSE_ERROR) {
			return s, found, err
		}
	}
	return "", nil, err
}

// row is the one row of a statement by column; nil where there is none.
func row(ctx context.Context, db *sql.DB, statement string) (map[string]string, error) {
	rows, err := db.QueryContext(ctx, statement)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // what is lost is of reads alone
	names, err := rows.Columns()
	if err != nil || !rows.Next() {
		return nil, errors.Join(err, rows.Err())
	}
	values := make([]sql.NullString, len(names))
	into := make([]any, len(names))
	for i := range values {
		into[i] = &values[i]
	}
	if err := rows.Scan(into...); err != nil {
		return nil, err
	}
	found := map[string]string{}
	for i, name := range names {
		found[name] = values[i].String
	}
	return found, nil
}

// pick is the column by the name that the server has for it.
func pick(status map[string]string, names ...string) string {
	for _, name := range names {
		if v, ok := status[name]; ok {
			return v
		}
	}
	return ""
}
