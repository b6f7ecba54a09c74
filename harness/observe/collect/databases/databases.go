package databases

import (
	"context"
	"slices"
	"strings"

	"assay/harness/observe/collect/mysql"
	"assay/harness/observe/collect/postgres"
	"assay/harness/observe/collect/sampling"
	"assay/harness/observe/database"
)

// drivers are those of all families. The first that accepts a DSN has it: MySQL's,
// which accepts any, comes last.
var drivers = []Driver{
	postgres.Driver{},
	mysql.Driver{},
}

// Driver is all that Assay knows of one family of databases. It holds no state, and
// no error of its methods tells a password.
type Driver interface {
	// Accepts tells whether a DSN has the family's form.
	Accepts(dsn string) bool
	// Parse reads a DSN. It connects to nothing.
	Parse(dsn string) (database.DSN, error)
	// WithPassword is the DSN with this password; as it was where it cannot be read.
	WithPassword(dsn, password string) string
	// Open opens the database at the DSN, whose times are then in UTC. It does not
	// connect, and checks all that can be checked before.
	Open(dsn string) (*database.DB, error)
	// Dialect is how the family's servers are asked.
	Dialect() *database.Dialect
	// Collector samples the server at the DSN. It does not connect yet. What has to be
	// restored, should this process be killed, stands in files of the folder journal;
	// empty: nowhere.
	Collector(dsn, journal string) Collector
	// Examine looks, before a run, whether the waits of the server at the DSN can be
	// read, and changes nothing. Its error is the one that the collector's Start would
	// give: a *sampling.RightsError where the user may not read them, a
	// *sampling.BlindError where the server shows none.
	Examine(ctx context.Context, dsn string) (sampling.Examination, error)
}

// Collector is the collector of a database.
type Collector = sampling.Collector

// Replicator is a Driver whose family has replicas that tell their lag.
type Replicator interface {
	// Replica does not connect. source is the DSN of the database that the replica at
	// dsn follows; empty where the replica tells its lag without it.
	Replica(dsn, source string) database.LagReader
}

// Of is the driver of a DSN.
func Of(dsn string) Driver {
	for _, d := range drivers {
		if d.Accepts(dsn) {
			return d
		}
	}
	return drivers[len(drivers)-1]
}

// Open opens the database at a DSN. See Driver.
func Open(dsn string) (*database.DB, error) { return Of(dsn).Open(dsn) }

// Parse reads a DSN. See Driver.
func Parse(dsn string) (database.DSN, error) { return Of(dsn).Parse(dsn) }

// New makes the collector of the database at a DSN. See Driver.
func New(dsn, journal string) Collector { return Of(dsn).Collector(dsn, journal) }

// Public is a DSN without what is secret, as it may be printed and recorded; empty
// where it is none.
func Public(dsn string) string {
	d, _ := Parse(dsn)
	return d.Public
}

// Reason is what is at the bottom of an error: what the database said, the network,
// or this host.
func Reason(err error) string {
	for _, d := range drivers {
		if a, ok := d.Dialect().ServerError(err); ok {
			return a.Message
		}
	}
	return database.Reason(err)
}

// Examples are DSNs to show to people, one of each family.
func Examples() string {
	return either(func(d Driver) []string { return []string{d.Dialect().Example} })
}

// PublicExamples are the same without passwords.
func PublicExamples() string {
	return either(func(d Driver) []string { return []string{Public(d.Dialect().Example)} })
}

// Versions are the servers that are tested.
func Versions() string {
	return either(func(d Driver) []string { return d.Dialect().Versions })
}

// either joins what each driver has, MySQL's first.
func either(of func(Driver) []string) string {
	var all []string
	for _, d := range slices.Backward(drivers) {
		all = append(all, of(d)...)
	}
	last := len(all) - 1
	if last == 1 {
		return all[0] + " or " + all[1]
	}
	return strings.Join(all[:last], ", ") + ", or " + all[last]
}
