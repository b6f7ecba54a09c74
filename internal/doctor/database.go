package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"assay.dev/assay/internal/doctor/probe"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/observe/collect/databases"
	"assay.dev/assay/internal/observe/collect/sampling"
	"assay.dev/assay/internal/observe/collect/service"
	"assay.dev/assay/internal/observe/database"
	"assay.dev/assay/internal/spec"
)

// noDatabase judges a run without a database.
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

// poolers judges the database's nodes at which connection poolers answer.
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
func (s Subject) databaseFindings(d probe.Database, pool service.Pool) Findings {
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
				all = append(all, ledger(title, s.File.Path, tried))
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

func databaseServer(d probe.Database) Finding {
	needed := databases.Versions()
	switch {
	case d.DSNErr != nil:
		return fail(CheckDatabase, reason(d.DSNErr), "a DSN", d.DSNErr.Error(), cmp.Or(hint.Of(d.DSNErr), "set ASSAY_DB to a DSN like "+databases.Examples()))
	case d.Full:
		return fail(CheckDatabase, reason(d.Err), needed, fmt.Sprintf("database %s cannot be used: %s", d.Name, reason(d.Err)), cmp.Or(hint.Of(d.Err), raiseConnectionLimit(d, "N")))
	case d.Err != nil:
		return fail(CheckDatabase, reason(d.Err), needed, fmt.Sprintf("database %s cannot be used: %s", d.Name, reason(d.Err)),
			cmp.Or(hint.Of(d.Err), "check that it is running, and the user and password in ASSAY_DB"))
	}
	observed := d.Name + ", " + d.Version
	if d.Dialect.Supports(d.Version) {
		return pass(CheckDatabase, observed, needed)
	}
	return warn(CheckDatabase, observed, needed,
		fmt.Sprintf("database %s has version %s, which was not tested", d.Name, d.Version), "use "+needed)
}

// reserve is for connections that an administrator or a monitor may open during a run.
const reserve = 5

// connections judges the number of connections left. It includes those that the service's
// pool may still open, and those of scripts that connect to the database.
func connections(d probe.Database, pool service.Pool, all []Size) Finding {
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
	needed := fmt.Sprintf("%d left", want)
	if d.Limit == 0 {
		return warn(CheckConnections, "not known", needed, fmt.Sprintf("the connection limit of database %s cannot be read", d.Name), "check max_connections of the server")
	}
	left := max(0, d.Limit-d.Connected)
	observed := fmt.Sprintf("%d of %d left", left, d.Limit)
	why := fmt.Sprintf("database %s has %d of %d connections left", d.Name, left, d.Limit)
	remedy := raiseConnectionLimit(d, fmt.Sprint(d.Connected+2*want))
	switch {
	case left < d.Dialect.Connections:
		return fail(CheckConnections, observed, needed, fmt.Sprintf("%s, and the run itself needs %d", why, d.Dialect.Connections), remedy)
	case left < want:
		return warn(CheckConnections, observed, needed, fmt.Sprintf("%s, and the run and the service may need %d", why, want), remedy)
	default:
		return pass(CheckConnections, observed, needed)
	}
}

// raiseConnectionLimit is the hint to allow n connections.
func raiseConnectionLimit(d probe.Database, n string) string {
	return fmt.Sprintf("raise the limit, as an administrator: "+d.Dialect.RaiseConnectionLimit+"; or close other connections", n)
}

// waits judges whether the collector can read the waits.
func waits(d probe.Database) Findings {
	const needed = "waits can be read"
	var rights *sampling.RightsError
	var blind *sampling.BlindError
	switch err := d.WaitsErr; {
	case errors.As(err, &rights):
		return Findings{warn(CheckWaits, "cannot be read", needed, "no waits: "+reason(rights.Err), rights.Hint())}
	case errors.As(err, &blind):
		return Findings{warn(CheckWaits, "cannot be read", needed, "no waits: "+blind.Why, blind.Remedy)}
	case err != nil:
		return Findings{warn(CheckWaits, "cannot be read", needed, "no waits: "+database.Line(err.Error()), hint.Of(err))}
	case len(d.Waits.Notes) > 0:
		var all Findings
		for _, note := range d.Waits.Notes {
			why, remedy := cutRemedy(note)
			all = append(all, warn(CheckWaits, "incomplete", needed, why, remedy))
		}
		return all
	case d.Waits.Disabled > 0:
		return Findings{pass(CheckWaits, fmt.Sprintf("can be read; %d instruments and consumers are switched on for a run", d.Waits.Disabled), needed)}
	}
	return Findings{pass(CheckWaits, strings.Join(append([]string{"can be read"}, d.Waits.Hints...), "; "), needed)}
}

// burdens judges what runs that were killed have left on the server, and what a run costs
// it.
func burdens(d probe.Database) (all Findings) {
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

// ledger judges a profile's two statements. A slow one is only a warning: a run gives it
// more time.
func ledger(profile, file string, tried probe.Ledger) Finding {
	f := pass(CheckLedger, "can be read and cleaned up", "")
	switch read, clean := tried.Read, tried.Clean; {
	case errors.Is(read, context.DeadlineExceeded):
		f = warn(CheckLedger, reason(read), "", fmt.Sprintf("reading the ledger of profile %s is slow: %s, although the run has no rows yet", profile, reason(read)),
			"add an index for the run id in `ledger.persisted`, or, if there is one, see which session locks the table")
	case read != nil:
		f = fail(CheckLedger, reason(read), "", fmt.Sprintf("ledger of profile %s cannot be read: %s", profile, reason(read)),
			"see `ledger.persisted` in "+file+"; the database user needs SELECT on its tables")
	case errors.Is(clean, context.DeadlineExceeded):
		f = warn(CheckLedger, reason(clean), "", fmt.Sprintf("cleaning up the ledger of profile %s is slow: %s, although the run has no rows yet", profile, reason(clean)),
			"add an index for the run id in `ledger.cleanup`, or, if there is one, see which session locks the table")
	case clean != nil:
		f = fail(CheckLedger, reason(clean), "", fmt.Sprintf("ledger of profile %s cannot be cleaned up: %s", profile, reason(clean)),
			cmp.Or(hint.Of(clean), "see `ledger.cleanup` in "+file+"; the database user needs DELETE on its tables"))
	case tried.Scan.Rows > 0:
		f = warn(CheckLedger, "cleaning up scans "+tried.Scan.Table, "", fmt.Sprintf("cleaning up the ledger of profile %s reads all of table %s, about %d rows: no index serves it", profile, tried.Scan.Table, tried.Scan.Rows),
			"add an index for the run id in `ledger.cleanup`")
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
