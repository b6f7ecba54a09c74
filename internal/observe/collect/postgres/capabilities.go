package postgres

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"assay.dev/assay/internal/observe/collect/sampling"
	"assay.dev/assay/internal/observe/metric"
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
	// schema is the quoted schema of the extension pg_stat_statements; empty: the extension is
	// not installed.
	schema  string
	version string // version of the extension
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
func (c *collector) readCapabilities(ctx context.Context) error {
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
func (c *collector) noteStatements() {
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

func (caps capabilities) inSchema(statement string) string {
	return strings.ReplaceAll(statement, "SCHEMA", caps.schema)
}

// brief is what a statement of the collector takes at most, in ms: a threshold below it
// logs these statements.
const brief = 10

// loggers are the settings by which a server may write each statement of the collector to
// its log, with the value that keeps a session out of it. Those that every server has, and
// any user may set, are among meaning.
var loggers = map[string]struct {
	off  string
	logs func(value string) bool
}{
	"log_statement":                 {"none", func(v string) bool { return v == "all" }},
	"log_duration":                  {"off", isOn},
	"log_min_duration_statement":    {"-1", isBrief},
	"log_min_duration_sample":       {"-1", isBrief},
	"log_transaction_sample_rate":   {"0", isShare},
	"log_parser_stats":              {"off", isOn},
	"log_planner_stats":             {"off", isOn},
	"log_executor_stats":            {"off", isOn},
	"log_statement_stats":           {"off", isOn},
	"trace_sort":                    {"off", isOn}, // not every server has it
	"auto_explain.log_min_duration": {"-1", isBrief},
	// An audit is never switched off, only noted.
	"pgaudit.log": {"", func(v string) bool { return strings.Contains(v, "read") || strings.Contains(v, "all") }},
}

func isOn(v string) bool { return v == "on" }

func isBrief(v string) bool {
	ms, err := strconv.ParseFloat(v, 64)
	return err == nil && ms >= 0 && ms < brief
}

func isShare(v string) bool {
	share, err := strconv.ParseFloat(v, 64)
	return err == nil && share > 0
}

// trackSetting is the setting by which pg_stat_statements counts a session's statements.
// It keeps them after the run.
const trackSetting = "pg_stat_statements.track"

//go:embed sql/loggers.sql
var loggersSQL string

// quieten starts the session again with the settings that keep the collector's own
// statements out of the server's log and of pg_stat_statements, as far as the user may. It
// adds a note on what is logged nevertheless. The settings are startup parameters, as all
// of the link's.
func (c *collector) quieten(ctx context.Context) error {
	allowed := "current_setting('is_superuser')::boolean"
	if c.server.major >= 15 {
		allowed = "has_parameter_privilege(name, 'SET')"
	}
	off, noisy := map[string]string{}, map[string]string{}
	names := append(slices.Collect(maps.Keys(loggers)), trackSetting)
	err := c.link.query(ctx, strings.ReplaceAll(loggersSQL, "ALLOWED", allowed), []any{names}, func(rows pgx.Rows) error {
		var name, value string
		var may bool
		err := rows.Scan(&name, &value, &may)
		switch l := loggers[name]; {
		case err != nil:
			return err
		case name == trackSetting:
			if may && value != "none" {
				off[name] = "none"
			}
		case !l.logs(value):
		case may && l.off != "":
			off[name] = l.off
		default:
			noisy[name] = value
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read what the server logs: %w", err)
	}
	if len(noisy) > 0 {
		c.noteNoise(noisy)
	}
	if len(off) > 0 {
		c.link.restart(ctx, off)
	}
	return nil
}

func (c *collector) noteNoise(noisy map[string]string) {
	var values, quiet []string
	for _, name := range slices.Sorted(maps.Keys(noisy)) {
		values = append(values, name+" = "+noisy[name])
		quiet = append(quiet, fmt.Sprintf("ALTER ROLE %s SET %s = '%s';", c.capabilities.user, name, loggers[name].off))
	}
	entries, bytes := c.noise()
	c.notes.Add("database: the collector's own statements fill the server's log with about %d entries, %.0f kB a second (%s); run as an administrator: %s",
		entries*len(noisy), float64(bytes*len(noisy))/1000, strings.Join(values, ", "), strings.Join(quiet, " "))
}

// noise is how many statements the collector sends a second, and their size with what a log
// adds to each, about 100 bytes.
func (c *collector) noise() (statements, bytes int) {
	const added = 100
	size := func(statement string) int { return len(oneLine(statement)) + added }
	return metric.DefaultSampleRate + 2, metric.DefaultSampleRate*size(sampleSQL) + size(statusSQL) + size(c.capabilities.inSchema(statementsSQL))
}
