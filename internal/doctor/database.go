package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	"assay.dev/assay/internal/crash"
	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/observe/collect/databases"
	"assay.dev/assay/internal/observe/collect/host"
	"assay.dev/assay/internal/observe/collect/sampling"
	"assay.dev/assay/internal/observe/collect/service"
	"assay.dev/assay/internal/observe/database"
	"assay.dev/assay/internal/observe/ledger"
	"assay.dev/assay/internal/spec"
)

func noDatabase(loads []Load) Finding {
	for _, l := range loads {
		if why := whyDatabase(l.Profile); why != "" {
			return fail(CheckDatabase, "none is named", "a DSN",
				fmt.Sprintf("profile %s %s, and none is named", l.Profile.Name, why), "set ASSAY_DB to its DSN")
		}
	}
	return warn(CheckDatabase, "none is named", "a DSN",
		"no waits: no database was named (ASSAY_DB)", "set ASSAY_DB to a DSN like "+databases.Examples())
}

// missingNodes judges profiles that need the database's nodes if none is named.
func missingNodes(loads []Load, nodes string) (all Findings) {
	for _, l := range loads {
		if nodes == "" && l.Profile.NeedsNodes() {
			f := fail(CheckDatabase, "no node is named", "nodes", fmt.Sprintf("profile %s needs the database's nodes, and none is named", l.Profile.Name),
				"set ASSAY_DB_NODES to their DSNs, like "+databases.ExampleNodes())
			f.Profile = l.Profile.Name
			all = append(all, f)
		}
	}
	return all
}

func poolers(found map[string]error) (all Findings) {
	for _, name := range slices.Sorted(maps.Keys(found)) {
		all = append(all, fail(CheckDatabase, reason(found[name]), "servers", fmt.Sprintf("node %s of ASSAY_DB_NODES cannot be used: %s", name, reason(found[name])), hint.Of(found[name])))
	}
	return all
}

// whyDatabase says why a run of the profile cannot do without a database; "": it can.
func whyDatabase(p spec.Profile) string {
	switch {
	case p.NeedsDatabase():
		return "needs the database"
	case hasLedger(p):
		return "has a ledger, which is read from the database"
	case len(p.Invariants) > 0:
		return "has invariants, which are checked in the database"
	}
	return ""
}

// databaseFindings judges the database, and the rights of the run's user.
func (s Subject) databaseFindings(d Database, pool service.Pool) Findings {
	all := Findings{databaseServer(d)}
	if d.DSNErr != nil || d.Err != nil {
		return all
	}
	all = append(all, connections(d, pool, sizes(s.Loads)))
	if f, judged := databaseClock(d.Clock, s.Loads); judged {
		all = append(all, f)
	}
	for _, l := range s.Loads {
		for _, f := range l.Profile.Flows {
			title := l.Profile.Title(f)
			if tried, has := d.Ledgers[title]; has {
				all = append(all, ledgerFinding(title, s.File.Path, tried))
			}
		}
		if tried := d.Invariants[l.Profile.Name]; len(tried) > 0 {
			all = append(all, invariants(l.Profile, s.File.Path, tried))
		}
	}
	if s.Insights != nil { // the waits are not read from the database itself
		return all
	}
	return slices.Concat(all, waits(d), burdens(d))
}

func databaseServer(d Database) Finding {
	needed := databases.Versions()
	unusable := func(remedy string) Finding {
		c := check{CheckDatabase, reason(d.Err), needed, cmp.Or(hint.Of(d.Err), remedy)}
		return c.fail("database %s cannot be used: %s", d.Name, c.observed)
	}
	switch {
	case d.DSNErr != nil:
		return fail(CheckDatabase, reason(d.DSNErr), "a DSN", d.DSNErr.Error(), cmp.Or(hint.Of(d.DSNErr), "set ASSAY_DB to a DSN like "+databases.Examples()))
	case d.Full:
		return unusable(raiseConnectionLimit(d, "N"))
	case d.Err != nil:
		return unusable("check that it is running, and the user and password in ASSAY_DB")
	}
	c := check{CheckDatabase, d.Name + ", " + d.Version, needed, "use " + needed}
	if d.Dialect.Supports(d.Version) {
		return c.pass()
	}
	return c.warn("database %s has version %s, which was not tested", d.Name, d.Version)
}

// reserve is for connections that an administrator or a monitor may open during a run.
const reserve = 5

// connections judges the number of connections left. It includes those that the service's
// pool may still open, and those of scripts that connect to the database.
func connections(d Database, pool service.Pool, all []Size) Finding {
	want := d.Dialect.Connections + reserve
	if pool.Known && pool.Max > pool.Open {
		want += pool.Max - pool.Open
	}
	scripts := 0
	for _, s := range all {
		if s.Database {
			scripts = max(scripts, s.VUs())
		}
	}
	want += scripts
	left := max(0, d.Limit-d.Connected)
	c := check{CheckConnections, fmt.Sprintf("%d of %d left", left, d.Limit), fmt.Sprintf("%d left", want), raiseConnectionLimit(d, fmt.Sprint(d.Connected+2*want))}
	const few = "database %s has %d of %d connections left, and "
	switch {
	case d.Limit == 0:
		return c.unknown(fmt.Sprintf("the connection limit of database %s cannot be read", d.Name), "check max_connections of the server")
	case left < d.Dialect.Connections:
		return c.fail(few+"the run itself needs %d", d.Name, left, d.Limit, d.Dialect.Connections)
	case left < want:
		return c.warn(few+"the run and the service may need %d", d.Name, left, d.Limit, want)
	}
	return c.pass()
}

// raiseConnectionLimit is the hint to allow n connections.
func raiseConnectionLimit(d Database, n string) string {
	return fmt.Sprintf("raise the limit, as an administrator: "+d.Dialect.RaiseConnectionLimit+"; or close other connections", n)
}

// waits judges whether the collector can read the waits.
func waits(d Database) (all Findings) {
	const needed = "waits can be read"
	none := func(why, remedy string) Findings {
		return Findings{warn(CheckWaits, "cannot be read", needed, "no waits: "+why, remedy)}
	}
	var rights *sampling.RightsError
	var blind *sampling.BlindError
	switch err := d.WaitsErr; {
	case errors.As(err, &rights):
		return none(reason(rights.Err), rights.Hint())
	case errors.As(err, &blind):
		return none(blind.Why, blind.Remedy)
	case err != nil:
		return none(database.Line(err.Error()), hint.Of(err))
	case d.Waits.Disabled > 0 && len(d.Waits.Notes) == 0:
		return Findings{pass(CheckWaits, fmt.Sprintf("can be read; %d instruments and consumers are switched on for a run", d.Waits.Disabled), needed)}
	case len(d.Waits.Notes) == 0:
		return Findings{pass(CheckWaits, strings.Join(append([]string{"can be read"}, d.Waits.Hints...), "; "), needed)}
	}
	for _, note := range d.Waits.Notes {
		why, remedy := cutRemedy(note)
		all = append(all, warn(CheckWaits, "incomplete", needed, why, remedy))
	}
	return all
}

// burdens judges what runs that were killed have left on the server, and what a run costs
// it.
func burdens(d Database) (all Findings) {
	if d.Waits.Left != "" {
		why, remedy := cutRemedy(d.Waits.Left)
		all = append(all, fail(CheckLeftovers, "not as before the last run", "as before", why, remedy))
	}
	for _, burden := range d.Waits.Burdens {
		why, remedy := cutRemedy(burden)
		all = append(all, warn(CheckLogs, "the collector is logged", "not logged", why, remedy))
	}
	return all
}

// cutRemedy separates what a collector says from its remedy; empty: it has none.
func cutRemedy(note string) (why, remedy string) {
	const as = "run as an administrator: "
	why, remedy, found := strings.Cut(note, "; "+as)
	if found {
		remedy = as + remedy
	}
	return why, remedy
}

// ledgerFinding judges a profile's two statements. A slow one is only a warning: a run gives it
// more time.
func ledgerFinding(profile, file string, tried Ledger) Finding {
	f := pass(CheckLedger, "can be read and cleaned up", "")
	judge := func(err error, next, slow, failed, statement, right string) {
		c := check{name: CheckLedger, observed: reason(err)}
		if errors.Is(err, context.DeadlineExceeded) {
			c.remedy = "add an index for the run id in `" + statement + "`, or, if there is one, see which session locks the table"
			f = c.warn("%s the ledger of profile %s is slow: %s, although the run has no rows yet", slow, profile, c.observed)
			return
		}
		c.remedy = cmp.Or(next, "see `"+statement+"` in "+file+"; the database user needs "+right+" on its tables")
		f = c.fail("ledger of profile %s cannot be %s: %s", profile, failed, c.observed)
	}
	switch {
	case tried.Read != nil:
		judge(tried.Read, "", "reading", "read", "ledger.persisted", "SELECT")
	case tried.Clean != nil:
		judge(tried.Clean, hint.Of(tried.Clean), "cleaning up", "cleaned up", "ledger.cleanup", "DELETE")
	case tried.Scan.Rows > 0:
		c := check{CheckLedger, "cleaning up scans " + tried.Scan.Table, "", "add an index for the run id in `ledger.cleanup`"}
		f = c.warn("cleaning up the ledger of profile %s reads all of table %s, about %d rows: no index serves it", profile, tried.Scan.Table, tried.Scan.Rows)
	}
	f.Profile = profile
	return f
}

// invariants judges a profile's invariants together: one that cannot be checked counts more
// than those that are slow.
func invariants(p spec.Profile, file string, tried []error) Finding {
	f := pass(CheckInvariants, "can be checked", "")
	for i, err := range tried {
		why := fmt.Sprintf("invariant %q of profile %s ", p.Invariants[i].Name, p.Name)
		switch {
		case err == nil || f.State == Lacking:
		case errors.Is(err, context.DeadlineExceeded):
			f = warn(CheckInvariants, reason(err), "", why+"is slow to be explained: "+reason(err), "see which session locks its tables")
		default:
			f = fail(CheckInvariants, reason(err), "", why+"cannot be checked: "+reason(err), "see `invariants` in "+file+"; the database user needs SELECT on its tables")
		}
	}
	f.Profile = p.Name
	return f
}

// insightsOnly judges a run whose database is named only as an instance in Performance
// Insights, which reports waits but executes no SQL.
func insightsOnly(loads []Load) (all Findings) {
	const remedy = "set ASSAY_DB to the database's DSN, in addition to --db pi:..."
	for _, l := range loads {
		if why := whyDatabase(l.Profile); why != "" {
			all = append(all, fail(CheckDatabase, "only in Performance Insights", "a DSN", fmt.Sprintf("profile %s %s, but only Performance Insights is named", l.Profile.Name, why), remedy))
		}
	}
	return all
}

// insightsFinding judges whether the API responds. If it does not, the run can start
// without waits, with a limitation.
func insightsFinding(of databases.Waits, err error) Finding {
	const needed = "waits can be read"
	if err == nil {
		return pass(CheckWaits, of.String()+" answers", needed)
	}
	remedy := cmp.Or(hint.Of(err), of.Rights())
	return warn(CheckWaits, "cannot be read", needed, "no waits: "+reason(err), remedy)
}

// scriptDSN refuses a script that opens the database itself if the DSN has parameters
// that only this program knows: k6's driver would send them to the server as variables.
func scriptDSN(l Load, dsn string) (f Finding, refused bool) {
	named, err := databases.Parse(dsn)
	if err != nil || len(named.Extensions) == 0 || !l.Profile.NeedsDatabase() {
		return f, false
	}
	extensions := strings.Join(named.Extensions, " and ")
	f = fail(CheckDatabase, "a DSN that scripts cannot open", "a DSN without "+extensions,
		fmt.Sprintf("the script of profile %s opens the database itself, and k6 does not know %s", l.Profile.Name, extensions),
		"set ASSAY_DB to a DSN with a password, and with tls=true if this machine trusts the server's certificate")
	f.Profile = l.Profile.Name
	return f, true
}

const (
	// ledgerTimeout bounds one statement of a profile, which finds no rows yet or is only explained.
	ledgerTimeout = 3 * time.Second
	// databaseTimeout bounds the whole examination, for any number of profiles.
	databaseTimeout = 8 * time.Second
)

// Database is the state of the database, and which operations of a run it allows.
type Database struct {
	Name    string // the DSN without its password
	DSNErr  error  // why the DSN cannot be used; nil: it can
	Err     error  // why the database cannot be used; nil: it can
	Full    bool   // Err is that the connection limit is reached
	Local   bool   // on this machine
	Dialect *database.Dialect
	database.Facts
	Waits    sampling.Examination
	WaitsErr error
	Ledgers  map[string]Ledger // by profile, or by flow of one
	// Invariants are why those of a profile cannot be checked, in its order; nil: it can.
	Invariants map[string][]error
}

// Ledger holds the errors of the two statements of a profile or a flow.
type Ledger struct {
	Read, Clean error         // nil: the statement works, or there is none
	Scan        database.Scan // table that the removal scans
}

// examineDatabase connects and tries the operations of a run, but for those that change
// something. It reads the profiles' ledgers with the id of a run that has no rows.
func examineDatabase(ctx context.Context, dsn, run string, profiles []spec.Profile) (d Database) {
	defer foreign.Guard(&d.Err) // catches a panic of the driver, which parses what the server sends
	ctx, cancel := context.WithTimeout(ctx, databaseTimeout)
	defer cancel()
	driver := databases.Of(dsn)
	d.Dialect = driver.Dialect()
	db, err := driver.Store(dsn)
	if err != nil {
		d.DSNErr = err
		return d
	}
	defer db.Close()               // nothing was written
	parsed, _ := driver.Parse(dsn) // Open has parsed it
	d.Name, d.Local = parsed.Public, isLocal(ctx, parsed.Address)
	if err := db.Ping(ctx); err != nil {
		d.Err, d.Full = err, d.Dialect.Is(err, database.TooManyConnections)
		return d
	}
	d.Facts = db.Facts(ctx)
	d.Ledgers, d.Invariants = map[string]Ledger{}, map[string][]error{}
	for _, p := range profiles {
		for _, f := range p.Flows {
			if f.Ledger != nil {
				d.Ledgers[p.Title(f)] = tryLedger(ctx, db, *f.Ledger, run)
			}
		}
		for _, i := range p.Invariants {
			d.Invariants[p.Name] = append(d.Invariants[p.Name], within(ctx, ledgerTimeout, func(ctx context.Context) error {
				_, err := db.Try(ctx, i.SQL, run)
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

// examinePoolers connects to the nodes of ASSAY_DB_NODES, and returns the errors of those at
// which a connection pooler answers, by name. What else is wrong with a node is the script's
// to report: Assay itself uses none.
func examinePoolers(ctx context.Context, nodes []databases.Node) map[string]error {
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
			errs[i] = db.Ping(ctx)
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

// tryLedger executes a ledger's query before the run has rows, and has the server explain
// their removal, which would otherwise fail after the run. Without an index the removal
// itself could lock rows of the service, although it finds none.
func tryLedger(ctx context.Context, db database.Store, l spec.Ledger, run string) (tried Ledger) {
	tried.Read = within(ctx, ledgerTimeout, func(ctx context.Context) error {
		return (&ledger.Query{Run: run, SQL: l.Persisted}).Read(ctx, db, func(ledger.Entry) error { return nil })
	})
	if tried.Read == nil && len(l.Cleanup) > 0 {
		tried.Clean = within(ctx, ledgerTimeout, func(ctx context.Context) error {
			var err error
			tried.Scan, err = db.Explain(ctx, l.Cleanup, run)
			return err
		})
	}
	return tried
}

// within does something for at most the timeout. Its error is then that there was no answer.
func within(ctx context.Context, timeout time.Duration, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("no answer within %s: %w", timeout, context.DeadlineExceeded))
	defer cancel()
	err := do(ctx)
	var known *database.Error
	if err == nil || ctx.Err() == nil || errors.As(err, &known) {
		return err
	}
	return context.Cause(ctx)
}
