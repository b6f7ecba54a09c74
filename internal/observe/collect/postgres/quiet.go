package postgres

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"assay.dev/assay/internal/observe/metric"
)

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
func (c *Collector) quieten(ctx context.Context) error {
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

// noteNoise adds a note on the settings by which the server logs the collector's statements.
func (c *Collector) noteNoise(noisy map[string]string) {
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
func (c *Collector) noise() (statements, bytes int) {
	const added = 100
	size := func(statement string) int { return len(oneLine(statement)) + added }
	return metric.DefaultSampleRate + 2, metric.DefaultSampleRate*size(sampleSQL) + size(statusSQL) + size(c.capabilities.inSchema(statementsSQL))
}
