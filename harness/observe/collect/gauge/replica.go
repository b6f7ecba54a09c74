package gauge

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/go-sql-driver/mysql"

	"assay/harness/observe/database"
	"assay/harness/observe/metric"
)

// lagPeriod is the time between looks at a lag: five a second find most of what a
// second had at its worst, and cost a server next to nothing.
const lagPeriod = 200 * time.Millisecond

// replicas are those whose lag is watched.
func (o Options) replicas() (all []*watched) {
	for _, dsn := range o.Readers {
		address, _ := database.Address(dsn) // tells replicas apart, without user and password
		all = append(all, &watched{
			gauge: &replica{dsn: dsn, source: o.Database}, series: metric.Of(metric.ReplicaLag, metric.LabelReader, address),
			name: "lag of the replica at " + address, known: true, period: lagPeriod,
		})
	}
	return all
}

// replica is one of MySQL, MariaDB or Aurora. An Aurora replica shares the
// writer's storage, has no binlog to read, and tells its lag itself. Another's is
// the age of the first transaction that the source has in its binlog and the
// replica has not executed: to whole seconds the replica tells it itself, but
// not while its replication stands still.
type replica struct {
	dsn, source string

	reader, primary *database.DB
	aurora          bool
	status, end     string // the statements that the two know
	seen            history
}

// Statements differ by version; the first that a server knows is taken, from then
// on without trying the others again.
var (
	showReplica = []string{"SHOW REPLICA STATUS", "SHOW SLAVE STATUS"}
	showBinlog  = []string{"SHOW BINARY LOG STATUS", "SHOW BINLOG STATUS", "SHOW MASTER STATUS"}
)

// auroraLag is documented for Aurora MySQL 3; one row for each replica, kept for
// some minutes after it is gone.
const auroraLag = "SELECT REPLICA_LAG_IN_MILLISECONDS FROM information_schema.replica_host_status" +
	" WHERE SERVER_ID = @@aurora_server_id AND LAST_UPDATE_TIMESTAMP > CURRENT_TIMESTAMP - INTERVAL 1 MINUTE"

// errNone is that of a server that answers without a row.
var errNone = errors.New("it shows none")

// Errors of the servers that we act on.
const (
	errSyntax        = 1064
	errUnknownSysVar = 1193
	errPrivilege     = 1227
)

func (r *replica) open(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*answer)
	defer cancel()
	for _, dsn := range []string{r.dsn, r.source} {
		if database.FamilyOf(dsn) == database.PostgreSQL {
			return &database.Error{Problem: "of PostgreSQL no lag is read", Hint: "leave --db-reader and the SLO out: replicas of MySQL, MariaDB and Aurora MySQL can be watched"}
		}
	}
	if r.reader, err = database.Open(r.dsn); err != nil {
		return err
	}
	var version string
	err = r.reader.QueryRowContext(ctx, "SELECT @@aurora_version").Scan(&version)
	switch {
	case err == nil:
		r.aurora = true
		return nil
	case !is(err, errUnknownSysVar):
		return err
	case r.source == "":
		return &database.Error{Problem: "it is no Aurora, and the database that it follows is not named", Hint: "set ASSAY_DB to the DSN of what it replicates from"}
	}
	if r.primary, err = database.Open(r.source); err != nil {
		return err
	}
	return r.follows(ctx)
}

// follows makes sure that positions of both can be compared, and that
// replication goes on at all.
func (r *replica) follows(ctx context.Context) error {
	var id string
	if err := r.primary.QueryRowContext(ctx, "SELECT @@server_id").Scan(&id); err != nil {
		return fmt.Errorf("the database that it follows: %w", err)
	}
	var status, end map[string]string
	var err error
	if r.status, status, err = first(ctx, r.reader, showReplica); err != nil {
		return granted(err, "REPLICATION CLIENT (MariaDB: REPLICA MONITOR)", "replica")
	}
	of := pick(status, "Source_Server_Id", "Master_Server_Id")
	switch {
	case status == nil:
		return &database.Error{Problem: "it replicates from nowhere", Hint: "name a replica of the database with --db-reader"}
	case of != id && of != "0":
		return &database.Error{Problem: fmt.Sprintf("it replicates from server %s, and the database is server %s", of, id), Hint: "name a replica that follows the database of ASSAY_DB directly"}
	case pick(status, "Replica_SQL_Running", "Slave_SQL_Running") != "Yes" || pick(status, "Replica_IO_Running", "Slave_IO_Running") == "No":
		return &database.Error{Problem: "its replication is stopped", Hint: "START REPLICA; and wait until it has caught up"}
	}
	r.end, end, err = first(ctx, r.primary, showBinlog)
	switch {
	case err != nil:
		return granted(err, "REPLICATION CLIENT (MariaDB: BINLOG MONITOR)", "database")
	case end == nil:
		return &database.Error{Problem: "the database that it follows writes no binlog", Hint: "name the database that the replica follows as ASSAY_DB"}
	}
	return nil
}

// granted says which right is missing, if that is it.
func granted(err error, right, where string) error {
	if is(err, errPrivilege) {
		return &database.Error{Problem: "its state cannot be read: " + database.Reason(err), Hint: fmt.Sprintf("run as an administrator of the %s: GRANT %s ON *.* TO the user", where, right)}
	}
	return err
}

func (r *replica) read(ctx context.Context) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, answer)
	defer cancel()
	if r.aurora {
		var ms float64
		err := r.reader.QueryRowContext(ctx, auroraLag).Scan(&ms)
		if errors.Is(err, sql.ErrNoRows) {
			err = errors.New("the replica does not tell its lag")
		}
		return ms, err
	}
	// The source first: what comes between the two looks must not show as lag.
	end, err := row(ctx, r.primary, r.end)
	if err != nil || end == nil {
		return 0, fmt.Errorf("read the source's position: %w", cmp.Or(err, errNone))
	}
	at, err := strconv.ParseUint(end["Position"], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read the source's position: %w", err)
	}
	r.seen.add(position{end["File"], at}, time.Now())
	status, err := row(ctx, r.reader, r.status)
	if err != nil || status == nil {
		return 0, fmt.Errorf("read the replica's position: %w", cmp.Or(err, errNone))
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
	return float64(behind) / float64(time.Millisecond), nil
}

func (r *replica) close() {
	for _, db := range []*database.DB{r.reader, r.primary} {
		if db != nil {
			_ = db.Close()
		}
	}
}

// first runs the first of the statements that the server knows.
func first(ctx context.Context, db *database.DB, statements []string) (known string, found map[string]string, err error) {
	for _, s := range statements {
		if found, err = row(ctx, db, s); !is(err, errSyntax) {
			return s, found, err
		}
	}
	return "", nil, err
}

// row is the one row of a statement by column; nil where there is none.
func row(ctx context.Context, db *database.DB, statement string) (map[string]string, error) {
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

func is(err error, number uint16) bool {
	var said *mysql.MySQLError
	return errors.As(err, &said) && said.Number == number
}
