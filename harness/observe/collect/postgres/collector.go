package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"assay/harness/observe/collect"
	"assay/harness/observe/collect/sampling"
	"assay/harness/observe/metric"
)

// Collector collects from one server.
type Collector struct {
	broken error // of the DSN; Start returns it

	mu     sync.Mutex // held for one exchange with the server at a time; guards the rest
	link   *link
	server *server // nil: never connected
	facts  facts   // as they were read last
	notes  collect.Notes
	hints  []string
	closed bool

	waiters int // sessions that waited for a row lock when they were last counted
}

var _ sampling.Collector = (*Collector)(nil)

// New makes a collector of the server at the DSN. Statement times and most counters
// are those of the DSN's database alone. It does not connect.
func New(dsn string) *Collector {
	c := &Collector{}
	c.link, c.broken = newLink(dsn)
	return c
}

// Source is "database".
func (c *Collector) Source() string { return metric.SourceDatabase }

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

// Start connects and reads once what Run reads. Notes says what cannot be seen, and
// how it could be.
func (c *Collector) Start(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.start(ctx); err != nil {
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
	if err := c.readFacts(ctx); err != nil {
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

// Notes are the limits of what was seen, as sentences for the certificate, each
// with what would remove it.
func (c *Collector) Notes() []string { return c.notes.All() }

// Close disconnects; there is nothing to restore.
func (c *Collector) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed && c.broken == nil {
		c.link.drop()
	}
	c.closed = true
	return nil
}

// Examine looks, before a run, whether the waits of the server at the DSN can be
// read. Its error is the one that Start would give: a *sampling.RightsError where the
// user may not see the sessions.
func Examine(ctx context.Context, dsn string) (sampling.Examination, error) {
	c := New(dsn)
	defer func() { _ = c.Close() }()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken == nil {
		c.link.setName("assay") // not a run
	}
	if err := c.start(ctx); err != nil {
		return sampling.Examination{}, err
	}
	return sampling.Examination{Notes: c.notes.All(), Hints: c.hints}, nil
}
