package target

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// Flags registers a flag for every field except the DSN, which is a secret and comes
// from the environment. Defaults are the values of c.
func (c *Config) Flags(fs *pflag.FlagSet) {
	fs.StringVar(&c.Listen, "listen", c.Listen, "address to serve on")
	fs.BoolVar(&c.AllowRemote, "allow-remote", c.AllowRemote, "allow --listen on an address that other hosts can reach")

	fs.Var(&c.Commits, "commits", "when a payment commits: after every statement, once in a transaction, or batched with others (statement, transaction, batched)")
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

	fs.Var(&c.Ingest, "ingest", "how an event is stored: directly; in bulk with others; answered first, and stored in bulk from a channel; or answered when Kafka has it, and stored in bulk by a consumer (direct, bulk, channel, kafka)")
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

// String, Set and Type make Commits a flag value.
func (c *Commits) String() string { return string(*c) }

// Type names the value in the help.
func (c *Commits) Type() string { return "mode" }

// Set accepts a known mode only.
func (c *Commits) Set(s string) error {
	return setMode(c, s, CommitStatement, CommitTransaction, CommitBatched)
}

// String, Set and Type make Ingest a flag value.
func (i *Ingest) String() string { return string(*i) }

// Type names the value in the help.
func (i *Ingest) Type() string { return "mode" }

// Set accepts a known mode only.
func (i *Ingest) Set(s string) error {
	return setMode(i, s, IngestDirect, IngestBulk, IngestChannel, IngestKafka)
}

func setMode[M ~string](to *M, s string, known ...M) error {
	if !slices.Contains(known, M(s)) {
		names := make([]string, len(known))
		for i, k := range known {
			names[i] = string(k)
		}
		return fmt.Errorf("want one of %s", strings.Join(names, ", "))
	}
	*to = M(s)
	return nil
}
