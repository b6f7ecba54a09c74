package databases

import (
	"context"

	"assay/harness/observe/collect"
	"assay/harness/observe/collect/mysql"
	"assay/harness/observe/collect/postgres"
	"assay/harness/observe/collect/sampling"
	"assay/harness/observe/database"
	"assay/harness/observe/record"
)

// Collector is that of a database.
type Collector interface {
	collect.Collector
	// Describe tells what the server is, also after a failed Start and while
	// Run runs.
	Describe(ctx context.Context) (record.Database, error)
	// Notes are the limits of what was seen, as sentences for the certificate,
	// each with what would lift it.
	Notes() []string
}

// New makes the collector of the database at the DSN. It does not connect. What
// has to be restored, should this process be killed, stands in files of the
// journal's folder; empty: nowhere.
func New(dsn, journal string) Collector {
	if database.FamilyOf(dsn) == database.PostgreSQL {
		return postgres.New(dsn)
	}
	return mysql.New(dsn, mysql.Options{Journal: journal})
}

// Examine looks, before a run, whether the waits of the database at the DSN can
// be read, and changes nothing. Its error is the one that Start would give: a
// *sampling.RightsError where the user may not read them, a *sampling.BlindError
// where the server shows none.
func Examine(ctx context.Context, dsn string) (sampling.Examination, error) {
	if database.FamilyOf(dsn) == database.PostgreSQL {
		return postgres.Examine(ctx, dsn)
	}
	return mysql.Examine(ctx, dsn)
}
