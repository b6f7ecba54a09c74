package target

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/spf13/pflag"
)

// Commits says where the commits of a payment fall.
type Commits string

// The ways to commit a payment.
const (
	// CommitStatement auto-commits every statement: about ten commits a payment.
	CommitStatement Commits = "statement"
	// CommitTransaction commits once a payment.
	CommitTransaction Commits = "transaction"
	// CommitBatched commits once for several payments.
	CommitBatched Commits = "batched"
)

// Ingest says when an event is stored relative to its answer.
type Ingest string

// The ways to store an event.
const (
	// IngestDirect stores each event by an INSERT of its own, then answers.
	IngestDirect Ingest = "direct"
	// IngestBulk stores the events of several requests by one INSERT, then answers them.
	IngestBulk Ingest = "bulk"
	// IngestChannel answers first and stores from a queue in memory.
	IngestChannel Ingest = "channel"
)

// Pool is how connections to the database are kept.
type Pool struct {
	MaxOpen     int           // connections at most; 0 = no limit
	MaxIdle     int           // kept open when unused; -1 = as many as MaxOpen
	MaxLifetime time.Duration // a connection is replaced at this age; 0 = never
	PerRequest  bool          // a pool of its own for each request: report D's "too many connections"
}

// Config is everything the service can be told.
type Config struct {
	Listen      string // host:port; loopback unless AllowRemote
	AllowRemote bool
	DSN         string // user:password@tcp(host:port)/database; a secret, never logged

	Commits   Commits
	BatchSize int           // payments in one transaction at most, for CommitBatched
	BatchWait time.Duration // how long a payment waits for company in its batch

	Pool Pool

	Ingest      Ingest
	IngestBatch int           // events in one INSERT at most, for bulk and channel
	IngestWait  time.Duration // how long an event waits for company in its INSERT
	IngestQueue int           // events held in memory; a full queue refuses the next with 503

	RequestTimeout time.Duration // a request is given up after this, with 503

	Drain        bool          // finish requests and store the queue before the exit
	DrainTimeout time.Duration // how long that may take
}

// DefaultConfig is the service as `assay target` starts it: every statement
// auto-committed, as in report A, and a sound pool.
func DefaultConfig() Config {
	return Config{
		Listen:    "127.0.0.1:18080",
		Commits:   CommitStatement,
		BatchSize: 16,
		BatchWait: 2 * time.Millisecond,
		Pool:      Pool{MaxOpen: 32, MaxIdle: -1, MaxLifetime: 30 * time.Minute},

		Ingest:      IngestDirect,
		IngestBatch: 500,
		IngestWait:  2 * time.Millisecond,
		IngestQueue: 100_000,

		RequestTimeout: 30 * time.Second,
		Drain:          true,
		DrainTimeout:   30 * time.Second,
	}
}

// Flags registers a flag for every field but the DSN, which is a secret and
// comes from the environment. Defaults are the values that c holds.
func (c *Config) Flags(fs *pflag.FlagSet) {
	fs.StringVar(&c.Listen, "listen", c.Listen, "address to serve on")
	fs.BoolVar(&c.AllowRemote, "allow-remote", c.AllowRemote, "allow --listen on an address that other hosts can reach")

	fs.Var(&c.Commits, "commits", "where a payment commits: at every statement, once in a transaction, or batched with others (statement, transaction, batched)")
	fs.IntVar(&c.BatchSize, "batch-size", c.BatchSize, "payments in one transaction at most, with --commits batched")
	fs.DurationVar(&c.BatchWait, "batch-wait", c.BatchWait, "how long a payment waits for others to share its transaction")

	fs.IntVar(&c.Pool.MaxOpen, "pool-max-open", c.Pool.MaxOpen, "connections to the database at most; 0 means no limit")
	fs.IntVar(&c.Pool.MaxIdle, "pool-max-idle", c.Pool.MaxIdle, "unused connections kept open; -1 means as many as --pool-max-open")
	fs.DurationVar(&c.Pool.MaxLifetime, "pool-max-lifetime", c.Pool.MaxLifetime, "age at which a connection is replaced; 0 means never")
	fs.BoolVar(&c.Pool.PerRequest, "pool-per-request", c.Pool.PerRequest, "open and close a pool for every request")

	fs.Var(&c.Ingest, "ingest", "how an event is stored: direct, in bulk with others, or answered first and stored from a channel (direct, bulk, channel)")
	fs.IntVar(&c.IngestBatch, "ingest-batch", c.IngestBatch, "events in one INSERT at most, with --ingest bulk or channel")
	fs.DurationVar(&c.IngestWait, "ingest-wait", c.IngestWait, "how long an event waits for others to share its INSERT")
	fs.IntVar(&c.IngestQueue, "ingest-queue", c.IngestQueue, "events held in memory at most, with --ingest bulk or channel")

	fs.DurationVar(&c.RequestTimeout, "request-timeout", c.RequestTimeout, "when a request is given up")
	fs.BoolVar(&c.Drain, "drain", c.Drain, "on shutdown finish the requests and store the queue; false throws both away")
	fs.DurationVar(&c.DrainTimeout, "drain-timeout", c.DrainTimeout, "how long a drain may take")
}

// Validate refuses what Run could not serve, naming the flag.
func (c Config) Validate() error {
	if err := validateListen(c.Listen, c.AllowRemote); err != nil {
		return err
	}
	if c.DSN == "" {
		return errors.New("no database: set ASSAY_DB to user:password@tcp(host:port)/database")
	}
	if err := new(Commits).Set(string(c.Commits)); err != nil {
		return fmt.Errorf("--commits %s: %w", c.Commits, err)
	}
	if err := new(Ingest).Set(string(c.Ingest)); err != nil {
		return fmt.Errorf("--ingest %s: %w", c.Ingest, err)
	}
	for _, check := range []struct {
		ok   bool
		flag string
		want string
	}{
		{c.BatchSize >= 1 && c.BatchSize <= 1000, "--batch-size", "1 to 1000"},
		{c.BatchWait >= 0 && c.BatchWait <= time.Second, "--batch-wait", "0 to 1s"},
		{c.Pool.MaxOpen >= 0, "--pool-max-open", "0 or more"},
		{c.Pool.MaxIdle >= -1, "--pool-max-idle", "-1 or more"},
		{c.Pool.MaxLifetime >= 0, "--pool-max-lifetime", "0 or more"},
		{c.IngestBatch >= 1 && c.IngestBatch <= 5000, "--ingest-batch", "1 to 5000"},
		{c.IngestWait >= 0 && c.IngestWait <= time.Second, "--ingest-wait", "0 to 1s"},
		{c.IngestQueue >= 1, "--ingest-queue", "1 or more"},
		{c.RequestTimeout > 0, "--request-timeout", "more than 0"},
		{c.DrainTimeout > 0, "--drain-timeout", "more than 0"},
	} {
		if !check.ok {
			return fmt.Errorf("%s: want %s", check.flag, check.want)
		}
	}
	return nil
}

// validateListen keeps the service on this machine unless remote is allowed:
// it has no authentication and writes whatever it is sent.
func validateListen(addr string, remote bool) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("--listen %s: want host:port: %w", addr, err)
	}
	if remote || host == "localhost" {
		return nil
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("--listen %s: not a loopback address; add --allow-remote to serve other hosts", addr)
}

// LogValue leaves the DSN out of every log line.
func (c Config) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("commits", string(c.Commits)),
		slog.String("ingest", string(c.Ingest)),
		slog.Int("pool_max_open", c.Pool.MaxOpen),
		slog.Int("pool_max_idle", c.Pool.MaxIdle),
		slog.Duration("pool_max_lifetime", c.Pool.MaxLifetime),
		slog.Bool("pool_per_request", c.Pool.PerRequest),
		slog.Bool("drain", c.Drain),
	)
}
