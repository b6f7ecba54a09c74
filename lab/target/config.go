package target

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"assay.dev/assay/lab/target/gateway"
	"assay.dev/assay/lab/target/otlp"
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
	Latency time.Duration // latency of the simulated notifier, for a batch
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

// Flags registers a flag for every field except the DSN, which is a secret and comes
// from the environment. Defaults are the values of c.
func (c *Config) Flags(fs *pflag.FlagSet) {
	fs.StringVar(&c.Listen, "listen", c.Listen, "address to serve on")
	fs.BoolVar(&c.AllowRemote, "allow-remote", c.AllowRemote, "allow --listen on an address that other hosts can reach")

	fs.Var(mode[Commits]{&c.Commits, commitModes}, "commits", "when a payment commits: after every statement, once in a transaction, or batched with others (statement, transaction, batched)")
	fs.IntVar(&c.BatchSize, "batch-size", c.BatchSize, "largest number of payments in one transaction, with --commits batched")
	fs.DurationVar(&c.BatchWait, "batch-wait", c.BatchWait, "how long a payment waits for others to share its transaction")

	fs.IntVar(&c.Accounts, "accounts", c.Accounts, "accounts that payments are spread over; 1 makes one row hot, for as long as a transaction lasts with --commits transaction")

	fs.IntVar(&c.Pool.MaxOpen, "pool-max-open", c.Pool.MaxOpen, "limit of connections to the database; 0 means none")
	fs.IntVar(&c.Pool.MaxIdle, "pool-max-idle", c.Pool.MaxIdle, "unused connections kept open; -1 means as many as --pool-max-open")
	fs.DurationVar(&c.Pool.MaxLifetime, "pool-max-lifetime", c.Pool.MaxLifetime, "age at which a connection is replaced; 0 means never")
	fs.BoolVar(&c.Pool.PerRequest, "pool-per-request", c.Pool.PerRequest, "open and close a pool for every request")

	fs.IntVar(&c.Capacity.Slots, "capacity", c.Capacity.Slots, "requests that the service works on at once, while the others wait in order; 0 means no limit")
	fs.IntVar(&c.Capacity.Most, "capacity-max", c.Capacity.Most, "capacity up to which the service grows, by further instances of --capacity each; 0 means that it does not")
	fs.DurationVar(&c.Capacity.Boot, "boot", c.Capacity.Boot, "how long a further instance takes to start")
	fs.DurationVar(&c.Capacity.After, "scale-after", c.Capacity.After, "for how long all of the capacity is in use, since a request had to wait, before a further instance is started")
	fs.DurationVar(&c.Capacity.DownAfter, "scale-down-after", c.Capacity.DownAfter, "how long an instance is not needed before it ends")
	fs.DurationVar(&c.Capacity.Work, "work", c.Capacity.Work, "least time that a request takes while the service works on it, without using CPU: a capacity of N is N/work requests per second")

	fs.IntVar(&c.MaxOpenFiles, "max-open-files", c.MaxOpenFiles, "limit of the process's open files, connections included; 0 leaves it as it is")

	c.Gateway.Flags(fs)
	fs.BoolVar(&c.Reconcile.On, "reconcile", c.Reconcile.On, "query the gateways again about PENDING payments, and confirm or decline them")
	fs.DurationVar(&c.Reconcile.After, "reconcile-after", c.Reconcile.After, "how long a payment is PENDING before its gateway is queried again")
	fs.DurationVar(&c.Reconcile.Every, "reconcile-every", c.Reconcile.Every, "interval of looking for PENDING payments")
	fs.IntVar(&c.Reconcile.Batch, "reconcile-batch", c.Reconcile.Batch, "largest number of PENDING payments queried at once")
	fs.BoolVar(&c.Notify.On, "notify", c.Notify.On, "relay the outbox to a simulated notifier")
	fs.DurationVar(&c.Notify.Every, "notify-every", c.Notify.Every, "interval of reading the outbox")
	fs.IntVar(&c.Notify.Batch, "notify-batch", c.Notify.Batch, "largest number of notifications sent at once")
	fs.DurationVar(&c.Notify.Latency, "notify-latency", c.Notify.Latency, "how long the simulated notifier takes for a batch")

	fs.Var(mode[Ingest]{&c.Ingest, ingestModes}, "ingest", "how an event is stored: directly; in bulk with others; answered first, and stored in bulk from a channel; or answered when Kafka has it, and stored in bulk by a consumer (direct, bulk, channel, kafka)")
	fs.IntVar(&c.IngestBatch, "ingest-batch", c.IngestBatch, "largest number of events in one INSERT, unless --ingest direct")
	fs.DurationVar(&c.IngestWait, "ingest-wait", c.IngestWait, "how long an event waits for others to share its INSERT")
	fs.IntVar(&c.IngestQueue, "ingest-queue", c.IngestQueue, "largest number of events held in memory, about 200 bytes each, unless --ingest direct; a full queue answers 503")
	fs.StringVar(&c.Kafka.Brokers, "kafka-brokers", c.Kafka.Brokers, "brokers to connect to first, host:port,..., with --ingest kafka; credentials, and a broker instead of these, come from ASSAY_KAFKA")
	fs.StringVar(&c.Kafka.Topic, "kafka-topic", c.Kafka.Topic, "topic of the events, which is created if it does not exist")
	fs.StringVar(&c.Kafka.Group, "kafka-group", c.Kafka.Group, "consumer group that stores the events")

	fs.DurationVar(&c.RequestTimeout, "request-timeout", c.RequestTimeout, "time limit of a request")
	fs.BoolVar(&c.LogRequests, "log-requests", c.LogRequests, "write the log as JSON, with one line for each request of the load and the trace id of its traceparent header")
	fs.BoolVar(&c.Drain, "drain", c.Drain, "on shutdown finish the requests and store the queue; false drops both")
	fs.DurationVar(&c.DrainTimeout, "drain-timeout", c.DrainTimeout, "how long a drain may take")

	fs.StringVar(&c.OTLP, "otlp", c.OTLP, "base URL to push metrics to every second by OTLP/HTTP, like http://127.0.0.1:4318; headers come from OTEL_EXPORTER_OTLP_HEADERS")
}

// The modes that the flags accept.
var (
	commitModes = []Commits{CommitStatement, CommitTransaction, CommitBatched}
	ingestModes = []Ingest{IngestDirect, IngestBulk, IngestChannel, IngestKafka}
)

// mode is a flag value that is one of several words.
type mode[M ~string] struct {
	to    *M
	known []M
}

func (m mode[M]) String() string { return string(*m.to) }

// Type names the value in the help.
func (m mode[M]) Type() string { return "mode" }

// Set accepts a known mode only.
func (m mode[M]) Set(s string) error {
	if !slices.Contains(m.known, M(s)) {
		names := make([]string, len(m.known))
		for i, k := range m.known {
			names[i] = string(k)
		}
		return fmt.Errorf("want one of %s", strings.Join(names, ", "))
	}
	*m.to = M(s)
	return nil
}

// Validate checks the configuration. Its errors name the flag.
func (c Config) Validate() error {
	if err := validateListen(c.Listen, c.AllowRemote); err != nil {
		return err
	}
	if c.DSN == "" {
		return errors.New("no database: set ASSAY_DB to user:password@tcp(host:port)/database")
	}
	if err := (mode[Commits]{&c.Commits, commitModes}).Set(string(c.Commits)); err != nil {
		return fmt.Errorf("--commits %s: %w", c.Commits, err)
	}
	if err := (mode[Ingest]{&c.Ingest, ingestModes}).Set(string(c.Ingest)); err != nil {
		return fmt.Errorf("--ingest %s: %w", c.Ingest, err)
	}
	for _, check := range []struct {
		ok   bool
		flag string
		want string
	}{
		{c.BatchSize >= 1 && c.BatchSize <= 1000, "--batch-size", "1 to 1000"},
		{c.BatchWait >= 0 && c.BatchWait <= time.Second, "--batch-wait", "0 to 1s"},
		{c.Accounts >= 1 && c.Accounts <= Accounts, "--accounts", fmt.Sprintf("1 to %d", Accounts)},
		{c.Pool.MaxOpen >= 0, "--pool-max-open", "0 or more"},
		{c.Pool.MaxIdle >= -1, "--pool-max-idle", "-1 or more"},
		{c.Pool.MaxLifetime >= 0, "--pool-max-lifetime", "0 or more"},
		{c.Capacity.Slots >= 0, "--capacity", "0 or more"},
		{c.Capacity.Most == 0 || c.Capacity.Slots > 0 && c.Capacity.Most >= c.Capacity.Slots, "--capacity-max", "0, or --capacity or more"},
		{c.Capacity.Boot >= 0, "--boot", "0 or more"},
		{c.Capacity.After >= 0, "--scale-after", "0 or more"},
		{c.Capacity.DownAfter > 0, "--scale-down-after", "more than 0"},
		{c.Capacity.Work >= 0 && c.Capacity.Work < c.RequestTimeout, "--work", "0 or more, and less than --request-timeout"},
		{c.Reconcile.After >= 0 && c.Reconcile.After <= time.Hour, "--reconcile-after", "0 to 1h"},
		{c.Reconcile.Every > 0, "--reconcile-every", "more than 0"},
		{c.Reconcile.Batch >= 1 && c.Reconcile.Batch <= 1000, "--reconcile-batch", "1 to 1000"},
		{c.Notify.Every > 0, "--notify-every", "more than 0"},
		{c.Notify.Batch >= 1 && c.Notify.Batch <= 10_000, "--notify-batch", "1 to 10000"},
		{c.Notify.Latency >= 0, "--notify-latency", "0 or more"},
		{c.IngestBatch >= 1 && c.IngestBatch <= 5000, "--ingest-batch", "1 to 5000"},
		{c.IngestWait >= 0 && c.IngestWait <= time.Second, "--ingest-wait", "0 to 1s"},
		{c.IngestQueue >= 1, "--ingest-queue", "1 or more"},
		{c.Ingest != IngestKafka || strings.TrimSpace(c.Kafka.Topic) != "", "--kafka-topic", "a topic"},
		{c.Ingest != IngestKafka || strings.TrimSpace(c.Kafka.Group) != "", "--kafka-group", "a consumer group"},
		{c.MaxOpenFiles == 0 || c.MaxOpenFiles >= minOpenFiles, "--max-open-files", fmt.Sprintf("0, or %d or more", minOpenFiles)},
		{c.RequestTimeout > 0, "--request-timeout", "more than 0"},
		{c.DrainTimeout > 0, "--drain-timeout", "more than 0"},
	} {
		if !check.ok {
			return fmt.Errorf("%s: want %s", check.flag, check.want)
		}
	}
	if c.OTLP != "" {
		if err := otlp.CheckURL(c.OTLP); err != nil {
			return fmt.Errorf("--otlp: %w", err)
		}
	}
	return c.Gateway.Validate()
}

// validateListen allows loopback addresses only, unless remote is allowed: the service
// has no authentication.
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
