package mysql

import (
	"context"
	"errors"
	"fmt"
	"sync"

	code "github.com/go-mysql-org/go-mysql/mysql"

	"assay.dev/assay/internal/observe/collect"
	"assay.dev/assay/internal/observe/collect/sampling"
	"assay.dev/assay/internal/observe/database"
	"assay.dev/assay/internal/observe/metric"
)

// Collector collects from one server.
type Collector struct {
	dsnErr error // why the DSN is invalid; Start returns it

	mu           sync.Mutex // guards the fields below; held during each exchange with the server
	link         *link
	server       *server // nil: never connected
	sampler      sampler
	instrumented bool            // the setup of a server may have been changed
	mayNot       map[string]bool // setup tables that the server does not change for this user
	switched     []string        // what is on because of runs, for the record
	unread       bool            // something may be on that is not among switched
	at           string          // the server where something may be on; empty: none
	notes        collect.Notes
	closed       bool

	noMetrics  bool // no privilege to read InnoDB's metrics
	noBlockers bool // no privilege to read which sessions hold row locks
}

var _ sampling.Collector = (*Collector)(nil)

// New returns a collector for the server at the DSN. It does not connect. Statement times
// are those of the DSN's schema; without one, of all schemas.
func New(dsn string) *Collector {
	c := &Collector{mayNot: map[string]bool{}}
	c.link, c.dsnErr = newLink(dsn)
	return c
}

// Source is "database".
func (c *Collector) Source() string { return metric.SourceDatabase }

// connect opens the link, and reads what the server is the first time.
func (c *Collector) connect(ctx context.Context) error {
	switch {
	case c.dsnErr != nil:
		return c.dsnErr
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

// Start connects, enables instruments, and takes a first sample. Without the privilege
// to enable them it continues with those that are enabled and adds a note.
func (c *Collector) Start(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.start(ctx); err != nil {
		return fmt.Errorf("collect from the database: %w", err)
	}
	return nil
}

func (c *Collector) start(ctx context.Context) error {
	return collect.First(ctx, func(ctx context.Context) error {
		err := c.begin(ctx)
		if errors.Is(err, context.DeadlineExceeded) {
			c.link.drop() // the server may still execute the statement
		}
		return err
	})
}

// begin connects, enables instruments, and takes the first sample. It can be repeated.
func (c *Collector) begin(ctx context.Context) error {
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

// trySample verifies that sessions can be sampled. Where only row locks cannot be
// read it continues without them and adds a note.
func (c *Collector) trySample(ctx context.Context) error {
	_, err := c.sampler.take(ctx, c.link)
	if !c.link.flavour.countsRowLocks && (denied(err) || is(err, code.ER_NO_SUCH_TABLE)) {
		reason := err
		c.sampler.noLocks = true
		if _, err = c.sampler.take(ctx, c.link); err == nil {
			c.notes.Add("database: row lock waits cannot be distinguished from other engine work (%s); run as an administrator: GRANT SELECT ON performance_schema.* TO %s;",
				database.Line(reason.Error()), c.account(ctx))
		}
	}
	if err != nil {
		return c.readError("sample sessions", err)
	}
	return nil
}

// Notes lists what could not be observed, as sentences for the certificate, each with
// the SQL that would fix it.
func (c *Collector) Notes() []string { return c.notes.All() }

// Close restores the instruments, over a new connection if the old one is lost, and
// disconnects. Its error contains the SQL that restores them by hand. While another
// run uses the server it leaves them to that run.
func (c *Collector) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.dsnErr != nil {
		return nil
	}
	c.closed = true
	err := c.restore()
	c.link.drop()
	return err
}
