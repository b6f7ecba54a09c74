package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"assay.dev/assay/internal/observe/collect"
	"assay.dev/assay/internal/observe/collect/sampling"
	"assay.dev/assay/internal/observe/metric"
)

// Collector collects from one server.
type Collector struct {
	dsnErr error // why the DSN is invalid; Start returns it

	mu           sync.Mutex // guards the fields below; held during each exchange with the server
	link         *link
	server       *server      // nil: never connected
	capabilities capabilities // at the last reading
	notes        collect.Notes
	hints        []string // what else could be recorded, with the SQL to enable it
	closed       bool

	clients sampling.Clients
	waiters int // sessions waiting for a row lock in the last sample
}

var _ sampling.Collector = (*Collector)(nil)

// New returns a collector for the server at the DSN. It does not connect. Statement times
// and most counters are those of the DSN's database only.
func New(dsn string) *Collector {
	c := &Collector{clients: sampling.Clients{}}
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

// Start connects and reads once everything that Run reads. It adds notes on what cannot be
// observed.
func (c *Collector) Start(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := collect.First(ctx, c.start); err != nil {
		return fmt.Errorf("collect from the database: %w", err)
	}
	return nil
}

func (c *Collector) start(ctx context.Context) error {
	if err := c.connect(ctx); err != nil {
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
	if _, err := c.sample(ctx); err != nil {
		return fmt.Errorf("sample sessions: %w", err)
	}
	if _, err := c.readStatus(ctx); err != nil {
		return fmt.Errorf("read status: %w", err)
	}
	if _, err := c.readStatements(ctx, &statements{}); err != nil {
		return fmt.Errorf("read statement times: %w", err)
	}
	return nil
}

// Notes lists what could not be observed, as sentences for the certificate, each with the
// SQL that would fix it.
func (c *Collector) Notes() []string { return c.notes.All() }

// Close disconnects; there is nothing to restore.
func (c *Collector) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed && c.dsnErr == nil {
		c.link.drop()
	}
	c.closed = true
	return nil
}
