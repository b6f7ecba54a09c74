package databases

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/mask"
	"assay.dev/assay/internal/observe/collect/mysql"
	"assay.dev/assay/internal/observe/collect/postgres"
	"assay.dev/assay/internal/observe/collect/sampling"
	"assay.dev/assay/internal/observe/database"
)

// drivers lists all families. The first that accepts a DSN is used: MySQL, which
// accepts any, comes last.
var drivers = []Driver{
	postgres.Driver{},
	mysql.Driver{},
}

// Driver is the support for one database family. It holds no state, and its errors
// never contain a password.
type Driver interface {
	// Accepts reports whether a DSN has the family's form.
	Accepts(dsn string) bool
	// Parse reads a DSN. It connects to nothing.
	Parse(dsn string) (database.DSN, error)
	// WithPassword returns the DSN with this password, or unchanged if it is invalid.
	WithPassword(dsn, password string) string
	// Open opens the database at the DSN, with sessions in UTC. It checks whatever it
	// can without connecting.
	Open(dsn string) (*database.DB, error)
	// Dialect describes the family's SQL.
	Dialect() *database.Dialect
	// Collector returns a collector for the server at the DSN. It does not connect.
	Collector(dsn string) Collector
	// Examine checks before a run whether waits can be read from the server at the DSN.
	// It changes nothing. It returns the error that the collector's Start would return:
	// a *sampling.RightsError if the user may not read them, a *sampling.BlindError if
	// the server shows none.
	Examine(ctx context.Context, dsn string) (sampling.Examination, error)
}

// Collector is the collector of a database.
type Collector = sampling.Collector

// Replicator is a Driver whose family supports reading the lag of replicas.
type Replicator interface {
	// Replica returns a reader of the lag of the replica at dsn. It does not connect.
	// source is the DSN of the replica's source; empty if the replica reports its lag
	// itself.
	Replica(dsn, source string) database.LagReader
}

// Of returns the driver for a DSN.
func Of(dsn string) Driver {
	for _, d := range drivers {
		if d.Accepts(dsn) {
			return d
		}
	}
	return drivers[len(drivers)-1]
}

// Open opens the database at a DSN. See Driver.
func Open(dsn string) (_ *database.DB, err error) {
	defer foreign.Guard(&err)
	return Of(dsn).Open(dsn)
}

// Parse reads a DSN. See Driver.
func Parse(dsn string) (_ database.DSN, err error) {
	defer foreign.Guard(&err)
	return Of(dsn).Parse(dsn)
}

// New returns the collector for the database at a DSN. See Driver.
func New(dsn string) Collector { return Of(dsn).Collector(dsn) }

// Public returns a DSN without its secrets, as it may be printed and recorded; empty
// if it is invalid.
func Public(dsn string) string {
	d, _ := Parse(dsn)
	return d.Public
}

// Reason returns the root cause of an error, as the database, the network or this host
// reported it, in one line (database.Line).
func Reason(err error) string {
	reason := ""
	for _, d := range drivers {
		if a, ok := d.Dialect().ServerError(err); ok {
			reason = mask.Text(a.Message)
			break
		}
	}
	return database.Line(cmp.Or(reason, database.Reason(err)))
}

// Examples returns example DSNs for messages, one per family.
func Examples() string {
	return joinWithOr(func(d Driver) []string { return []string{d.Dialect().Example} })
}

// PublicExamples is Examples without passwords.
func PublicExamples() string {
	return joinWithOr(func(d Driver) []string { return []string{Public(d.Dialect().Example)} })
}

// Versions returns the server versions that are tested.
func Versions() string {
	return joinWithOr(func(d Driver) []string { return d.Dialect().Versions })
}

// joinWithOr joins the texts of all drivers with "or", those of MySQL first.
func joinWithOr(texts func(Driver) []string) string {
	var all []string
	for _, d := range slices.Backward(drivers) {
		all = append(all, texts(d)...)
	}
	last := len(all) - 1
	if last == 1 {
		return all[0] + " or " + all[1]
	}
	return strings.Join(all[:last], ", ") + ", or " + all[last]
}
