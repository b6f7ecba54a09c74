package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	code "github.com/go-mysql-org/go-mysql/mysql"
	driver "github.com/go-sql-driver/mysql"

	"assay.dev/assay/internal/observe/collect"
	"assay.dev/assay/internal/observe/collect/sampling"
	"assay.dev/assay/internal/observe/record"
)

// Examine checks before a run whether waits can be read from the server at the DSN. It
// changes nothing. It returns the error that Start would return: a
// *sampling.RightsError if the user may not read them.
func (Driver) Examine(ctx context.Context, dsn string) (found sampling.Examination, err error) {
	c, err := newCollector(dsn)
	if err != nil {
		return found, err
	}
	defer c.link.drop() // nothing was enabled, so there is nothing to restore
	err = collect.First(ctx, func(ctx context.Context) (err error) {
		found, err = c.examine(ctx)
		return err
	})
	return found, err
}

// examine can be repeated.
func (c *collector) examine(ctx context.Context) (sampling.Examination, error) {
	if err := c.connect(ctx); err != nil {
		return sampling.Examination{}, err
	}
	if err := c.server.usable(); err != nil {
		return sampling.Examination{}, err
	}
	disabled := 0
	room, err := c.room(ctx)
	if err != nil {
		return sampling.Examination{}, err
	}
	for _, s := range c.link.flavour.setups {
		missing, marked, err := c.read(ctx, s)
		if err != nil {
			return sampling.Examination{}, err
		}
		disabled += len(missing)
		refusal, err := c.switchOn(ctx, s.none())
		if err != nil {
			return sampling.Examination{}, fmt.Errorf("try to change %s: %w", s.table, err)
		}
		marks := min(len(missing), room)
		if room -= marks; refusal == nil && marks < len(missing) {
			refusal = &driver.MySQLError{Number: code.ER_RECORD_FILE_FULL}
			missing = missing[marks:]
		}
		if c.mayNot[s.table] = refusal != nil && !full(refusal); c.mayNot[s.table] {
			passing, err := c.passing(ctx, s, marked)
			if err != nil {
				return sampling.Examination{}, err
			}
			missing = append(missing, passing...)
		}
		c.noteMissing(ctx, s, missing, refusal)
	}
	left, err := c.leftOn(ctx)
	if err != nil {
		return sampling.Examination{}, err
	}
	logged, err := c.logged(ctx)
	if err != nil {
		return sampling.Examination{}, err
	}
	if err := c.trySample(ctx); err != nil {
		return sampling.Examination{}, err
	}
	notes := c.notes.All()
	status, _ := c.readStatus(ctx) // what cannot be read is missing
	return sampling.Examination{Disabled: disabled, Notes: notes, Burdens: logged, Left: left, Variables: slices.Sorted(maps.Keys(status))}, nil
}

// room is the number of marks that setup_objects has room for.
func (c *collector) room(ctx context.Context) (int, error) {
	const size = "CAST(@@GLOBAL.performance_schema_setup_objects_size AS SIGNED)" // -1: it grows
	n, err := value[float64](ctx, c.link, fmt.Sprintf("SELECT IF(%s < 0, %d, %s - COUNT(*)) FROM performance_schema.setup_objects", size, math.MaxInt32, size))
	switch {
	case refused(err): // whoever may not read it is told so elsewhere
		return math.MaxInt32, nil
	case err != nil:
		return 0, fmt.Errorf("read the size of setup_objects: %w", err)
	}
	return max(0, int(n)), nil
}

// logged says which of the server's logs take the collector's statements although its
// session asks for the opposite (flavour.session), and what keeps them out. At 13 statements
// per second of about 1 kB each, most of them samples, that is 15 kB per second.
func (c *collector) logged(ctx context.Context) (burdens []string, err error) {
	v := map[string]string{}
	const logging = "SHOW SESSION VARIABLES WHERE Variable_name IN ('general_log', 'sql_log_off', 'slow_query_log', 'log_queries_not_using_indexes', 'min_examined_row_limit')"
	if err := c.link.pairs(ctx, v, logging); err != nil {
		return nil, fmt.Errorf("read which statements are logged: %w", err)
	}
	// The general log respects sql_log_off of these users alone, on MySQL.
	exempt, err := value[float64](ctx, c.link, "SELECT COUNT(*) FROM information_schema.USER_PRIVILEGES WHERE PRIVILEGE_TYPE IN ('SUPER', 'CONNECTION_ADMIN') AND GRANTEE = CONCAT('''', REPLACE(CURRENT_USER(), '@', '''@'''), '''')")
	if err != nil {
		return nil, fmt.Errorf("read which statements are logged: %w", err)
	}
	const cost = "database: a run adds its collector's statements to the server's %s, about 15 kB per second; run as an administrator: "
	if v["general_log"] == "ON" && (v["sql_log_off"] != "ON" || exempt == 0) {
		burdens = append(burdens, fmt.Sprintf(cost+"SET GLOBAL general_log = OFF; -- or: GRANT %s ON *.* TO %s;", "general log", c.link.flavour.logRights, c.account(ctx)))
	}
	if least, err := strconv.ParseUint(v["min_examined_row_limit"], 10, 64); v["slow_query_log"] == "ON" && v["log_queries_not_using_indexes"] == "ON" && err == nil && least < manyRows {
		burdens = append(burdens, fmt.Sprintf(cost+"GRANT SESSION_VARIABLES_ADMIN ON *.* TO %s;", "slow query log (log_queries_not_using_indexes)", c.account(ctx)))
	}
	return burdens, nil
}

// settings are the variables that determine durability, performance and what can be
// observed. Each server has only some of them.
var settings = []string{
	"aurora_version", "version_comment", "version_compile_machine",
	// durability
	"binlog_format", "binlog_row_image", "innodb_doublewrite", "innodb_flush_log_at_trx_commit",
	"innodb_flush_method", "log_bin", "log_slave_updates", "log_replica_updates", "sync_binlog",
	"rpl_semi_sync_master_enabled", "rpl_semi_sync_source_enabled", "wsrep_on",
	// grouping of commits
	"binlog_commit_wait_count", "binlog_commit_wait_usec",
	"binlog_group_commit_sync_delay", "binlog_group_commit_sync_no_delay_count",
	// memory and logs
	"innodb_buffer_pool_size", "innodb_dedicated_server", "innodb_io_capacity", "innodb_log_buffer_size",
	"innodb_log_file_size", "innodb_log_files_in_group", "innodb_log_writer_threads", "innodb_redo_log_capacity",
	"table_open_cache",
	// concurrency
	"autocommit", "innodb_autoinc_lock_mode", "innodb_deadlock_detect", "innodb_lock_wait_timeout", "innodb_thread_concurrency",
	"max_connections", "thread_cache_size", "thread_handling", "transaction_isolation", "tx_isolation",
	// what can be observed
	"performance_schema", "performance_schema_digests_size", "read_only",
}

// server holds what the first connection reads about the server.
type server struct {
	flavour   *flavour
	version   string // such as 9.7.4 or 10.11.19, without what distributions append
	major     int
	variables map[string]string
}

// usable returns why waits cannot be read from the server; nil if they can.
func (s server) usable() error {
	switch {
	case !strings.EqualFold(s.variables["performance_schema"], "ON"):
		return &sampling.BlindError{
			Why:    fmt.Sprintf("performance_schema is off in %s %s, so waits cannot be observed", s.flavour.name, s.version),
			Remedy: "restart the server with performance_schema=ON (in its option file, or as --performance-schema=ON)",
		}
	case s.major < s.flavour.oldest:
		return fmt.Errorf("MySQL %s is too old: %d.0 or later is needed", s.version, s.flavour.oldest)
	}
	return nil
}

// inspect reads version and settings. It needs no privilege.
func (l *link) inspect(ctx context.Context) (server, error) {
	s := server{flavour: l.flavour, variables: map[string]string{}}
	err := l.query(ctx, "SHOW GLOBAL VARIABLES WHERE Variable_name IN "+list(settings), nil, func(rows *sql.Rows) error {
		var name, value string
		err := rows.Scan(&name, &value)
		s.variables[strings.ToLower(name)] = value
		return err
	})
	if err != nil {
		return server{}, fmt.Errorf("read variables: %w", err)
	}
	if s.version, err = value[string](ctx, l, "SELECT VERSION()"); err != nil {
		return server{}, fmt.Errorf("read version: %w", err)
	}
	s.version, _, _ = strings.Cut(s.version, "-")
	major, _, _ := strings.Cut(s.version, ".")
	s.major, _ = strconv.Atoi(major)
	return s, nil
}

// Describe returns the server's flavour, version and settings, and the instruments that
// are on because of runs. It also works after a failed Start and during Run.
func (c *collector) Describe(ctx context.Context) (record.Database, error) {
	if c.server == nil {
		if err := c.connect(ctx); err != nil {
			return record.Database{}, err
		}
	}
	return record.Database{
		Flavour: string(c.server.flavour.name), Version: c.server.version,
		Variables: maps.Clone(c.server.variables), Instruments: slices.Sorted(slices.Values(c.switched)),
	}, nil
}
