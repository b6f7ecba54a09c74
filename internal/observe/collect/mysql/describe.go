package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"assay.dev/assay/internal/observe/collect/sampling"
	"assay.dev/assay/internal/observe/record"
)

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
	names := make([]any, len(settings))
	for i, n := range settings {
		names[i] = n
	}
	statement := "SHOW GLOBAL VARIABLES WHERE Variable_name IN (?" + strings.Repeat(",?", len(settings)-1) + ")"
	err := l.query(ctx, statement, names, func(rows *sql.Rows) error {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			return err
		}
		s.variables[strings.ToLower(name)] = value
		return nil
	})
	if err != nil {
		return server{}, fmt.Errorf("read variables: %w", err)
	}
	err = l.query(ctx, "SELECT VERSION()", nil, func(rows *sql.Rows) error { return rows.Scan(&s.version) })
	if err != nil {
		return server{}, fmt.Errorf("read version: %w", err)
	}
	s.version, _, _ = strings.Cut(s.version, "-")
	major, _, _ := strings.Cut(s.version, ".")
	s.major, _ = strconv.Atoi(major)
	return s, nil
}

// Describe returns the server's flavour, version and settings, and the instruments that
// are on because of runs. It also works after a failed Start and during Run.
func (c *Collector) Describe(ctx context.Context) (record.Database, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.server == nil {
		if err := c.connect(ctx); err != nil {
			return record.Database{}, fmt.Errorf("describe database: %w", err)
		}
	}
	return record.Database{
		Flavour: string(c.server.flavour.name), Version: c.server.version,
		Variables: maps.Clone(c.server.variables), Instruments: slices.Sorted(slices.Values(c.switched)),
	}, nil
}
