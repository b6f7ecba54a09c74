package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"assay/harness/doctor/probe"
	"assay/harness/hint"
	"assay/harness/observe/collect/databases"
	"assay/harness/observe/collect/sampling"
	"assay/harness/observe/collect/service"
	"assay/harness/spec"
)

// noDatabase judges a run without one.
func noDatabase(loads []Load) Finding {
	for _, l := range loads {
		if slices.Contains(l.Profile.Needs, "db") {
			return bad(CheckDatabase, "none is named", "a DSN",
				fmt.Sprintf("profile %s needs the database, and none is named", l.Profile.Name), "set ASSAY_DB to its DSN")
		}
	}
	return doubtful(CheckDatabase, "none is named", "a DSN",
		"no waits: no database was named (ASSAY_DB)", "set ASSAY_DB to a DSN like "+databases.Examples())
}

// databaseFindings judge what the database is, and what a run may do there; sampled
// says that its waits are read from it.
func databaseFindings(d probe.Database, pool service.Pool, file spec.File, loads []Load, sampled bool) Findings {
	all := Findings{databaseItself(d)}
	if d.DSN != nil || d.Err != nil {
		return all
	}
	all = append(all, connections(d, pool, sizes(loads)))
	if f, judged := databaseClock(d.Clock, loads); judged {
		all = append(all, f)
	}
	for _, l := range loads {
		if tried, has := d.Ledgers[l.Profile.Name]; has {
			all = append(all, ledger(l.Profile.Name, file.Path, tried))
		}
	}
	if !sampled { // waits are read from elsewhere
		return all
	}
	return append(all, waits(d)...)
}

func databaseItself(d probe.Database) Finding {
	needed := databases.Versions()
	switch {
	case d.DSN != nil:
		return bad(CheckDatabase, reason(d.DSN), "a DSN", d.DSN.Error(), cmp.Or(hint.Of(d.DSN), "set ASSAY_DB to a DSN like "+databases.Examples()))
	case d.Full:
		return bad(CheckDatabase, reason(d.Err), needed, fmt.Sprintf("database %s cannot be used: %s", d.Name, reason(d.Err)), raiseConnectionLimit(d, "N"))
	case d.Err != nil:
		return bad(CheckDatabase, reason(d.Err), needed, fmt.Sprintf("database %s cannot be used: %s", d.Name, reason(d.Err)),
			cmp.Or(hint.Of(d.Err), "see that it is up and what ASSAY_DB says of user and password"))
	}
	observed := d.Name + ", " + d.Version
	if d.Dialect.Supports(d.Version) {
		return fine(CheckDatabase, observed, needed)
	}
	return doubtful(CheckDatabase, observed, needed,
		fmt.Sprintf("database %s is version %s, with which nothing was tested", d.Name, d.Version), "take "+needed)
}

const (
	// ownConnections are the collector's, and the ledger's when it is read back.
	ownConnections = 2
	// reserve is for connections that an administrator or a monitor may open during a
	// run.
	reserve = 5
)

// connections judges what the server's limit leaves. The part of the service's pool
// that is not open yet, and a script that opens the database itself, need connections
// too.
func connections(d probe.Database, pool service.Pool, all []Size) Finding {
	want := ownConnections + reserve
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
		return doubtful(CheckConnections, "not known", needed, fmt.Sprintf("how many connections database %s has left cannot be read", d.Name), "see what the server says of max_connections")
	}
	left := max(0, d.Limit-d.Connected)
	observed := fmt.Sprintf("%d of %d left", left, d.Limit)
	why := fmt.Sprintf("database %s has %d of %d connections left", d.Name, left, d.Limit)
	remedy := raiseConnectionLimit(d, fmt.Sprint(d.Connected+2*want))
	switch {
	case left < ownConnections:
		return bad(CheckConnections, observed, needed, fmt.Sprintf("%s, and the run itself needs %d", why, ownConnections), remedy)
	case left < want:
		return doubtful(CheckConnections, observed, needed, fmt.Sprintf("%s, and the run and the service may take %d", why, want), remedy)
	default:
		return fine(CheckConnections, observed, needed)
	}
}

// raiseConnectionLimit is how the database takes up to n connections.
func raiseConnectionLimit(d probe.Database, n string) string {
	return fmt.Sprintf("let it take more, as an administrator: "+d.Dialect.RaiseConnectionLimit+"; or end what holds them", n)
}

// waits judges what the collector will see.
func waits(d probe.Database) Findings {
	const needed = "waits can be read"
	var rights *sampling.RightsError
	var blind *sampling.BlindError
	switch err := d.WaitsErr; {
	case errors.As(err, &rights):
		return Findings{bad(CheckWaits, reason(rights.Err), needed,
			fmt.Sprintf("waits of database %s cannot be read: %s", d.Name, reason(rights.Err)), "run as an administrator: "+rights.SQL)}
	case errors.As(err, &blind):
		return Findings{doubtful(CheckWaits, "none can be seen", needed, "no waits: "+blind.Why, blind.Remedy)}
	case err != nil:
		return Findings{doubtful(CheckWaits, "none can be seen", needed, "no waits: "+err.Error(), "")}
	case len(d.Waits.Notes) > 0:
		var all Findings
		for _, note := range d.Waits.Notes {
			why, remedy, _ := strings.Cut(note, "; run as an administrator: ")
			all = append(all, doubtful(CheckWaits, "not all can be seen", needed, why, "run as an administrator: "+remedy))
		}
		return all
	case d.Waits.Off > 0:
		return Findings{fine(CheckWaits, fmt.Sprintf("can be read; %d instruments and consumers are switched on for a run", d.Waits.Off), needed)}
	}
	return Findings{fine(CheckWaits, strings.Join(append([]string{"can be read"}, d.Waits.Hints...), "; "), needed)}
}

// ledger judges a profile's two statements. One that takes long now is only warned
// of: a run gives it more time.
func ledger(profile, file string, tried probe.Ledger) Finding {
	f := fine(CheckLedger, "can be read and cleaned up", "")
	switch read, clean := tried.Read, tried.Clean; {
	case errors.Is(read, context.DeadlineExceeded):
		f = doubtful(CheckLedger, reason(read), "", fmt.Sprintf("ledger of profile %s is read slowly: %s, without one row of the run", profile, reason(read)),
			"index the column of `ledger.persisted` that holds the run's id")
	case read != nil:
		f = bad(CheckLedger, reason(read), "", fmt.Sprintf("ledger of profile %s cannot be read: %s", profile, reason(read)),
			"see `ledger.persisted` in "+file+"; the database user needs SELECT on its tables")
	case errors.Is(clean, context.DeadlineExceeded):
		f = doubtful(CheckLedger, reason(clean), "", fmt.Sprintf("ledger of profile %s is cleaned up slowly: %s, without one row of the run", profile, reason(clean)),
			"index the column of `ledger.cleanup` that holds the run's id")
	case clean != nil:
		f = bad(CheckLedger, reason(clean), "", fmt.Sprintf("ledger of profile %s cannot be cleaned up: %s", profile, reason(clean)),
			"see `ledger.cleanup` in "+file+"; the database user needs DELETE on its tables")
	}
	f.Profile = profile
	return f
}
