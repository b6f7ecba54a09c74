package main

import (
	"strings"

	"assay/harness/hint"
	"assay/harness/observe/collect/databases"
	opened "assay/harness/observe/database"
)

// namedDatabases are the database of a run, as the command line and the environment name
// it: by SQL, in Performance Insights, or both; and its replicas.
type namedDatabases struct {
	dsn      string           // empty: none
	insights *opened.Insights // nil: waits are read from the database itself
	readers  []string         // DSNs
}

// databaseNamed joins --db and --db-reader, which hold no password, with
// ASSAY_DB, which does. One of --db and ASSAY_DB may be of Performance Insights;
// the other is then the same database's DSN.
func databaseNamed(flag string, readers []string, env string) (n namedDatabases, err error) {
	byFlag, byEnv := strings.HasPrefix(flag, opened.InsightsScheme), strings.HasPrefix(env, opened.InsightsScheme)
	switch {
	case byFlag && byEnv:
		return n, &usageError{"both --db and ASSAY_DB are of Performance Insights", "let one of them be the database's DSN, or leave it out"}
	case byFlag || byEnv:
		text := flag
		if byFlag {
			flag = ""
		} else {
			text, env = env, ""
		}
		of, err := opened.ParseInsights(text)
		if err != nil {
			return n, usage(err)
		}
		n.insights = &of
	}
	if n.dsn, err = databaseDSN(flag, env, "--db"); err != nil {
		return namedDatabases{}, err
	}
	for _, reader := range readers {
		dsn, err := databaseDSN(reader, env, "--db-reader")
		if err != nil {
			return namedDatabases{}, err
		}
		n.readers = append(n.readers, dsn)
	}
	return n, nil
}

// databaseDSN joins an option, which holds no password, with ASSAY_DB, which
// does.
func databaseDSN(flag, env, option string) (string, error) {
	secret, err := databases.Parse(env)
	if env != "" && err != nil {
		return "", &usageError{"ASSAY_DB is not a DSN", "like " + databases.Examples()}
	}
	if flag == "" {
		return usable(env)
	}
	named, err := databases.Parse(flag)
	switch {
	case named.Password != "" || err != nil && holdsPassword(flag):
		return "", &usageError{option + " holds a password, which everybody on this host can read", "leave it out and set ASSAY_DB to the whole DSN"}
	case err != nil:
		return "", &usageError{option + " is not a DSN", "like " + databases.PublicExamples()}
	case env != "" && secret.User == named.User && databases.Of(env) == databases.Of(flag):
		flag = databases.Of(flag).WithPassword(flag, secret.Password)
	}
	return usable(flag)
}

// usable refuses a DSN whose parameters cannot be used, before anything is
// started for it.
func usable(dsn string) (string, error) {
	if dsn == "" {
		return "", nil
	}
	db, err := databases.Open(dsn)
	if err != nil {
		return "", usage(err)
	}
	return dsn, db.Close() // it was not connected to
}

func usage(err error) error {
	if next := hint.Of(err); next != "" {
		return &usageError{err.Error(), next}
	}
	return err
}

// holdsPassword tells whether something stands where a password would, in a DSN
// that may be none.
func holdsPassword(dsn string) bool {
	_, rest, schemed := strings.Cut(dsn, "://")
	if !schemed {
		rest = dsn
	}
	return strings.Contains(rest[:max(0, strings.LastIndex(rest, "@"))], ":")
}
