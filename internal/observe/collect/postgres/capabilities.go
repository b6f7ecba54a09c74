package postgres

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"assay.dev/assay/internal/observe/collect/sampling"
)

//go:embed sql/capabilities.sql
var capabilitiesSQL string

// capabilities describes what the user may see and what the server records.
type capabilities struct {
	user, database string // quoted
	allSessions    bool   // the user may see the sessions of all users
	hidden         int    // number of sessions in this database that the user may not see
	queryID        bool   // sessions show the id of their statement
	activities     bool   // sessions show their activity
	ioTiming       bool   // page reads and writes are timed
	track          string // pg_stat_statements.track; empty: the library is not loaded
	schema         string // of the extension pg_stat_statements, quoted; empty: it is not installed
	version        string // of the extension
}

// statementTimes reports whether statement times can be read.
func (caps capabilities) statementTimes() bool {
	return caps.schema != "" && caps.track != "" && caps.track != "none" && !caps.extensionTooOld()
}

// extensionTooOld reports whether the extension was created by a server before version 14
// and not updated since.
func (caps capabilities) extensionTooOld() bool {
	var major, minor int
	_, err := fmt.Sscanf(caps.version, "%d.%d", &major, &minor)
	return err != nil || major == 1 && minor < 9
}

// readCapabilities reads the capabilities and adds notes on those that are missing.
func (c *Collector) readCapabilities(ctx context.Context) error {
	var caps capabilities
	err := c.link.query(ctx, capabilitiesSQL, nil, func(rows pgx.Rows) error {
		return rows.Scan(&caps.user, &caps.database, &caps.allSessions, &caps.hidden, &caps.queryID, &caps.activities, &caps.ioTiming, &caps.track, &caps.schema, &caps.version)
	})
	if err != nil {
		return fmt.Errorf("read rights and settings: %w", err)
	}
	c.capabilities = caps
	grant := fmt.Sprintf("GRANT pg_monitor TO %s;", caps.user)
	switch {
	case !caps.activities:
		return &sampling.BlindError{
			Why:    fmt.Sprintf("track_activities is off in %s %s, so waits cannot be observed", flavour, c.server.version),
			Remedy: "run as an administrator: ALTER SYSTEM SET track_activities = on; SELECT pg_reload_conf();",
		}
	case !caps.allSessions && caps.hidden > 0:
		return &sampling.RightsError{
			Err: errors.New("no permission to read sessions of other users"), SQL: grant,
		}
	case !caps.allSessions:
		c.notes.Add("database: only sessions of user %s can be seen; run as an administrator: %s", caps.user, grant)
	}
	c.noteStatements()
	if !caps.ioTiming {
		c.hints = append(c.hints, "track_io_timing is off: blk_read_time and blk_write_time stay 0 (ALTER SYSTEM SET track_io_timing = on; SELECT pg_reload_conf();)")
	}
	return nil
}

// noteStatements adds notes on why statements or their times are not recorded.
func (c *Collector) noteStatements() {
	caps := c.capabilities
	extension := fmt.Sprintf("CREATE EXTENSION pg_stat_statements; -- in database %s", caps.database)
	switch {
	case caps.track == "":
		if caps.schema == "" {
			extension = "; restart it; " + extension
		} else {
			extension = "; restart it"
		}
		c.notes.Add("database: times of statements are not recorded; run as an administrator: add pg_stat_statements to the server's shared_preload_libraries%s", extension)
		return
	case caps.schema == "":
		c.notes.Add("database: times of statements are not recorded; run as an administrator: %s", extension)
	case caps.extensionTooOld():
		c.notes.Add("database: times of statements are not recorded: version %s of the extension pg_stat_statements is too old; run as an administrator: ALTER EXTENSION pg_stat_statements UPDATE; -- in database %s", caps.version, caps.database)
	case caps.track == "none":
		c.notes.Add("database: times of statements are not recorded; run as an administrator: ALTER SYSTEM SET pg_stat_statements.track = top; SELECT pg_reload_conf();")
	}
	if !caps.queryID {
		c.notes.Add("database: sessions do not show which statement they run; run as an administrator: ALTER SYSTEM SET compute_query_id = auto; SELECT pg_reload_conf();")
	}
}

// inSchema replaces the placeholder SCHEMA in a statement by the extension's schema.
func (caps capabilities) inSchema(statement string) string {
	return strings.ReplaceAll(statement, "SCHEMA", caps.schema)
}
