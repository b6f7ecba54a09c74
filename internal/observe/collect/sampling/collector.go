package sampling

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"assay.dev/assay/internal/observe/collect"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
)

// Collector is the collector of a database.
type Collector interface {
	collect.Collector
	// Describe returns what the server is, also after a failed Start and during Run.
	Describe(ctx context.Context) (record.Database, error)
	// Notes lists what could not be observed, as sentences for the certificate, each
	// with its remedy. The list is complete after Close.
	Notes() []string
}

// Server is the server of a Collector: what each family does in its own way.
type Server interface {
	Database
	// Begin connects, enables instruments, and reads once what Run reads, with notes on what
	// cannot be observed. It can be repeated.
	Begin(ctx context.Context) error
	// Describe says what the server is. It connects only if that is not known yet.
	Describe(ctx context.Context) (record.Database, error)
	// Notes are those of the Collector.
	Notes() []string
	// Close restores what Begin has changed, and disconnects. It is called once.
	Close() error
}

// Bounds of the exchanges with a server, on its only connection.
const (
	// StatementTimeout bounds the execution of one of the collector's statements on the
	// server. A sample takes a few milliseconds, so only an overloaded server reaches it.
	StatementTimeout = 500 * time.Millisecond
	// Grace is how much longer the response may take before the connection is closed.
	Grace = 250 * time.Millisecond
	// ConnectTimeout bounds connecting, including the setup of the session.
	ConnectTimeout = time.Second
)

// New returns the collector of a server, or one whose DSN is wrong. It does not connect.
func New(s Server, wrong error) Collector { return &collector{server: s, wrong: wrong} }

// collector calls a server's methods one at a time.
type collector struct {
	mu     sync.Mutex // held during each exchange with the server
	server Server
	wrong  error // error in the DSN; nil: none
	closed bool
}

func (c *collector) lock() (unlock func()) {
	c.mu.Lock()
	return c.mu.Unlock
}

// usable returns why the server must not be called.
func (c *collector) usable() error {
	if c.closed {
		return errors.New("collector is closed")
	}
	return c.wrong
}

func (c *collector) Source() string { return metric.SourceDatabase }

func (c *collector) Start(ctx context.Context) error {
	defer c.lock()()
	err := c.usable()
	if err == nil {
		err = collect.First(ctx, c.server.Begin)
	}
	if err != nil {
		return fmt.Errorf("collect from the database: %w", err)
	}
	return nil
}

// Run samples until ctx is done. See the function Run.
func (c *collector) Run(ctx context.Context, sink collect.Sink) error { return Run(ctx, c, sink) }

func (c *collector) Connected() bool {
	defer c.lock()()
	return c.usable() == nil && c.server.Connected()
}

func (c *collector) Connect(ctx context.Context) error {
	defer c.lock()()
	err := c.usable()
	if err == nil {
		err = c.server.Connect(ctx)
	}
	if err != nil {
		return fmt.Errorf("reconnect: %w", err)
	}
	return nil
}

func (c *collector) Sample(ctx context.Context) ([]Session, error) {
	defer c.lock()()
	sessions, err := c.server.Sample(ctx)
	if err != nil {
		return nil, fmt.Errorf("sample sessions: %w", err)
	}
	return sessions, nil
}

func (c *collector) Read(ctx context.Context) ([]metric.Point, error) {
	defer c.lock()()
	return c.server.Read(ctx)
}

func (c *collector) Describe(ctx context.Context) (d record.Database, err error) {
	defer c.lock()()
	if err = c.usable(); err == nil {
		d, err = c.server.Describe(ctx)
	}
	if err != nil {
		return record.Database{}, fmt.Errorf("describe database: %w", err)
	}
	return d, nil
}

func (c *collector) Notes() []string {
	if c.wrong != nil {
		return nil
	}
	return c.server.Notes()
}

func (c *collector) Close() error {
	defer c.lock()()
	if c.usable() != nil {
		return nil
	}
	c.closed = true
	return c.server.Close()
}

// Examination is what a collector would find, determined without changing the server.
type Examination struct {
	Disabled int      // number of disabled instruments and consumers that a run would enable
	Notes    []string // what could not be observed, each with the SQL that would fix it
	Burdens  []string // what a run costs the server that it need not, likewise
	Left     string   // what runs that were killed have left changed on the server, likewise; empty: nothing
	Hints    []string // what else could be observed, likewise; optional for a run
	// Variables are the status variables that could be read, by name.
	Variables []string
}

// RightsError means that the user may not read what a collector needs.
type RightsError struct {
	Err error
	SQL string // what an administrator runs to allow it
}

func (e *RightsError) Error() string { return e.Err.Error() + "; " + e.Hint() }
func (e *RightsError) Unwrap() error { return e.Err }

func (e *RightsError) Hint() string { return "run as an administrator: " + e.SQL }

// BlindError means that the server shows waits to no user.
type BlindError struct{ Why, Remedy string }

func (e *BlindError) Error() string { return e.Why + ": " + e.Remedy }

// SharedServer is the note of a run during which another run used the server.
const SharedServer = "database: another run of Assay used this server at the same time: waits, counters and statement times include its load, and it may have slowed this run down"
