package target

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/twmb/franz-go/pkg/kfake"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/lab/target/gateway"
	"assay.dev/assay/lab/target/otlp"
)

// lastPush limits the last push of metrics.
const lastPush = 2 * time.Second

// Run opens the database, creates missing tables, listens, and serves until ctx is done;
// then it drains, if configured, and returns. It calls ready once, with the address, when
// requests are accepted.
func Run(ctx context.Context, c Config, log *slog.Logger, ready func(addr string)) error {
	if c.DSN == "" {
		return hint.With(errors.New("no database is named"), "set ASSAY_DB to its DSN, like user:password@tcp(127.0.0.1:3306)/shop")
	}
	err := run(ctx, c, log, ready)
	var unreachable *net.OpError
	var refused *mysql.MySQLError
	if hint.Of(err) != "" {
		return err
	}
	if errors.As(err, &unreachable) && unreachable.Op == "dial" || errors.As(err, &refused) {
		return hint.With(err, "check that the database is up, and user and password in ASSAY_DB")
	}
	return err
}

func run(ctx context.Context, c Config, log *slog.Logger, ready func(addr string)) error {
	if err := c.Validate(); err != nil {
		return err
	}
	restore, err := limitOpenFiles(c.MaxOpenFiles)
	if err != nil {
		return err
	}
	defer restore()
	limited := newLimitedLog(log)
	dsn, err := parseDSN(c.DSN, limited)
	if err != nil {
		return err
	}
	// Before the schema is created: if the port is taken, the database is not changed.
	listener, err := net.Listen("tcp", c.Listen)
	if errors.Is(err, syscall.EADDRINUSE) {
		err = hint.With(err, "stop the process that listens there, or choose another port")
	}
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	defer listener.Close() // closed already by the server
	if err := ensureSchema(ctx, dsn, c.Ingest == IngestKafka); err != nil {
		return err
	}
	m := newMetrics()
	db, err := openDatabase(dsn, c.Pool, m)
	if err != nil {
		return err
	}
	defer db.close() //nolint:errcheck // all is committed
	m.watchPool(db)
	stopPush, err := startPush(ctx, c.OTLP, m, limited)
	if err != nil {
		return err
	}
	defer stopPush() // after the drain, to push its metrics too

	// work outlives ctx: queued events are stored after the last request.
	work, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	gateways := gateway.New(c.Gateway, m.call)
	defer gateways.Close()
	pays, events := startQueues(work, c, db, gateways, limited)
	if c.Ingest == IngestKafka {
		if events.stream, err = startStream(ctx, work, c, db, limited); err != nil {
			if pays.batches != nil {
				pays.batches.stop()
			}
			return err
		}
	}
	m.watchQueue(events)
	background := startWorkers(work, c, db, gateways, limited)
	s := &server{db: db, payments: pays, events: events, m: m, log: limited, timeout: c.RequestTimeout, work: c.Capacity.Work}
	if c.Capacity.Slots > 0 {
		s.limit = newLimiter(c.Capacity, log, m.queuedFor)
		defer s.limit.stop()
		m.watchCapacity(s.limit)
	}
	if c.LogRequests {
		s.requests = startRequestLog(log.Handler())
		defer s.requests.stop()
	}
	web := newWebServer(s.handler(), c.RequestTimeout, log)
	served := make(chan error, 1)
	go func() { served <- web.Serve(countedListener{listener, m}) }()
	log.Info("serving", "addr", listener.Addr().String(), "config", c)
	ready(listener.Addr().String())

	select {
	case err = <-served:
		err = fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
		err = nil
	}
	return errors.Join(err, shutdown(work, c, web, abandon, pays, events, background, log))
}

func newWebServer(h http.Handler, requestTimeout time.Duration, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      requestTimeout + 5*time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}

// startPush pushes the metrics, if a receiver is configured by its base URL or the
// environment. stop pushes once more.
func startPush(ctx context.Context, base string, m *metrics, log *limitedLog) (stop func(), err error) {
	if !otlp.Named(base) {
		return func() {}, nil
	}
	failed := func(err error) { log.error("push metrics", err) }
	end, err := otlp.Start(ctx, base, m.registry, failed)
	if err != nil {
		return nil, err
	}
	return func() {
		limit, cancel := context.WithTimeout(context.Background(), lastPush)
		defer cancel()
		if err := end(limit); err != nil {
			failed(err)
		}
	}, nil
}

// startQueues starts the goroutines that commit batches and store events; shutdown
// ends them by stopping the queues.
func startQueues(work context.Context, c Config, db *database, gateways *gateway.Gateways, log *limitedLog) (*payments, *ingestion) {
	pays := &payments{db: db, gateways: gateways, commits: c.Commits, accounts: c.Accounts, askAfter: c.Reconcile.After}
	if c.Commits == CommitBatched {
		committers := c.Pool.MaxOpen // more would have no connection
		if committers == 0 {
			committers = DefaultConfig().Pool.MaxOpen
		}
		pays.batches = startGroup(c.BatchSize, c.BatchSize, committers, c.BatchWait, func(b []*batched) { pays.commitBatch(work, b) })
	}
	events := &ingestion{db: db, mode: c.Ingest, log: log, storing: map[*queuedEvent]bool{}}
	if c.Ingest == IngestBulk || c.Ingest == IngestChannel {
		events.queue = startGroup(c.IngestBatch, c.IngestQueue, insertWriters, c.IngestWait, func(q []queuedEvent) { events.store(work, q) })
	}
	return pays, events
}

// startWorkers starts the configured workers; shutdown stops them.
func startWorkers(work context.Context, c Config, db *database, gateways *gateway.Gateways, log *limitedLog) *workers {
	w := &workers{quit: make(chan struct{})}
	if c.Reconcile.On {
		db.m.registry.MustRegister(db.m.pending, db.m.reconciled)
		w.start(work, "reconcile payments", c.Reconcile.Every, log, newReconciler(c, db, gateways).run)
	}
	if c.Notify.On {
		db.m.registry.MustRegister(db.m.outbox, db.m.notified)
		w.start(work, "relay notifications", c.Notify.Every, log, (&notifier{db.workers(), c.Notify, db.m}).run)
	}
	return w
}

// shutdown ends the requests, then the queues and workers. With a drain they may finish
// within its time-out. Without it connections are closed and queues dropped, which is how
// acknowledged events get lost in practice.
func shutdown(work context.Context, c Config, web *http.Server, abandon func(), pays *payments, events *ingestion, background *workers, log *slog.Logger) error {
	if c.Drain {
		limit, cancel := context.WithTimeout(context.Background(), c.DrainTimeout)
		defer cancel()
		defer context.AfterFunc(limit, abandon)()
		if err := web.Shutdown(limit); err != nil {
			log.Warn("drain: requests interrupted", "error", err)
		}
	} else {
		abandon()
	}
	_ = web.Close() // requests that Shutdown did not end
	if pays.batches != nil {
		pays.batches.stop()
	}
	background.stop(work.Done())
	if events.stream != nil {
		events.stream.stop()
	}
	if events.queue == nil {
		return nil
	}
	events.queue.stop()
	if lost := events.lost.Load(); lost > 0 {
		log.Error("acknowledged events were not stored", "events", lost)
		if c.Drain {
			return fmt.Errorf("drain: %d events were not stored within %s", lost, c.DrainTimeout)
		}
	}
	return nil
}

// brokerPartitions are the partitions of a topic that the service makes.
const brokerPartitions = 4

// RunBroker runs a Kafka broker on loopback until ctx is done, to try [IngestKafka] with:
// it holds all messages in memory and has no replicas, so it loses them when it ends. It
// calls ready once, with its address, when it accepts connections. Port 0 is a free one.
func RunBroker(ctx context.Context, port int, ready func(addr string)) error {
	c, err := kfake.NewCluster(kfake.Ports(port), kfake.DefaultNumPartitions(brokerPartitions))
	if errors.Is(err, syscall.EADDRINUSE) {
		err = hint.With(err, "stop the process that listens there, or choose another port")
	}
	if err != nil {
		return fmt.Errorf("start the Kafka broker: %w", err)
	}
	defer c.Close()
	ready(c.ListenAddrs()[0])
	<-ctx.Done()
	return nil
}

// healthTimeout limits the whole check: checks every few seconds must not pile up at a
// service that hangs.
const healthTimeout = 4 * time.Second

// CheckHealth checks that a running service and its database respond.
func CheckHealth(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/healthz", http.NoBody)
	if err != nil {
		return hint.With(fmt.Errorf("--url %s is not a URL", url), "like --url http://127.0.0.1:18080")
	}
	// Without a proxy: the service is on this host.
	direct := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := direct.Do(req)
	if err != nil {
		return fmt.Errorf("service is unhealthy: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("service is unhealthy: GET %s/healthz: %s", url, resp.Status)
	}
	return nil
}

// minOpenFiles is enough to listen, to connect to the database and to be scraped.
const minOpenFiles = 32

// limitOpenFiles sets the process's limit of open files; 0 leaves it as it is. restore
// sets the limit of before.
func limitOpenFiles(limit int) (restore func(), err error) {
	if limit == 0 {
		return func() {}, nil
	}
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		return nil, fmt.Errorf("--max-open-files %d: %w", limit, err)
	}
	if uint64(limit) > before.Max {
		return nil, fmt.Errorf("--max-open-files %d: the hard limit is %d", limit, before.Max)
	}
	// The hard limit stays, so that the limit can be restored.
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: uint64(limit), Max: before.Max}); err != nil {
		return nil, fmt.Errorf("--max-open-files %d: %w", limit, err)
	}
	return func() { _ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before) }, nil // it was this before
}

// countedListener counts connections that could not be accepted. net/http tries again
// after a pause, and the client waits.
type countedListener struct {
	net.Listener
	m *metrics
}

func (l countedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil && !errors.Is(err, net.ErrClosed) {
		l.m.errors.WithLabelValues(classOf(err)).Inc()
	}
	return c, err
}
