package mysql

import (
	"context"
	"errors"
	"fmt"

	code "github.com/go-mysql-org/go-mysql/mysql"

	"assay.dev/assay/internal/observe/collect"
	"assay.dev/assay/internal/observe/collect/sampling"
	"assay.dev/assay/internal/observe/database"
	"assay.dev/assay/internal/observe/metric"
)

// collector is the server of a Collector.
type collector struct {
	notes        collect.Notes
	link         *link
	server       *server // nil: never connected
	sampler      sampler
	instrumented bool            // the setup of a server may have been changed
	mayNot       map[string]bool // setup tables that the server does not change for this user
	switched     []string        // what is on because of runs, for the record
	unread       bool            // something may be on that is not among switched
	at           string          // the server where something may be on; empty: none

	noMetrics  bool // no privilege to read InnoDB's metrics
	noBlockers bool // no privilege to read which sessions hold row locks

	// State of Run.
	status     status
	statements statements
	labels     sampling.Digests
	clients    clients
	reads      int
}

var _ sampling.Server = (*collector)(nil)

// New returns a collector for the server at the DSN. It does not connect. Statement times
// are those of the DSN's schema; without one, of all schemas.
func New(dsn string) sampling.Collector {
	c, err := newCollector(dsn)
	return sampling.New(c, err)
}

func newCollector(dsn string) (*collector, error) {
	l, err := newLink(dsn)
	return &collector{
		link: l, mayNot: map[string]bool{}, labels: sampling.Digests{}, statements: newStatements(),
	}, err
}

// connect opens the link, and reads what the server is the first time.
func (c *collector) connect(ctx context.Context) error {
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

// Begin connects, enables instruments, and takes the first sample. Without the privilege
// to enable them it continues with those that are enabled and adds a note.
func (c *collector) Begin(ctx context.Context) (err error) {
	defer func() {
		if errors.Is(err, context.DeadlineExceeded) {
			c.link.drop() // the server may still execute the statement
		}
	}()
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
func (c *collector) trySample(ctx context.Context) error {
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
func (c *collector) Notes() []string { return c.notes.All() }

// Close restores the instruments, over a new connection if the old one is lost, and
// disconnects. Its error contains the SQL that restores them by hand. While another
// run uses the server it leaves them to that run.
func (c *collector) Close() error {
	err := c.restore()
	c.link.drop()
	return err
}

// otherRunsEvery is the number of readings, one per second, between checks for other
// runs. No run is shorter than about 10 s.
const otherRunsEvery = 5

func (c *collector) Connected() bool { return c.link.conn != nil }

// Connect also enables again the instruments that a restart of the server has disabled.
func (c *collector) Connect(ctx context.Context) error {
	err := c.connect(ctx)
	if err == nil {
		err = c.instrument(ctx)
	}
	if err != nil {
		c.link.drop()
	}
	return err
}

func (c *collector) Sample(ctx context.Context) ([]sampling.Session, error) {
	found, err := c.sampler.take(ctx, c.link)
	if err != nil {
		return nil, err
	}
	sessions, owners := make([]sampling.Session, len(found)), make([]owner, len(found))
	for i, a := range found {
		owners[i] = a.owner
	}
	clients := c.clients.name(ctx, c.link, owners)
	for i, a := range found {
		sessions[i] = a.activity()
		sessions[i].Client = clients[i]
		sessions[i].Digest = c.labels.Label(a.digestLabel())
	}
	return sessions, nil
}

func (s active) digestLabel() string {
	switch {
	case !s.flavour.digestIsText:
		return s.digest
	case s.digest == "" && s.Statement == "statement/"+preparedExecute:
		return preparedExecute
	}
	return textDigest(s.digest)
}

func (c *collector) Read(ctx context.Context) ([]metric.Point, error) {
	values, err := c.readStatus(ctx)
	if err != nil {
		return nil, fmt.Errorf("read status: %w", err)
	}
	all, restarted := c.status.points(values)
	all = append(all, c.link.roundTrip(ctx)...)
	if restarted {
		c.statements.restart()
	}
	changed, err := c.readStatements(ctx, &c.statements)
	if err != nil {
		return all, fmt.Errorf("read statement times: %w", err)
	}
	points, err := c.statementPoints(ctx, &c.statements, changed, c.labels)
	all = append(all, points...)
	if err != nil {
		return all, fmt.Errorf("read statement texts: %w", err)
	}
	points, err = c.readBlockers(ctx, &c.clients)
	all = append(all, points...)
	if err != nil {
		return all, fmt.Errorf("read the holders of row locks: %w", err)
	}
	if c.reads++; c.reads%otherRunsEvery == 0 {
		others, err := c.link.others(ctx, c.link.flavour.kinds()...)
		if err != nil {
			return all, fmt.Errorf("check for other runs: %w", err)
		}
		if others {
			c.notes.Add(sampling.SharedServer)
		}
	}
	return all, nil
}
