package postgres

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"assay.dev/assay/internal/observe/collect"
	"assay.dev/assay/internal/observe/collect/sampling"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/observe/wait"
)

// collector is the server of a Collector.
type collector struct {
	link         *link
	server       *server      // nil: never connected
	capabilities capabilities // at the last reading
	notes        collect.Notes
	hints        []string // what else could be recorded, with the SQL to enable it

	clients sampling.Clients
	waiters int // sessions waiting for a row lock in the last sample

	// State of Run.
	status     sampling.Status
	last       reading
	statements statements
	labels     sampling.Digests
}

var _ sampling.Server = (*collector)(nil)

// New returns a collector for the server at the DSN. It does not connect. Statement times
// and most counters are those of the DSN's database only.
func New(dsn string) sampling.Collector {
	c, err := newCollector(dsn)
	return sampling.New(c, err)
}

func newCollector(dsn string) (*collector, error) {
	l, err := newLink(dsn)
	return &collector{
		link: l, clients: sampling.Clients{}, labels: sampling.Digests{}, statements: newStatements(),
	}, err
}

// Connect opens the link, and reads what the server is the first time.
func (c *collector) Connect(ctx context.Context) error {
	if err := c.link.open(ctx); err != nil || c.server != nil {
		return err
	}
	s, err := c.link.inspect(ctx)
	if err != nil {
		return err
	}
	c.server = &s
	return nil
}

// Begin connects and reads once everything that Run reads. It adds notes on what cannot be
// observed.
func (c *collector) Begin(ctx context.Context) error {
	if err := c.Connect(ctx); err != nil {
		return err
	}
	if err := c.server.usable(); err != nil {
		return err
	}
	if err := c.readCapabilities(ctx); err != nil {
		return err
	}
	if err := c.quieten(ctx); err != nil {
		return err
	}
	if _, err := c.Sample(ctx); err != nil {
		return fmt.Errorf("sample sessions: %w", err)
	}
	clear(c.labels) // what ran before the run takes none of its labels
	if _, err := c.readStatus(ctx); err != nil {
		return fmt.Errorf("read status: %w", err)
	}
	if _, err := c.readStatements(ctx, new(newStatements())); err != nil {
		return fmt.Errorf("read statement times: %w", err)
	}
	return nil
}

// Notes lists what could not be observed, as sentences for the certificate, each with the
// SQL that would fix it.
func (c *collector) Notes() []string { return c.notes.All() }

func (c *collector) Close() error {
	c.link.drop()
	return nil
}

func (c *collector) Connected() bool { return c.link.conn != nil }

func (c *collector) Read(ctx context.Context) ([]metric.Point, error) {
	now, err := c.readStatus(ctx)
	if err != nil {
		return nil, fmt.Errorf("read status: %w", err)
	}
	active := 0.0 // since the last reading, in ms
	first, restarted := c.last.values == nil, c.last.values != nil && now.started != c.last.started
	switch {
	case restarted:
		c.statements.restart()
	case !first:
		active = max(0, now.values[activeTime]-c.last.values[activeTime])
	}
	c.last = now
	all := c.status.Points(variables, now.values, restarted)
	changed, err := c.readStatements(ctx, &c.statements)
	if err != nil {
		return all, fmt.Errorf("read statement times: %w", err)
	}
	points, err := c.statementPoints(ctx, &c.statements, changed, active, c.labels)
	all = append(all, points...)
	if err != nil {
		return all, fmt.Errorf("read statement texts: %w", err)
	}
	if first {
		c.statements.remainder = remainder{} // time from before the run
	}
	points, err = c.readBlockers(ctx)
	all = append(all, points...)
	if err != nil {
		return all, fmt.Errorf("read the holders of row locks: %w", err)
	}
	return all, nil
}

// Examine checks before a run whether waits can be read from the server at the DSN. It
// returns the error that Start would return: a *sampling.RightsError if the user may not
// see the sessions of other users.
func (Driver) Examine(ctx context.Context, dsn string) (sampling.Examination, error) {
	c, err := newCollector(dsn)
	if err != nil {
		return sampling.Examination{}, err
	}
	defer c.link.drop()
	c.link.name = ownName // so that runs do not count this session as a run
	if err := collect.First(ctx, c.Begin); err != nil {
		return sampling.Examination{}, err
	}
	status, _ := c.readStatus(ctx) // what cannot be read is missing
	return sampling.Examination{Notes: c.notes.All(), Hints: c.hints, Variables: slices.Sorted(maps.Keys(status.values))}, nil
}

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
func (c *collector) Describe(ctx context.Context) (record.Database, error) {
	if c.server == nil {
		if err := c.Connect(ctx); err != nil {
			return record.Database{}, err
		}
	}
	return record.Database{Flavour: flavour, Version: c.server.version, Variables: maps.Clone(c.server.settings)}, nil
}
