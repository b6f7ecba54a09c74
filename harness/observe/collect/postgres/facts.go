package postgres

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"assay/harness/observe/collect/sampling"
)

//go:embed sql/facts.sql
var factsSQL string

// facts say what the user may see, and what the server counts.
type facts struct {
	user, database string // quoted
	all            bool   // the sessions of every user can be seen
	hidden         int    // number of sessions of this database that cannot be seen
	queryID        bool   // sessions tell their statement
	activities     bool   // sessions tell what they do
	timing         bool   // of page reads and writes
	track          string // which statements are counted; empty: the library is not loaded
	schema         string // of the extension that counts statements, quoted; empty: it is missing
	version        string // of the extension
}

// counted tells whether the times of statements can be read.
func (f facts) counted() bool {
	return f.schema != "" && f.track != "" && f.track != "none" && !f.old()
}

// old tells that the extension is of a server before 14 and was not upgraded with it.
func (f facts) old() bool {
	var major, minor int
	_, err := fmt.Sscanf(f.version, "%d.%d", &major, &minor)
	return err != nil || major == 1 && minor < 9
}

// readFacts reads the facts, and notes what they lack.
func (c *Collector) readFacts(ctx context.Context) error {
	var f facts
	err := c.link.query(ctx, factsSQL, nil, func(rows pgx.Rows) error {
		return rows.Scan(&f.user, &f.database, &f.all, &f.hidden, &f.queryID, &f.activities, &f.timing, &f.track, &f.schema, &f.version)
	})
	if err != nil {
		return fmt.Errorf("read rights and settings: %w", err)
	}
	c.facts = f
	grant := fmt.Sprintf("GRANT pg_monitor TO %s;", f.user)
	switch {
	case !f.activities:
		return &sampling.BlindError{
			Why:    fmt.Sprintf("track_activities is off in %s %s, so waits cannot be observed", flavour, c.server.version),
			Remedy: "run as an administrator: ALTER SYSTEM SET track_activities = on; SELECT pg_reload_conf();",
		}
	case !f.all && f.hidden > 0:
		return &sampling.RightsError{
			Err: errors.New("look at sessions: permission denied for those of other users"), SQL: grant,
		}
	case !f.all:
		c.notes.Add("database: sessions of other users than %s cannot be seen; run as an administrator: %s", f.user, grant)
	}
	c.noteStatements()
	if !f.timing {
		c.hints = append(c.hints, "track_io_timing is off: blk_read_time and blk_write_time stay 0 (ALTER SYSTEM SET track_io_timing = on; SELECT pg_reload_conf();)")
	}
	return nil
}

// noteStatements notes why single statements cannot be seen.
func (c *Collector) noteStatements() {
	f := c.facts
	extension := fmt.Sprintf("CREATE EXTENSION pg_stat_statements; -- in database %s", f.database)
	switch {
	case f.track == "":
		if f.schema == "" {
			extension = "; restart it; " + extension
		} else {
			extension = "; restart it"
		}
		c.notes.Add("database: times of statements are not recorded; run as an administrator: add pg_stat_statements to the server's shared_preload_libraries%s", extension)
		return
	case f.schema == "":
		c.notes.Add("database: times of statements are not recorded; run as an administrator: %s", extension)
	case f.old():
		c.notes.Add("database: times of statements are not recorded: version %s of the extension pg_stat_statements is too old; run as an administrator: ALTER EXTENSION pg_stat_statements UPDATE; -- in database %s", f.version, f.database)
	case f.track == "none":
		c.notes.Add("database: times of statements are not recorded; run as an administrator: ALTER SYSTEM SET pg_stat_statements.track = top; SELECT pg_reload_conf();")
	}
	if !f.queryID {
		c.notes.Add("database: sessions do not show which statement they run; run as an administrator: ALTER SYSTEM SET compute_query_id = auto; SELECT pg_reload_conf();")
	}
}

// inSchema puts the extension's schema into a statement.
func (f facts) inSchema(statement string) string {
	return strings.ReplaceAll(statement, "SCHEMA", f.schema)
}
