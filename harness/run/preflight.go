package run

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"assay/harness/load/fleet"
	"assay/harness/load/plan"
	"assay/harness/observe/record"
)

const (
	// dialTimeout bounds the look whether something listens at the target.
	dialTimeout = 3 * time.Second
	// pingTimeout bounds the first answer of the database: what listens there
	// may be something else, which waits for us to speak.
	pingTimeout = 4 * time.Second
)

// checkTarget refuses a target that is malformed, not allowed or not there.
func (o Options) checkTarget(ctx context.Context) error {
	if strings.Contains(o.Target, "@") {
		// It would stand in the record, and on the command line of every worker.
		return &Error{errors.New("the target's URL holds a user or password"), "leave it out, like --target http://127.0.0.1:8080"}
	}
	u, err := url.Parse(o.Target)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return &Error{fmt.Errorf("target %q is not an http or https URL", o.Target), "like --target http://127.0.0.1:8080"}
	}
	host := u.Hostname()
	if !o.File.Allows(host, o.AllowHosts) {
		return &Error{
			fmt.Errorf("target host %s is not allowed: a load test aimed at the wrong system is an outage", host),
			fmt.Sprintf("list it in \"targets\" of %s, or name it again: --allow-target %s", o.File.Path, host),
		}
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	dialer := net.Dialer{Timeout: dialTimeout}
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(host, port))
	if err != nil {
		return &Error{fmt.Errorf("target %s cannot be reached: %s", o.Target, lastPart(err)), "start the service, or name another one with --target"}
	}
	return conn.Close()
}

// lastPart is the innermost reason of a wrapped error.
func lastPart(err error) string {
	text := err.Error()
	if i := strings.LastIndex(text, ": "); i >= 0 {
		return text[i+2:]
	}
	return text
}

// Check finds what would keep a run from starting, before anything is written
// or sent.
func Check(ctx context.Context, o Options) error {
	if _, err := plan.New(o.Profile, o.Workers, o.Seed); err != nil {
		return &Error{Err: err}
	}
	return o.preflight(ctx)
}

func (o Options) preflight(ctx context.Context) error {
	if err := record.Vacant(o.Dir); err != nil {
		return &Error{err, "name another folder with --out"}
	}
	if err := o.checkTarget(ctx); err != nil {
		return err
	}
	if o.DSN == "" && slices.Contains(o.Profile.Needs, "db") {
		return &Error{fmt.Errorf("profile %s needs the database, and none is named", o.Profile.Name), "set ASSAY_DB to its DSN"}
	}
	if err := o.checkDatabase(ctx); err != nil {
		return err
	}
	env := []string{"ASSAY_TARGET=" + o.Target, "ASSAY_RUN=" + o.ID, "ASSAY_WORKER=0", fmt.Sprintf("ASSAY_SEED=%d", o.Seed)}
	if slices.Contains(o.Profile.Needs, "db") {
		env = append(env, "ASSAY_DB="+o.DSN)
	}
	err := fleet.CheckScript(ctx, o.Executable, o.script(), env)
	var script *fleet.ScriptError
	if errors.As(err, &script) {
		return &Error{script, script.Hint}
	}
	return err
}

// checkDatabase refuses a database that cannot be reached, or from which the
// ledger cannot be read back at the end.
func (o Options) checkDatabase(ctx context.Context) error {
	if o.DSN == "" {
		return nil
	}
	db, err := openDB(o.DSN)
	if err != nil {
		return &Error{err, "set ASSAY_DB to a DSN like user:password@tcp(127.0.0.1:3306)/shop"}
	}
	defer db.Close() // nothing was written
	if err := ping(ctx, db); err != nil {
		return &Error{fmt.Errorf("database %s cannot be used: %s", withoutPassword(o.DSN), reason(err)), "see that it is up and what ASSAY_DB says of user and password"}
	}
	if o.Profile.Ledger == nil {
		return nil
	}
	b := newBook(o)
	if _, err := b.query(ctx, db); err != nil {
		return &Error{
			fmt.Errorf("ledger of profile %s cannot be read: %s", o.Profile.Name, reason(err)),
			"see `ledger.persisted` in " + o.File.Path + "; the database user needs SELECT on its tables",
		}
	}
	return o.checkCleanup(ctx, db)
}

// checkCleanup tries the statements while there is no row of the run yet: what
// could not be removed after it would stay for good.
func (o Options) checkCleanup(ctx context.Context, db *sql.DB) error {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	if _, err := newBook(o).remove(ctx, db); err != nil {
		return &Error{
			fmt.Errorf("ledger of profile %s cannot be cleaned up: %s", o.Profile.Name, reason(err)),
			"see `ledger.cleanup` in " + o.File.Path + "; the database user needs DELETE on its tables",
		}
	}
	return nil
}

func ping(ctx context.Context, db *sql.DB) error {
	ctx, cancel := context.WithTimeoutCause(ctx, pingTimeout, fmt.Errorf("no answer within %s", pingTimeout))
	defer cancel()
	err := db.PingContext(ctx)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// reason is what the database, or the network before it, says.
func reason(err error) string {
	var said *mysql.MySQLError
	switch {
	case errors.As(err, &said):
		return said.Message
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer in time"
	}
	return lastPart(err)
}
