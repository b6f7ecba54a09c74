package postgres

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"strings"

	"github.com/jackc/pgx/v5"

	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/observe/wait"
)

// flavour is the server's name in record.Database.
const flavour = string(wait.PostgreSQL)

// oldest is the first major version whose sessions show the id of their statement.
const oldest = 14

// settings are those that determine durability, performance and what can be observed.
// Those that the server lacks or the user may not see are not recorded.
var settings = []string{
	// durability
	"data_checksums", "fsync", "full_page_writes", "synchronous_commit", "synchronous_standby_names", "wal_level", "wal_sync_method",
	// grouping of commits
	"commit_delay", "commit_siblings",
	// memory, log and disk
	"checkpoint_timeout", "effective_io_concurrency", "huge_pages", "maintenance_work_mem", "max_wal_size", "random_page_cost",
	"shared_buffers", "temp_buffers", "wal_buffers", "wal_compression", "work_mem",
	// concurrency
	"autovacuum", "deadlock_timeout", "default_transaction_isolation", "jit", "lock_timeout", "max_connections",
	"max_parallel_workers_per_gather", "max_prepared_transactions",
	// what can be observed
	"compute_query_id", "shared_preload_libraries", "track_activities", "track_io_timing",
}

//go:embed sql/settings.sql
var settingsSQL string

// server holds what the first connection reads about the server.
type server struct {
	version  string // such as 15.18, without what distributions append
	major    int
	settings map[string]string
}

// usable returns why waits cannot be read from the server; nil if they can.
func (s server) usable() error {
	if s.major < oldest {
		return fmt.Errorf("PostgreSQL %s is too old: %d or later is needed", s.version, oldest)
	}
	return nil
}

// inspect reads version and settings. It needs no privilege.
func (l *link) inspect(ctx context.Context) (server, error) {
	s := server{major: majorOf(l.conn), settings: map[string]string{}}
	s.version, _, _ = strings.Cut(l.conn.PgConn().ParameterStatus("server_version"), " ")
	err := l.query(ctx, settingsSQL, []any{settings}, func(rows pgx.Rows) error {
		var name, value string
		err := rows.Scan(&name, &value)
		s.settings[name] = value
		return err
	})
	if err != nil {
		return server{}, fmt.Errorf("read settings: %w", err)
	}
	return s, nil
}

// Describe returns the server's version and settings. It also works after a failed Start
// and during Run.
func (c *Collector) Describe(ctx context.Context) (record.Database, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.server == nil {
		if err := c.connect(ctx); err != nil {
			return record.Database{}, fmt.Errorf("describe database: %w", err)
		}
	}
	return record.Database{Flavour: flavour, Version: c.server.version, Variables: maps.Clone(c.server.settings)}, nil
}
