package mysql

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	code "github.com/go-mysql-org/go-mysql/mysql"

	"assay/harness/observe/collect"
	"assay/harness/observe/collect/sampling"
)

// Options says what is read, and where the journal is.
type Options struct {
	// Schema limits statement times to the load's schema. Empty: the DSN's schema;
	// where that has none, all schemas.
	Schema string
	// Journal is the folder that holds what has to be restored if this process is
	// killed. Empty: no journal is kept.
	Journal string
}

// Collector collects from one server.
type Collector struct {
	schema string
	public string // DSN without password
	broken error  // of the DSN; Start returns it

	mu           sync.Mutex // held for one exchange with the server at a time; guards the rest
	link         *link
	server       *server // nil: never connected
	sampler      sampler
	started      time.Time // when the server did
	switched     switched  // what this run switched on in that server
	instrumented bool      // instrument succeeded at least once
	journal      journal
	notes        collect.Notes
	closed       bool

	noHistory  bool // the length of the history list cannot be read
	noBlockers bool // who holds row locks cannot be read
}

var _ sampling.Collector = (*Collector)(nil)

// New makes a collector of the server at the DSN. It does not connect.
func New(dsn string, o Options) *Collector {
	c := &Collector{schema: o.Schema, journal: journal{folder: o.Journal}}
	if c.link, c.broken = newLink(dsn); c.broken != nil {
		return c
	}
	if named, err := (Driver{}).Parse(dsn); err == nil {
		c.public = named.Public
	}
	if c.schema == "" {
		c.schema = c.link.schema
	}
	return c
}

// Source is "database".
func (c *Collector) Source() string { return collect.Database }

// connect opens the link, and reads what the server is the first time.
func (c *Collector) connect(ctx context.Context) error {
	switch {
	case c.broken != nil:
		return c.broken
	case c.closed:
		return errors.New("collector is closed")
	}
	if err := c.link.open(ctx); err != nil {
		return err
	}
	if c.server != nil {
		return nil
	}
	s, err := c.link.inspect(ctx)
	if err != nil {
		return err
	}
	c.server = &s
	return nil
}

// Start connects, switches instruments on, and takes a first sample. Without the
// right to switch them on it goes on with what is on; Notes says so.
func (c *Collector) Start(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.start(ctx); err != nil {
		return fmt.Errorf("collect from the database: %w", err)
	}
	return nil
}

func (c *Collector) start(ctx context.Context) error {
	if c.broken == nil {
		c.link.joinRun()
	}
	if err := c.connect(ctx); err != nil {
		return err
	}
	if err := c.server.usable(); err != nil {
		return err
	}
	if err := c.instrument(ctx); err != nil {
		return err
	}
	return c.trySample(ctx)
}

// trySample makes sure that what Run reads can be read.
func (c *Collector) trySample(ctx context.Context) error {
	_, err := c.sampler.take(ctx, c.link)
	if !c.link.flavour.countsRowLocks && (denied(err) || is(err, code.ER_NO_SUCH_TABLE)) {
		reason := err
		c.sampler.noLocks = true
		if _, err = c.sampler.take(ctx, c.link); err == nil {
			c.notes.Add("database: row locks cannot be told from other engine work (%v); run as an administrator: GRANT SELECT ON performance_schema.* TO %s;",
				reason, c.account(ctx))
		}
	}
	if err != nil {
		return c.readable("sample sessions", err)
	}
	return nil
}

// Notes are the limits of what was seen, as sentences for the certificate, each
// with the SQL that would remove it.
func (c *Collector) Notes() []string { return c.notes.All() }

// Close restores the instruments, over a new connection if the old one is lost, and
// disconnects. Its error says which SQL restores them by hand; where another run
// still needs them Notes says so.
func (c *Collector) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.broken != nil {
		return nil
	}
	c.closed = true
	err := c.restore()
	c.link.drop()
	return err
}
