package system

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/localstack"
	"assay.dev/assay/internal/mask"
	"assay.dev/assay/internal/observe/collect/databases"
	"assay.dev/assay/internal/observe/record"
)

// Databases are the database of a run, read by SQL, Performance Insights or both, and
// its replicas.
type Databases struct {
	DSN      string          // with the password; empty: none
	Insights databases.Waits // nil: waits are read from the database itself
	Readers  []string        // DSNs of replicas
}

func (d Databases) named() bool { return d.DSN != "" || d.Insights != nil }

// ParseDatabases combines --db and --db-reader, which have no password, with ASSAY_DB,
// which has one. One of --db and ASSAY_DB may be a Performance Insights URL; the other is
// then the DSN of the same database.
func ParseDatabases(db string, readers []string, env string) (Databases, error) {
	d, err := combine(db, readers, env)
	if err != nil {
		return Databases{}, err
	}
	for _, dsn := range append([]string{d.DSN}, d.Readers...) {
		if err := checkDSN(dsn); err != nil {
			return Databases{}, err
		}
	}
	return d, nil
}

// CheckDatabases refuses what ParseDatabases refuses where this is not the machine of the
// run: the files that a DSN names, such as certificate authorities, are elsewhere.
func CheckDatabases(db string, readers []string, env string) error {
	_, err := combine(db, readers, env)
	return err
}

// combine is ParseDatabases, but for the parameters of DSNs.
func combine(db string, readers []string, env string) (d Databases, err error) {
	for _, text := range []*string{&db, &env} {
		if !databases.NamesWaits(*text) {
			continue
		}
		if d.Insights != nil {
			return Databases{}, hint.With(errors.New("both --db and ASSAY_DB name "+d.Insights.Name()), "set one of them to the database's DSN, or omit it")
		}
		if d.Insights, err = databases.ParseWaits(*text); err != nil {
			return Databases{}, err
		}
		*text = ""
	}
	if d.DSN, err = combineDSN("--db", db, env); err != nil {
		return Databases{}, err
	}
	for _, reader := range readers {
		dsn, err := combineDSN("--db-reader", reader, env)
		if err != nil {
			return Databases{}, err
		}
		d.Readers = append(d.Readers, dsn)
	}
	return d, nil
}

// DatabaseOrStack is the DSN of --db and ASSAY_DB together, or, without either, that of the
// local stack that is up.
func DatabaseOrStack(ctx context.Context, db, env string) (string, error) {
	d, err := ParseDatabases(db, nil, env)
	if err != nil || d.DSN != "" {
		return d.DSN, err
	}
	if state, err := localstack.Status(ctx, localstack.DefaultDir); err == nil && state != nil && state.Ready {
		return state.Collector, nil
	}
	return "", hint.With(errors.New("no database is named, and no local stack is up"), "set ASSAY_DB to its DSN, or: assay-lab stack up")
}

// combineDSN combines the value of an option, which has no password, with ASSAY_DB, which
// has one.
func combineDSN(option, value, env string) (string, error) {
	secret, err := databases.Parse(env)
	if env != "" && err != nil {
		return "", hint.With(errors.New("ASSAY_DB is not a DSN"), "like "+databases.Examples())
	}
	if value == "" {
		return env, nil
	}
	named, err := databases.Parse(value)
	switch {
	case named.Password != "" || mask.Holds(value) || err != nil && hasPassword(value):
		return "", hint.With(errors.New(option+" holds a password, which every user of this host can read"), "remove it and set ASSAY_DB to the whole DSN")
	case err != nil:
		return "", hint.With(errors.New(option+" is not a DSN"), "like "+databases.PublicExamples())
	case env != "" && secret.User == named.User && databases.Of(env) == databases.Of(value):
		value = databases.Of(value).WithPassword(value, secret.Password)
	}
	return value, nil
}

// checkDSN refuses a DSN with invalid parameters, before anything is started. Empty: there
// is none.
func checkDSN(dsn string) error {
	if dsn == "" {
		return nil
	}
	db, err := databases.Open(dsn)
	if err != nil {
		return err
	}
	return db.Close() // Open does not connect
}

// hasPassword reports whether an invalid DSN has text where a password would be.
func hasPassword(text string) bool {
	_, rest, schemed := strings.Cut(text, "://")
	if !schemed {
		rest = text
	}
	return strings.Contains(rest[:max(0, strings.LastIndex(rest, "@"))], ":")
}

// DescribeDatabase describes the present database without changing it. db and env are
// the values of --db and ASSAY_DB.
func DescribeDatabase(ctx context.Context, db, env string) (record.Database, error) {
	dsn, err := combineDSN("--db", db, env)
	if err == nil {
		err = checkDSN(dsn)
	}
	if err != nil {
		return record.Database{}, err
	}
	collector := databases.New(dsn)
	now, err := collector.Describe(ctx)
	if err := errors.Join(err, collector.Close()); err != nil {
		return record.Database{}, hint.With(errors.New("the database cannot be compared: "+databases.Reason(err)), cmp.Or(hint.Of(err), "check --db, and the password in ASSAY_DB; or omit --db"))
	}
	return now, nil
}
