package target

import (
	"log/slog"
	"time"

	"assay.dev/assay/lab/target/gateway"
)

// Commits is when a payment commits.
type Commits string

// The ways to commit a payment.
const (
	// CommitStatement auto-commits every statement: about ten commits per payment.
	CommitStatement Commits = "statement"
	// CommitTransaction commits once per payment.
	CommitTransaction Commits = "transaction"
	// CommitBatched commits once for several payments.
	CommitBatched Commits = "batched"
)

// Ingest is when an event is stored relative to its response.
type Ingest string

// The ways to store an event.
const (
	// IngestDirect stores each event by its own INSERT, then responds.
	IngestDirect Ingest = "direct"
	// IngestBulk stores the events of several requests by one INSERT, then responds.
	IngestBulk Ingest = "bulk"
	// IngestChannel responds first, and stores the events of several requests by one
	// INSERT from a queue in memory: report D's asynchronous bulk insert.
	IngestChannel Ingest = "channel"
	// IngestKafka responds once Kafka has acknowledged the event. A consumer of the service
	// stores the events of its topic by INSERTs of many, and commits their offsets then.
	IngestKafka Ingest = "kafka"
)

// Pool is the configuration of the database connection pool.
type Pool struct {
	MaxOpen     int           // limit of connections; 0 = none
	MaxIdle     int           // kept open when unused; -1 = as many as MaxOpen
	MaxLifetime time.Duration // a connection is replaced at this age; 0 = never
	PerRequest  bool          // a new pool for each request: report D's "too many connections"
}

// Reconcile is the worker that queries gateways about payments with an unknown outcome.
// Its load on the database is a COUNT per interval, and about ten statements in two
// transactions per such payment.
type Reconcile struct {
	On    bool
	After time.Duration // time before a PENDING payment is queried, and between two queries
	Every time.Duration // interval of looking for such payments
	Batch int           // largest number of payments queried at once
}

// Notify is the worker that relays the outbox. Its load on the database is a COUNT per
// interval, and one transaction of two statements per batch.
type Notify struct {
	On      bool
	Every   time.Duration // interval of reading the outbox
	Batch   int           // largest number of notifications sent at once
	Latency time.Duration // of the simulated notifier, for a batch
}

// Config is the configuration of the service.
type Config struct {
	Listen      string // host:port; loopback unless AllowRemote
	AllowRemote bool
	DSN         string // user:password@tcp(host:port)/database; a secret, never logged

	Commits   Commits
	BatchSize int           // largest number of payments in one transaction, for CommitBatched
	BatchWait time.Duration // how long a payment waits for others in its batch

	// Accounts is how many of the schema's accounts are used: the account of a request
	// is mapped onto them. 1 makes one row hot.
	Accounts int

	Pool Pool

	Capacity Capacity

	Gateway   gateway.Config
	Reconcile Reconcile
	Notify    Notify

	Ingest      Ingest
	IngestBatch int           // largest number of events in one INSERT, unless direct
	IngestWait  time.Duration // how long an event waits for others in its INSERT
	IngestQueue int           // events held in memory; a full queue refuses the next with 503
	Kafka       Kafka         // for IngestKafka

	MaxOpenFiles int // limit of the process's open files, connections included; 0 = as it is

	RequestTimeout time.Duration // a request ends after this with 503
	LogRequests    bool          // one line in the log for each request of the load

	Drain        bool          // finish requests and store the queue before the exit
	DrainTimeout time.Duration // how long that may take

	// OTLP is the base URL that metrics are pushed to; empty: that of the standard
	// environment (OTEL_EXPORTER_OTLP_ENDPOINT), otherwise none.
	OTLP string
}

// DefaultConfig is the configuration of `assay-lab target`: every statement auto-committed,
// as in report A, and a sufficient pool.
func DefaultConfig() Config {
	return Config{
		Listen:    "127.0.0.1:18080",
		Commits:   CommitStatement,
		BatchSize: 16,
		BatchWait: 2 * time.Millisecond,
		Accounts:  Accounts,
		Pool:      Pool{MaxOpen: 32, MaxIdle: -1, MaxLifetime: 30 * time.Minute},
		Capacity:  Capacity{Boot: 30 * time.Second, After: 3 * time.Second, DownAfter: time.Minute},

		Gateway:   gateway.DefaultConfig(),
		Reconcile: Reconcile{On: true, After: 5 * time.Second, Every: time.Second, Batch: 20},
		Notify:    Notify{On: true, Every: time.Second, Batch: 200, Latency: 5 * time.Millisecond},

		Ingest:      IngestDirect,
		IngestBatch: 500,
		IngestWait:  2 * time.Millisecond,
		IngestQueue: 100_000,
		Kafka:       Kafka{Brokers: "127.0.0.1:9092", Topic: "events", Group: "assay-ingest"},

		RequestTimeout: 30 * time.Second,
		Drain:          true,
		DrainTimeout:   30 * time.Second,
	}
}

// LogValue leaves the DSN out of every log line.
func (c Config) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("commits", string(c.Commits)),
		slog.String("ingest", string(c.Ingest)),
		slog.Int("accounts", c.Accounts),
		slog.Int("pool_max_open", c.Pool.MaxOpen),
		slog.Int("pool_max_idle", c.Pool.MaxIdle),
		slog.Int("max_open_files", c.MaxOpenFiles),
		slog.Duration("pool_max_lifetime", c.Pool.MaxLifetime),
		slog.Bool("pool_per_request", c.Pool.PerRequest),
		slog.Int("capacity", c.Capacity.Slots),
		slog.Int("capacity_max", c.Capacity.Most),
		slog.Duration("work", c.Capacity.Work),
		slog.String("gateway_latency", c.Gateway.Latency.String()),
		slog.String("gateway_declines", c.Gateway.Declines.String()),
		slog.String("gateway_timeouts", c.Gateway.Timeouts.String()),
		slog.String("gateway_url", c.Gateway.URL.String()),
		slog.Int("gateway_retries", c.Gateway.Retries),
		slog.Bool("reconcile", c.Reconcile.On),
		slog.Bool("notify", c.Notify.On),
		slog.Bool("drain", c.Drain),
	)
}
