package doctor

import (
	"cmp"
	"fmt"
	"strings"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/observe/collect/databases"
	"assay.dev/assay/internal/observe/database"
)

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
func insightsFinding(of database.Insights, err error) Finding {
	const needed = "waits can be read"
	if err == nil {
		return pass(CheckWaits, of.String()+" answers", needed)
	}
	remedy := cmp.Or(hint.Of(err), "check that pi:GetResourceMetrics is allowed, and Performance Insights is enabled")
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
