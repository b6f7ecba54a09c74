package databases

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/mask"
	"assay.dev/assay/internal/observe/collect"
	"assay.dev/assay/internal/observe/collect/mysql"
	"assay.dev/assay/internal/observe/collect/pi"
	"assay.dev/assay/internal/observe/collect/postgres"
	"assay.dev/assay/internal/observe/collect/sampling"
	"assay.dev/assay/internal/observe/database"
)

// drivers is the table of the families; nothing else names them. The first that accepts a
// DSN is used: MySQL, which accepts any, comes last.
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
	// Store opens the database at the DSN. It checks whatever it can without connecting.
	Store(dsn string) (database.Store, error)
	// Dialect describes the family, and its SQL if it has any.
	Dialect() *database.Dialect
	// Connector returns a connector for the scripts of a load, to the DSN's schema unless
	// another one is named. Its connections are dialled by dial.
	Connector(dsn, schema string, dial database.DialFunc) (driver.Connector, error)
	// Collector returns a collector for the server at the DSN. It does not connect.
	Collector(dsn string) Collector
	// Examine checks before a run whether waits can be read from the server at the DSN.
	// It changes nothing. It returns the error that the collector's Start would return:
	// a *sampling.RightsError if the user may not read them, a *sampling.BlindError if
	// the server shows none.
	Examine(ctx context.Context, dsn string) (sampling.Examination, error)
	// Replica returns a reader of the lag of the replica at dsn; nil: the family has none. It
	// does not connect. source is the DSN of the replica's source; empty if the replica
	// reports its lag itself.
	Replica(dsn, source string) database.LagReader
}

// Collector is the collector of a database.
type Collector = sampling.Collector

// Of returns the driver for a DSN.
func Of(dsn string) Driver {
	for _, d := range drivers {
		if d.Accepts(dsn) {
			return d
		}
	}
	return drivers[len(drivers)-1]
}

// Open opens the database at a DSN. See Driver.Store.
func Open(dsn string) (_ database.Store, err error) {
	defer foreign.Guard(&err)
	return Of(dsn).Store(dsn)
}

// OpenSQL opens the database at a DSN for statements of any kind, as experiments change it.
func OpenSQL(dsn string) (*database.DB, error) {
	store, err := Open(dsn)
	if err != nil {
		return nil, err
	}
	db, speaks := store.(*database.DB)
	if !speaks {
		return nil, errors.Join(&database.Error{
			Problem: Of(dsn).Dialect().Name + " is not changed by SQL", Remedy: "leave the experiment's changes of the database out",
		}, store.Close())
	}
	return db, nil
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

// Waits is a source of a database's waits other than the database itself.
type Waits interface {
	// String is the form that ParseWaits reads. It contains no secret.
	fmt.Stringer
	// Name is the source's, for display.
	Name() string
	// Examine requests waits once. It returns the error that a run would have.
	Examine(ctx context.Context) error
	// Rights are what a run's user needs, in words.
	Rights() string
	// Collector returns a collector, which waits for what is published late until interrupted
	// is done. It does not connect.
	Collector(interrupted context.Context) collect.Collector
}

// waits is the table of these sources, by the scheme of their names.
var waits = map[string]func(text string) (Waits, error){
	"pi": func(text string) (Waits, error) { return pi.Parse(text) },
}

// NamesWaits reports whether a text has the scheme of a source of waits.
func NamesWaits(text string) bool {
	scheme, _, found := strings.Cut(text, ":")
	return found && waits[scheme] != nil
}

// ParseWaits reads the name of a source of waits.
func ParseWaits(text string) (Waits, error) {
	scheme, _, _ := strings.Cut(text, ":")
	w, err := waits[scheme](text)
	if err != nil {
		return nil, err
	}
	return w, nil
}

// Node is a node of a cluster, or a way to it: a, b, proxy, ...
type Node struct {
	Name    string
	DSN     string // a secret
	Address string // host:port
}

var nodeName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,31}$`)

// ParseNodes reads the form of ASSAY_DB_NODES: NAME=DSN, separated by white space. Its
// errors name the position alone, as the text may hold passwords.
func ParseNodes(text string) (all []Node, err error) {
	seen := map[string]bool{}
	for i, word := range strings.Fields(text) {
		name, dsn, ok := strings.Cut(word, "=")
		wrong := func(what string) error {
			return hint.With(fmt.Errorf("entry %d %s", i+1, what), "like "+ExampleNodes())
		}
		if !ok || !nodeName.MatchString(name) {
			return nil, wrong("is not NAME=DSN")
		}
		parsed, err := Parse(dsn)
		if err != nil {
			return nil, wrong("has no valid DSN")
		}
		if seen[name] {
			return nil, wrong("has the name of an earlier one, " + name)
		}
		seen[name] = true
		all = append(all, Node{name, dsn, parsed.Address})
	}
	return all, nil
}

// ExampleNodes is an example for messages.
func ExampleNodes() string {
	return `"a=user:password@tcp(10.0.0.1:3306)/shop b=user:password@tcp(10.0.0.2:3306)/shop"`
}
