package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"assay/harness/hint"
	"assay/harness/observe/collect/databases"
	"assay/harness/observe/database"
)

// insightsAlone judges a run whose database is named only as an instance in
// Performance Insights, which shows waits and answers no SQL.
func insightsAlone(loads []Load) (all Findings) {
	const remedy = "name the database as well, with ASSAY_DB: its DSN stands beside --db pi:..."
	for _, l := range loads {
		why := ""
		switch {
		case slices.Contains(l.Profile.Needs, "db"):
			why = "needs the database"
		case l.Profile.Ledger != nil:
			why = "has a ledger, which is read from the database"
		default:
			continue
		}
		f := bad(CheckDatabase, "only in Performance Insights", "a DSN", fmt.Sprintf("profile %s %s, and only its Performance Insights are named", l.Profile.Name, why), remedy)
		all = append(all, f)
	}
	return all
}

// insightsFinding judges what the API answers. Without an answer the run goes on: the
// missing waits are a limitation.
func insightsFinding(of database.Insights, err error) Finding {
	const needed = "waits can be read"
	if err == nil {
		return fine(CheckWaits, of.String()+" answers", needed)
	}
	remedy := cmp.Or(hint.Of(err), "see that pi:GetResourceMetrics is allowed, and Performance Insights is switched on")
	return doubtful(CheckWaits, "none can be seen", needed, "no waits: "+reason(err), remedy)
}

// scriptDSN refuses a script that opens the database itself where the DSN has
// parameters that only this program knows: k6's driver would send them to the
// server as variables.
func scriptDSN(l Load, dsn string) (f Finding, refused bool) {
	named, err := databases.Parse(dsn)
	if err != nil || len(named.Extensions) == 0 || !slices.Contains(l.Profile.Needs, "db") {
		return f, false
	}
	f = bad(CheckDatabase, "a DSN that scripts cannot open", "one of the driver alone",
		fmt.Sprintf("the script of profile %s opens the database itself, and k6 does not know %s", l.Profile.Name, strings.Join(named.Extensions, " and ")),
		"set ASSAY_DB to a DSN with a password, and with tls=true where the server's certificate is one that this machine trusts")
	f.Profile = l.Profile.Name
	return f, true
}
