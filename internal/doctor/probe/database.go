package probe

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"time"

	"assay.dev/assay/internal/crash"
	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/observe/collect/databases"
	"assay.dev/assay/internal/observe/collect/host"
	"assay.dev/assay/internal/observe/collect/sampling"
	"assay.dev/assay/internal/observe/database"
	"assay.dev/assay/internal/observe/ledger"
	"assay.dev/assay/internal/spec"
)

const (
	// ledgerTimeout bounds one statement of a profile, which finds no rows yet or is only explained.
	ledgerTimeout = 3 * time.Second
	// databaseTimeout bounds the whole examination, for any number of profiles.
	databaseTimeout = 8 * time.Second
)

// Database is the state of the database, and which operations of a run it allows.
type Database struct {
	Name      string // the DSN without its password
	DSNErr    error  // why the DSN cannot be used; nil: it can
	Err       error  // why the database cannot be used; nil: it can
	Full      bool   // Err is that the connection limit is reached
	Local     bool   // on this machine
	Dialect   *database.Dialect
	Version   string // as reported by the server, such as 10.11.19-MariaDB
	Limit     int    // maximum number of connections; 0: unknown
	Connected int    // open connections, without the probe's
	Clock     Offset
	Waits     sampling.Examination
	WaitsErr  error
	Ledgers   map[string]Ledger // by profile, or by flow of one
	// Invariants are why those of a profile cannot be checked, in its order; nil: it can.
	Invariants map[string][]error
}

// Offset is how far the database's clock is ahead of this host's.
type Offset struct {
	Known       bool
	Ahead       time.Duration
	Uncertainty time.Duration // half of the round-trip time
}

// Ledger holds the errors of the two statements of a profile or a flow.
type Ledger struct {
	Read, Clean error       // nil: the statement works, or there is none
	Scan        ledger.Scan // of the removal
}

// ExamineDatabase connects and tries the operations of a run, but for those that change
// something. It reads the profiles' ledgers with the id of a run that has no rows.
func ExamineDatabase(ctx context.Context, dsn, run string, profiles []spec.Profile) (d Database) {
	defer foreign.Guard(&d.Err) // of a driver, which parses what the server sends
	ctx, cancel := context.WithTimeout(ctx, databaseTimeout)
	defer cancel()
	driver := databases.Of(dsn)
	d.Dialect = driver.Dialect()
	db, err := driver.Open(dsn)
	if err != nil {
		d.DSNErr = err
		return d
	}
	defer db.Close()               // nothing was written
	parsed, _ := driver.Parse(dsn) // Open has parsed it
	d.Name, d.Local = parsed.Public, isLocal(ctx, parsed.Address)
	if err := database.Ping(ctx, db); err != nil {
		d.Err, d.Full = err, d.Dialect.Is(err, database.TooManyConnections)
		return d
	}
	_ = db.QueryRowContext(ctx, d.Dialect.VersionQuery).Scan(&d.Version) // empty: unknown
	d.Limit, d.Connected = connections(ctx, db)
	d.Clock = offset(ctx, db)
	d.Ledgers, d.Invariants = map[string]Ledger{}, map[string][]error{}
	for _, p := range profiles {
		for _, f := range p.Flows {
			if f.Ledger != nil {
				d.Ledgers[p.Title(f)] = tryLedger(ctx, db, *f.Ledger, run)
			}
		}
		for _, i := range p.Invariants {
			d.Invariants[p.Name] = append(d.Invariants[p.Name], within(ctx, func(ctx context.Context) error {
				_, err := ledger.Try(ctx, db, i.SQL, run)
				return err
			}))
		}
	}
	// Close the connection before the collector opens one.
	_ = db.Close()
	d.Waits, d.WaitsErr = driver.Examine(ctx, dsn)
	d.WaitsErr = d.Dialect.WithHint(d.WaitsErr)
	return d
}

// ExaminePoolers connects to the nodes of ASSAY_DB_NODES, and returns the errors of those at
// which a connection pooler answers, by name. What else is wrong with a node is the script's
// to report: Assay itself uses none.
func ExaminePoolers(ctx context.Context, nodes []databases.Node) map[string]error {
	ctx, cancel := context.WithTimeout(ctx, databaseTimeout)
	defer cancel()
	errs := make([]error, len(nodes))
	var wg crash.Group
	for i, node := range nodes {
		wg.Go(func() {
			db, err := databases.Open(node.DSN)
			if err != nil {
				return
			}
			defer db.Close() // nothing was written
			errs[i] = database.Ping(ctx, db)
		})
	}
	wg.Wait()
	found := map[string]error{}
	for i, node := range nodes {
		if errors.Is(errs[i], database.ErrPooler) {
			found[node.Name] = errs[i]
		}
	}
	return found
}

// isLocal reports whether an address is on this machine; an empty one is a socket file.
func isLocal(ctx context.Context, address string) bool {
	name, _, err := net.SplitHostPort(address)
	return address == "" || err == nil && host.IsLocal(ctx, name)
}

// connections returns the server's connection limit and the number of open connections
// without this one; 0, 0 if unknown.
func connections(ctx context.Context, db *database.DB) (limit, others int) {
	limit, err := count(ctx, db, db.Dialect.ConnectionLimitQuery)
	if err != nil {
		return 0, 0
	}
	if others, err = count(ctx, db, db.Dialect.ConnectionsQuery); err != nil {
		return 0, 0
	}
	return limit, others - 1
}

// count is the result of a query for one number, which is in the last column.
func count(ctx context.Context, db *database.DB, query string) (n int, err error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return 0, err
	}
	if !rows.Next() {
		return 0, errors.Join(rows.Err(), sql.ErrNoRows)
	}
	var name string
	into := []any{&name, &n}
	return n, errors.Join(rows.Scan(into[len(into)-len(columns):]...), rows.Err())
}

// offset compares the clocks several times, and returns the comparison with the shortest
// round trip.
func offset(ctx context.Context, db *database.DB) (best Offset) {
	for range 5 {
		var at time.Time
		sent := time.Now()
		if err := db.QueryRowContext(ctx, db.Dialect.ClockQuery).Scan(&at); err != nil {
			return best
		}
		half := time.Since(sent) / 2
		if !best.Known || half < best.Uncertainty {
			best = Offset{Known: true, Ahead: at.Sub(sent.Add(half)), Uncertainty: half}
		}
	}
	return best
}

// tryLedger executes a ledger's query before the run has rows, and has the server explain
// their removal, which would otherwise fail after the run. Without an index the removal
// itself could lock rows of the service, although it finds none.
func tryLedger(ctx context.Context, db *database.DB, l spec.Ledger, run string) (tried Ledger) {
	tried.Read = within(ctx, func(ctx context.Context) error {
		return ledger.Read(ctx, db, l.Persisted, run, func(ledger.Entry) error { return nil })
	})
	if tried.Read == nil && len(l.Cleanup) > 0 {
		tried.Clean = within(ctx, func(ctx context.Context) error {
			var err error
			tried.Scan, err = ledger.Explain(ctx, db, l.Cleanup, run)
			return err
		})
	}
	return tried
}

// within executes a statement for at most ledgerTimeout.
func within(ctx context.Context, do func(context.Context) error) error {
	tooLong := fmt.Errorf("no answer within %s: %w", ledgerTimeout, context.DeadlineExceeded)
	ctx, cancel := context.WithTimeoutCause(ctx, ledgerTimeout, tooLong)
	defer cancel()
	if err := do(ctx); ctx.Err() == nil {
		return err
	}
	return context.Cause(ctx)
}
