// SPDX-License-Identifier: Apache-2.0

package metric

import (
	"fmt"
	"strings"
)

// Example SLO conditions, by kind of metric.
var (
	latencies  = []string{"p(95)<250", "max<1000"}
	failures   = []string{"rate<0.01"}
	successes  = []string{"rate>0.99"}
	lags       = []string{"max<5000", "p(95)<1000"}
	backlogs   = []string{"max<10000", "p(95)<1000"}
	levels     = []string{"max<1000", "p(95)<500"}
	persistLag = []string{"max<5000", "p(99)<1000"}
	ledgers    = []string{"missing==0", "duplicated==0"}
	recoveries = []string{"max<10000"}
	invariants = []string{"violated==0"}
	goodputs   = []string{"rate>0.9"}
)

// Labels of several metrics.
var (
	scenario  = []string{"scenario"}
	perSLO    = []string{"slo"}
	process   = []string{"process"}
	device    = []string{"device"}
	network   = []string{"interface"}
	session   = []string{"event", "class", "inferred", "client", "digest"}
	statement = []string{"digest", "statement"}
	variable  = []string{"name"}
	request   = []string{"scenario", "name"}
	ofHTTP    = append(scenario, HTTP.Classes...)
	ofGRPC    = append(scenario, GRPC.Classes...)
	ofScript  = []string{"scenario", "name", "group"}
	condition = []string{LabelCondition}
	stubbed   = []string{"stub", "endpoint", "background"}
)

// The only source of a metric.
var (
	byWorker      = []string{SourceWorker}
	byReceiver    = []string{SourceReceiver}
	byDatabase    = []string{SourceDatabase}
	byLag         = []string{SourceLag}
	byGauges      = []string{SourceGauges}
	byNeighbours  = []string{SourceNeighbours}
	byService     = []string{SourceService}
	byStub        = []string{SourceStub}
	byHost        = []string{SourceHost}
	byForeign     = []string{SourceForeign}
	byLedger      = []string{SourceLedger}
	byCoordinator = []string{SourceCoordinator}
	byStages      = []string{SourceStages}
	byK6          = []string{SourceK6}
)

// What abort conditions protect.
const (
	theDatabase = "the database"
	theService  = "the service"
)

const adviceReaders = "Name the replicas with --db-reader, or in the profile where the lag of the binlog reader can be read, and check that they are readable during the whole run."

const adviceConsumer = "Check that the brokers, the topic and the group of the profile's consumer are readable during the whole run, with the credentials in ASSAY_KAFKA."

const adviceGauges = "Check that the service exposes the metric named in the profile's gauges during the whole run."

// variables are the status variables, of MySQL and MariaDB, then of PostgreSQL, whose sum is
// a metric that abort conditions name. A server has those of its family.
var variables = map[string][]string{
	DBConnections: {"Threads_connected", "connections"},
	DBDeadlocks:   {"Innodb_deadlocks", "deadlocks"},
	DBAborted:     {"Aborted_clients", "Aborted_connects", "sessions_abandoned", "sessions_fatal", "sessions_killed"},
}

// Variables are the status variables, values of db_counter or db_gauge, whose sum is a
// metric; nil: it is not read from status variables.
func Variables(name string) []string { return variables[name] }

// catalogue describes every metric once. All lists, tables and checks of metrics derive
// from it; docs/metrics.md is generated from it.
var catalogue = []Descriptor{
	// By the second in which the transaction was scheduled, unless stated otherwise.
	{
		Name: TransactionDuration, Kind: Histogram, Unit: "ms", Sources: byWorker, Labels: request, SLO: latencies,
		Text: "time of each scheduled transaction, from its scheduled arrival to its end; if it timed out, until it ended or was interrupted; if it was dropped, the timeout as a lower bound",
	},
	{Name: Transactions, Kind: Counter, Sources: byWorker, Labels: append(request, "outcome"), Text: "transactions by their outcome: completed, failed, timed_out, dropped"},
	{Name: TransactionsUnsent, Kind: Counter, Sources: byWorker, Labels: []string{"scenario", "outcome"}, Text: "transactions, by their outcome, that were started and sent nothing: no request, no statement, and no attempt to connect"},
	{Name: TransactionsScheduled, Kind: Counter, Sources: byWorker, Labels: scenario, Text: "arrivals of the schedule"},
	{Name: Violations, Kind: Counter, Sources: byWorker, Labels: perSLO, Text: "samples that violate an SLO (exact count)"},
	{Name: ViolationsCleared, Kind: Counter, Sources: byWorker, Labels: perSLO, Text: "samples that violate an SLO even after subtracting the delay that the generator itself caused"},
	{Name: OpenRequests, Kind: Histogram, Unit: "ms", Sources: byWorker, Labels: scenario, Text: "for each transaction in progress when the run ended: how long its open request, if any, had taken so far"},
	{Name: Judged, Kind: Counter, Sources: byWorker, Labels: perSLO, Text: "samples that an SLO judges"},

	{
		Name: ErrorsByClass, Kind: Counter, Sources: []string{SourceWorker, SourceService}, Labels: []string{"where", "class", "scenario"}, View: "error.count",
		Text: "errors by who noticed them (client, script, service) and by class, such as connection refused, HTTP 503, too many connections; those that the service counts have no scenario",
	},
	{Name: ExcusedRequests, Kind: Counter, Sources: byWorker, Labels: []string{"scenario", "protocol", "status", "by"}, Text: "requests with a status that is a failure, which the script or the profile (by) expects, so that they have not failed"},
	{Name: ExcusedTransactions, Kind: Counter, Sources: byWorker, Labels: []string{"scenario", "reason"}, Text: "completed transactions in which a statement failed or the script counted an error (caught error), that sent no request and no statement (no request), or that sent messages by WebSockets and received none (no message)"},
	{Name: OutsideRequests, Kind: Counter, Sources: byWorker, Labels: []string{"outcome"}, Text: "requests that belong to no transaction, such as those of setup(), by their outcome: completed, failed"},

	// By the second in which each part ended, to compare with the metrics of service
	// and database, which count by the second of their work.
	{Name: AcknowledgedForms, Kind: Counter, Sources: byWorker, Labels: []string{"form", "scenario"}, Text: "acknowledged identities by their form, such as 16 bytes, as of a UUID"},
	{Name: EndedTransactions, Kind: Counter, Sources: byWorker, Labels: scenario, Text: "completed transactions, by the second in which they ended"},
	{Name: EndedIterations, Kind: Counter, Sources: byWorker, Text: "iterations, by the second in which they ended"},
	{Name: EndedIterationTime, Kind: Counter, Unit: "ms", Sources: byWorker, Text: "time of iterations, by the second in which they ended"},
	{Name: EndedRequests, Kind: Counter, Sources: byWorker, Text: "HTTP and gRPC requests, by the second in which they ended"},
	{Name: EndedRequestTime, Kind: Counter, Unit: "ms", Sources: byWorker, Text: "time from sending HTTP and gRPC requests to the end of their responses, by the second in which they ended"},
	{Name: EndedBlockedTime, Kind: Counter, Unit: "ms", Sources: byWorker, Text: "time waiting for or opening connections and WebSockets to the service, by the second in which the requests ended"},

	{Name: GeneratorLag, Kind: Histogram, Unit: "ms", Sources: byWorker, Labels: scenario, Text: "delay of the start of each arrival that the generator itself caused"},
	{Name: GeneratorDisplaced, Kind: Counter, Sources: byWorker, Labels: scenario, Text: "arrivals that the generator itself started later than the plan's limit, and that the system did not delay for longer"},
	{Name: GeneratorStall, Kind: Counter, Unit: "ms", Sources: byWorker, Labels: scenario, Text: "time for which the generator was stalled, by its heartbeat"},
	{Name: GeneratorDropped, Kind: Counter, Sources: byWorker, Labels: scenario, Text: "dropped arrivals whose delay was caused more by the generator's lag than by queueing"},
	{Name: GeneratorUndone, Kind: Counter, Sources: byWorker, Labels: scenario, Text: "transactions not completed because of the generator itself or its script: dropped by its lag, failed or timed out during a stall or by the script's own work, failed for what it lacks or by the script, or timed out and sent nothing"},
	{Name: GeneratorLacks, Kind: Counter, Sources: byWorker, Labels: []string{"scenario", "class"}, Text: "transactions that failed because the generator's host lacked something, by class: local ports, descriptors, memory, names that it cannot look up"},
	{Name: ScriptTime, Kind: Histogram, Unit: "ms", Sources: byWorker, Labels: scenario, Text: "time of each transaction in which its script neither waited for a request or a statement, nor for a timer between them, nor thought: JavaScript, what k6 does for it, and sleep() before the first request or after the last one; no data where the script uses what nobody times (browser, extensions)"},
	{Name: ThinkTime, Kind: Histogram, Unit: "ms", Sources: byWorker, Labels: scenario, Text: "think time of each transaction that thought, which no latency includes; a pause while a request is open is none"},
	{Name: ScriptFailed, Kind: Counter, Sources: byWorker, Labels: scenario, Text: "transactions that the script itself failed: it threw before it sent anything, or, though every request succeeded, an error of its own, such as a TypeError"},
	{Name: ArrivalQueueing, Kind: Histogram, Unit: "ms", Sources: byWorker, Labels: scenario, Text: "delay of the start because every VU was busy with the system under test"},

	// By the second of measurement.
	{Name: WorkerCPU, Kind: Counter, Unit: "s", Sources: byWorker, Text: "CPU time that the worker used"},
	{Name: WorkerCPUs, Kind: Gauge, Sources: byWorker, Text: "CPUs that the worker may use"},
	{Name: WorkerRunQueue, Kind: Counter, Unit: "s", Sources: byWorker, Text: "time for which the worker's threads were runnable but waited for a CPU (run queue)"},
	{Name: WorkerSQLSent, Kind: Counter, Unit: "By", Sources: byWorker, Text: "bytes that k6/x/sql sent to databases"},
	{Name: WorkerConnections, Kind: Counter, Sources: byWorker, Labels: []string{"host", "address"}, Text: "connections that the worker began, by name and address of the host"},
	{Name: WorkerRequests, Kind: Counter, Sources: byWorker, Labels: []string{"host", "address"}, Text: "HTTP requests of the worker that had a connection, by name and address of the host"},
	{Name: WorkerResolved, Kind: Counter, Sources: byWorker, Labels: []string{"host", "address"}, Text: "look-ups by the worker in which a name had the address, every 5 s"},
	{Name: WorkerMemory, Kind: Gauge, Unit: "By", Sources: byWorker, Text: "resident memory of the worker"},
	{Name: WorkerTimeWait, Kind: Gauge, Sources: byWorker, Text: "connections in TIME_WAIT in the network namespace of the worker, each of which holds a local port"},
	{Name: WorkerPorts, Kind: Gauge, Sources: byWorker, Text: "local ports in the network namespace of the worker (net.ipv4.ip_local_port_range)"},
	{Name: WorkerDescriptors, Kind: Gauge, Sources: byWorker, Text: "limit on open files of the worker"},
	{Name: WorkerClockOffset, Kind: Gauge, Unit: "ms", Sources: byWorker, Text: "by how much the clock of the worker's machine is ahead of the coordinator's; corrected at the start"},
	{Name: WorkerClockDrift, Kind: Gauge, Unit: "ms", Sources: byWorker, Text: "change of worker_clock_offset since the start, which is not corrected"},
	{Name: WorkerRoundTrip, Kind: Gauge, Unit: "ms", Sources: byWorker, Text: "shortest of the last eight round trips from the worker to the coordinator"},
	{Name: WorkerHostCPU, Kind: Counter, Unit: "s", Sources: byWorker, Labels: []string{"mode"}, Text: "CPU time of the worker's host, by mode: steal, idle, other; only the coordinator's host has a collector"},

	// In the closing frame, totals over the run.
	{Name: WorkerSamples, Kind: Counter, Sources: byWorker, Labels: []string{"metric"}, Text: "in the closing frame: samples of a metric that the worker aggregated"},
	{
		Name: WorkerFrames, Kind: Counter, Sources: []string{SourceWorker, SourceDatabase, SourceService, SourceHost, SourceLag, SourceGauges, SourceNeighbours, SourceReceiver, SourceStub},
		Text: "in the closing frame of every source: frames sent before",
	},
	{Name: WorkerSeed, Kind: Counter, Sources: byWorker, Labels: []string{"seed"}, Text: "in the closing frame: 1, labelled with the seed of schedule and data"},
	{Name: WorkerStartDelay, Kind: Gauge, Unit: "ms", Sources: byWorker, Text: "in the closing frame: how late the worker started its first arrival"},

	{Name: ReceiveDelay, Kind: Gauge, Unit: "ms", Sources: byReceiver, Labels: []string{"worker"}, Text: "time from the end of a second until the worker's report on it was in the record, the maximum of those received in the second"},

	// Average active sessions of a class over a window are sum(DBSession) /
	// sum(DBSample). The label event is the wait's name without the prefix wait/, or
	// the session's state, or cpu; inferred is "true" if the class was inferred rather
	// than measured. The label client tells programs that use the same server apart.
	{Name: DBSession, Kind: Counter, Sources: byDatabase, Labels: session, Text: "active sessions sampled, by the wait event"},
	{Name: DBSample, Kind: Counter, Sources: byDatabase, Text: "samples taken of the active sessions"},
	{Name: DBSampleInterval, Kind: Histogram, Unit: "ms", Sources: byDatabase, Text: "time between consecutive samples; its maximum is the longest gap"},
	{Name: DBSampleTime, Kind: Histogram, Unit: "ms", Sources: byDatabase, Text: "time taken by a sample"},
	{Name: DBSampleRate, Kind: Gauge, Sources: byDatabase, Text: fmt.Sprintf("planned samples per second; %d if the source does not report it", DefaultSampleRate)},
	{Name: DBCounter, Kind: Counter, Sources: byDatabase, Labels: variable, View: "db_counter.increase", Text: "increase of a status variable, in its own unit"},
	{Name: DBGauge, Kind: Gauge, Sources: byDatabase, Labels: variable, View: "db_counter.value", Text: "current value of a status variable that is a gauge, in its own unit"},
	{Name: DBStatementTime, Kind: Counter, Unit: "ms", Sources: byDatabase, Labels: statement, Text: "time in statements, by digest"},
	{Name: DBStatements, Kind: Counter, Sources: byDatabase, Labels: statement, Text: "executions of statements, by digest"},
	{Name: DBRowsExamined, Kind: Counter, Sources: byDatabase, Labels: statement, Text: "rows examined by statements, by digest"},
	{
		Name: DBBlocker, Kind: Counter, Sources: byDatabase, Labels: session[:4],
		Text: "sessions waiting for a row lock, sampled at most once a second, by the wait event of the blocking session; event idle: the blocker is idle in an open transaction",
	},

	{
		Name: ReplicaLag, Kind: Gauge, Unit: "ms", Sources: byLag, Labels: []string{LabelReader}, SLO: lags, Advice: adviceReaders, View: "lag.ms",
		Abort: "max>5000 for 10s", Protects: "the replicas",
		Text: "replication lag of a replica, the maximum of the second",
	},
	{
		Name: BinlogReaderLag, Kind: Gauge, Unit: "ms", Sources: byLag, SLO: lags, Key: "binlog_reader", Advice: adviceReaders, View: "lag.ms",
		Abort: "max>30000 for 10s", Protects: "the reader of the binlog",
		Text: "lag of a binlog reader, the maximum of the second",
	},
	{
		Name: ConsumerLag, Kind: Gauge, Sources: byLag, SLO: backlogs, Key: "consumer", Advice: adviceConsumer, View: "lag.messages",
		Abort: "max>100000 for 10s", Protects: "the consumer group",
		Text: "lag of a Kafka consumer group on a topic: messages that it has not committed, summed over the partitions, the maximum of the second; no data unless all partitions can be read",
	},

	{
		Name: "queue_depth", Kind: Gauge, Sources: byGauges, SLO: levels, Key: "gauges.queue_depth", Advice: adviceGauges, View: "gauge.value",
		Abort: "max>10000 for 10s", Protects: theService,
		Text: "depth of a queue of the service, read from the metric that the profile names, the maximum of the second; of several instances, the largest, and no data unless all of them answer",
	},
	{
		Name: PersistLagNow, Kind: Gauge, Unit: "ms", Sources: byGauges, Key: "ledger", View: "service.persist_lag",
		Text: "persist lag while the run goes on, as the profile's ledger says where to read it; shown only, because persist_lag is exact",
	},
	{
		Name: AbortGauge, Kind: Gauge, Sources: byGauges, Labels: condition, Key: "abort",
		Text: "gauge that an abort condition of the profile names by itself, the maximum of the second; of several instances, the largest, and no data unless all of them answer",
	},

	{Name: NeighbourRequests, Kind: Counter, Sources: byNeighbours, Labels: condition, Text: "requests that a neighbour has counted, or requests for its health; no data in a second without an answer of its metrics"},
	{Name: NeighbourErrors, Kind: Counter, Sources: byNeighbours, Labels: condition, Text: "failed requests of a neighbour, or failed requests for its health"},

	{Name: ServicePoolInUse, Kind: Gauge, Sources: byService, Abort: "max>90 for 10s", Protects: theService, View: "service.pool_in_use", Text: "database connections in use"},
	{Name: ServicePoolOpen, Kind: Gauge, Sources: byService, View: "service.pool_open", Text: "database connections open"},
	{Name: ServicePoolMax, Kind: Gauge, Sources: byService, View: "service.pool_max", Text: "limit of the connection pool"},
	{Name: ServicePoolWaits, Kind: Counter, Sources: byService, Abort: "rate>100 for 10s", Protects: theService, View: "service.pool_waits", Text: "requests that waited for a database connection"},
	{Name: ServicePoolWaitTime, Kind: Counter, Unit: "ms", Sources: byService, Abort: "rate>5000 for 10s", Protects: theService, View: "service.pool_wait_ms", Text: "time waiting for a database connection"},
	{Name: ServicePoolPending, Kind: Gauge, Sources: byService, Text: "requests that are waiting for a database connection"},
	{Name: ServicePoolUseTime, Kind: Counter, Unit: "ms", Sources: byService, Text: "time for which database connections were in use"},
	{Name: ServiceQueries, Kind: Counter, Sources: byService, View: "service.queries", Text: "statements executed"},
	{Name: ServiceQueryTime, Kind: Counter, Unit: "ms", Sources: byService, View: "service.query_ms", Text: "time in statements, without waiting for a connection"},
	{
		Name: ServiceQueryFastest, Kind: Gauge, Unit: "ms", Sources: byService,
		Text: "time within which the fastest tenth of the statements ended, an upper bound of the round trip between service and database; read from the buckets of the histogram of statement times",
	},
	{Name: ServiceAcquireTime, Kind: Counter, Unit: "ms", Sources: byService, Text: "time to acquire a database connection, by waiting for one or opening it"},
	{Name: ServiceConnectTime, Kind: Counter, Unit: "ms", Sources: byService, Text: "time to open database connections"},
	{Name: ServiceRequests, Kind: Counter, Sources: byService, Text: "requests completed"},
	{Name: ServiceRequestTime, Kind: Counter, Unit: "ms", Sources: byService, Text: "time from a request's arrival at the service to its response"},
	{Name: ServiceDownstreamTime, Kind: Counter, Unit: "ms", Sources: byService, Text: "time in calls to other services, as part of requests"},
	{Name: ServiceQueueTime, Kind: Counter, Unit: "ms", Sources: byService, Text: "time that requests waited in the service for a free worker, a part of service_request_time"},
	{Name: ServiceWaiting, Kind: Gauge, Sources: byService, Text: "requests that are waiting in the service for a free worker"},
	{Name: ServiceCapacity, Kind: Gauge, Sources: byService, Text: "requests that the service works on at once: its workers"},
	{Name: ServiceDownstreamCalls, Kind: Counter, Sources: byService, Text: "calls to other services, as part of requests; each attempt counts"},
	{Name: ServiceCPU, Kind: Counter, Unit: "s", Sources: byService, Text: "CPU time that the service used"},
	{Name: ServiceCPUs, Kind: Gauge, Sources: byService, Text: "CPUs that the service may use"},
	{Name: ServiceInstances, Kind: Gauge, Sources: byService, Text: "instances of the service that answered in the second, and over which its metrics are summed; only of a service whose instances are listed"},
	{Name: ServiceOthers, Kind: Gauge, Sources: byService, Text: "instances of the service whose build is not one of those at the start of the run, or is not known: they report another *_build_info, or none, or have not answered for 10 s; only of a service that reports builds"},

	// By the second in which the call, or the work on it, ended. The label background is
	// "true" for calls for which no transaction waits.
	{
		Name: StubCalls, Kind: Counter, Sources: byStub, Labels: []string{"stub", "endpoint", "background", "outcome"}, View: "stub.calls",
		Text: "calls by their outcome: answered, error, limited (429), hung, reset, abandoned (the caller left before the answer), unknown (404, no such endpoint)",
	},
	{Name: StubCallTime, Kind: Counter, Unit: "ms", Sources: byStub, Labels: stubbed, View: "stub.call_ms", Text: "time from the arrival of each call until it was answered, or its caller left"},
	{
		Name: StubWorkTime, Kind: Counter, Unit: "ms", Sources: byStub, Labels: []string{"stub", "endpoint", "background", "caller"}, View: "stub.work_ms",
		Text: "time for which the stub worked on calls, by whether the caller still waited at the end: waiting, left",
	},
	{Name: StubQueue, Kind: Gauge, Sources: byStub, Labels: stubbed, View: "stub.queue", Text: "calls that wait for one of the endpoint's slots, those whose caller has left included"},
	{Name: StubWorking, Kind: Gauge, Sources: byStub, Labels: stubbed, View: "stub.working", Text: "calls that the stub works on, those whose caller has left included"},

	{Name: HostCPU, Kind: Counter, Unit: "s", Sources: byHost, Labels: []string{"mode"}, Text: "CPU time by mode; all modes add up to one second per second and CPU"},
	{Name: HostCPUs, Kind: Gauge, Sources: byHost, Text: "CPUs of the host that this process may use"},
	{Name: HostMemoryAvailable, Kind: Gauge, Unit: "By", Sources: byHost, Text: "memory available without swapping"},
	{Name: HostDiskRead, Kind: Counter, Unit: "By", Sources: byHost, Labels: device, View: "host.disk_read", Text: "bytes read from a disk"},
	{Name: HostDiskWritten, Kind: Counter, Unit: "By", Sources: byHost, Labels: device, View: "host.disk_written", Text: "bytes written to a disk"},
	{Name: HostDiskBusy, Kind: Counter, Unit: "ms", Sources: byHost, Labels: device, View: "host.disk_busy", Text: "time for which a disk was busy"},
	{Name: HostNetReceived, Kind: Counter, Unit: "By", Sources: byHost, Labels: network, View: "host.network_received", Text: "bytes received, by interface: loopback, external"},
	{Name: HostNetSent, Kind: Counter, Unit: "By", Sources: byHost, Labels: network, View: "host.network_sent", Text: "bytes sent, by interface: loopback, external"},
	{Name: ProcessCPU, Kind: Counter, Unit: "s", Sources: byHost, Labels: process, View: "host.process_cpu", Text: "CPU time that a process used"},
	{Name: ProcessMemory, Kind: Gauge, Unit: "By", Sources: byHost, Labels: process, View: "host.process_memory", Text: "resident memory of a process"},
	{
		Name: CgroupThrottled, Kind: Counter, Unit: "s", Sources: []string{SourceHost, SourceWorker}, Labels: process, View: "host.process_throttled",
		Text: "time for which a CPU quota throttled a process: service, database, or a worker by its source's name; no data without a quota",
	},
	{Name: ProcessCPUs, Kind: Gauge, Sources: byHost, Labels: process, Text: "CPUs that a process may use"},
	{Name: ProcessCPUIdle, Kind: Counter, Unit: "s", Sources: byHost, Labels: process, Text: "idle time of the CPUs that a process may use"},
	{Name: ProcessRunQueue, Kind: Counter, Unit: "s", Sources: byHost, Labels: process, Text: "time for which a process's threads were runnable but waited for a CPU (run queue)"},
	{
		Name: ProcessStopped, Kind: Counter, Unit: "s", Sources: byHost, Labels: process,
		Text: "time for which the service or the database was stopped (state T: by a signal or a debugger), from samples of its state about 25 times per second",
	},
	{
		Name: NetworkRoundTrip, Kind: Histogram, Unit: "ms", Sources: []string{SourceHost, SourceDatabase}, Labels: []string{"path"},
		Text: "round trip from this host, once a second: path service is a TCP handshake with the target, timed by the kernel; path database is a ping of the collector to the server, which does not take the service's own way to it",
	},
	{
		Name: HostPressure, Kind: Counter, Unit: "s", Sources: byHost, Labels: []string{"resource", "kind"}, View: "host.pressure",
		Text: "Linux pressure stall information: time for which some tasks, or all non-idle tasks (kind full), waited for a resource (cpu, io, memory)",
	},

	// What the receiver notes on other senders, beside their own metrics.
	{Name: ForeignDelay, Kind: Gauge, Unit: "ms", Sources: byForeign, Labels: []string{attrInstance}, Text: "arrival of an export after the end of its interval by the sender's clock; negative: that clock is ahead"},
	{Name: ForeignRefused, Kind: Counter, Sources: byForeign, Labels: []string{"metric", "reason"}, Text: "data points that were not recorded, by reason: kind, buckets, value, time, attributes, series"},

	{Name: Ledger, Kind: Counter, Sources: byLedger, SLO: ledgers, Key: "ledger", Text: "missing: acknowledged transactions that were not persisted; duplicated: transactions persisted more often than acknowledged"},
	{
		Name: PersistLag, Kind: Histogram, Unit: "ms", Sources: byLedger, SLO: persistLag, Key: "ledger",
		Text: "time from a transaction's acknowledgement until it was persisted; unbounded for a missing transaction",
	},

	// Judged over the whole run, as the ledger is.
	{
		Name: RecoveryTime, Kind: Histogram, Unit: "ms", Sources: byCoordinator, SLO: recoveries, Key: "faults",
		Text: "time from each fault that the run injected, and from its end, until the SLOs held again for good: up to the next one or the end of the load; unbounded if they did not",
	},
	{Name: Invariants, Kind: Counter, Sources: byCoordinator, SLO: invariants, Key: "invariants", Text: "violated: invariants of the profile that did not hold in the database after the load"},

	{
		Name: Goodput, Kind: Rate, Sources: byStages, SLO: goodputs,
		Text: "transactions per second that completed within the latency SLO in an overload stage, as a share of the target rate; that of an outage in it, if there was one",
	},
	{
		Name: SettleTime, Kind: Histogram, Unit: "ms", Sources: byStages, SLO: recoveries,
		Text: "time from the end of each overload until the latency SLOs held again for good: until the load next rose, or ended; unbounded if they did not",
	},
	{
		Name: TimeToScale, Kind: Histogram, Unit: "ms", Sources: byStages, SLO: recoveries,
		Text: "time from each step up to a judged rate until the latency SLOs held for good: until the load next rose, or ended; unbounded if they did not",
	},

	// Computed while the run goes on: no frame has them.
	{Name: DBSessions, Kind: Gauge, Sources: byCoordinator, Abort: "max>200 for 10s", Protects: theDatabase, Text: "active sessions of all clients of the database, on average over a second: db_session / db_sample"},
	{Name: DBConnections, Kind: Gauge, Sources: byCoordinator, Abort: "max>400 for 10s", Protects: theDatabase, Text: "open connections of all clients, active or idle: " + strings.Join(variables[DBConnections], ", ")},
	{Name: DBDeadlocks, Kind: Counter, Sources: byCoordinator, Abort: "rate>5 for 10s", Protects: theDatabase, Text: "deadlocks: " + strings.Join(variables[DBDeadlocks], ", ")},
	{Name: DBAborted, Kind: Counter, Sources: byCoordinator, Abort: "rate>5 for 10s", Protects: theDatabase, Text: "connections that were not established, or ended without being closed: " + strings.Join(variables[DBAborted], ", ")},

	// k6 v2 (metrics/builtin.go), by the second in which the transaction was
	// scheduled. A worker keeps the labels scenario and name, of rates and histograms those
	// of Classes too, and those by which an SLO selects.
	{Name: Checks, Kind: Rate, Sources: byK6, Labels: append(ofScript, "check"), SLO: successes, Text: "checks of the script that succeeded"},
	{Name: RequestFailed, Protocol: HTTP, Kind: Rate, Sources: byK6, Labels: ofHTTP, SLO: failures, Text: "HTTP requests that failed"},
	{Name: Requests, Protocol: HTTP, Kind: Counter, Sources: byK6, Labels: []string{"scenario", "name", "method", "status", "error_code"}, Text: "HTTP requests"},
	{Name: RequestDuration, Protocol: HTTP, Kind: Histogram, Unit: "ms", Sources: byK6, Labels: ofHTTP, SLO: latencies, Text: "time of HTTP requests: sending, waiting and receiving"},
	{Name: RequestBlocked, Protocol: HTTP, Kind: Histogram, Unit: "ms", Sources: byK6, Labels: ofHTTP, SLO: latencies, Text: "time waiting for or opening a connection"},
	{Name: RequestConnecting, Protocol: HTTP, Kind: Histogram, Unit: "ms", Sources: byK6, Labels: ofHTTP, SLO: latencies, Text: "time opening a TCP connection"},
	{Name: RequestReceiving, Protocol: HTTP, Kind: Histogram, Unit: "ms", Sources: byK6, Labels: ofHTTP, SLO: latencies, Text: "time receiving the response"},
	{Name: RequestSending, Protocol: HTTP, Kind: Histogram, Unit: "ms", Sources: byK6, Labels: ofHTTP, SLO: latencies, Text: "time sending the request"},
	{Name: RequestTLS, Protocol: HTTP, Kind: Histogram, Unit: "ms", Sources: byK6, Labels: ofHTTP, SLO: latencies, Text: "time in the TLS handshake"},
	{Name: RequestWaiting, Protocol: HTTP, Kind: Histogram, Unit: "ms", Sources: byK6, Labels: ofHTTP, SLO: latencies, Text: "time until the first byte of the response"},
	{Name: IterationDuration, Kind: Histogram, Unit: "ms", Sources: byK6, Labels: ofScript, SLO: latencies, Text: "time of an iteration of the script"},
	{Name: GroupDuration, Kind: Histogram, Unit: "ms", Sources: byK6, Labels: ofScript, SLO: latencies, Text: "time of a group of the script"},
	{Name: GRPC.Requests, Protocol: GRPC, Kind: Counter, Sources: []string{SourceK6, SourceWorker}, Labels: []string{"scenario", "name", "status"}, Text: "gRPC requests, by their status: 0 is OK"},
	{Name: GRPC.Failed, Protocol: GRPC, Kind: Rate, Sources: []string{SourceK6, SourceWorker}, Labels: ofGRPC, SLO: failures, Text: "gRPC requests that ended with another status than OK"},
	{Name: GRPC.Duration(), Protocol: GRPC, Kind: Histogram, Unit: "ms", Sources: byK6, Labels: ofGRPC, SLO: latencies, Text: "time of gRPC requests, a stream being one"},
	{Name: WebSocket.Failed, Protocol: WebSocket, Kind: Rate, Sources: []string{SourceK6, SourceWorker}, Labels: ofScript, SLO: failures, Text: "WebSockets that could not be opened"},
	{Name: WebSocket.Duration(), Protocol: WebSocket, Kind: Histogram, Unit: "ms", Sources: byK6, Labels: ofScript, SLO: latencies, Text: "time opening a WebSocket, until the attempt failed too"},
	{Name: "ws_ping", Kind: Histogram, Unit: "ms", Sources: byK6, Labels: ofScript, SLO: latencies, Text: "time from a ping of a WebSocket to its pong"},
	{Name: "ws_session_duration", Kind: Histogram, Unit: "ms", Sources: byK6, Labels: ofScript, SLO: latencies, Text: "time of a WebSocket session"},
	{Name: DataReceived, Kind: Counter, Unit: "By", Sources: byK6, Labels: request, Text: "bytes received"},
	{Name: DataSent, Kind: Counter, Unit: "By", Sources: byK6, Labels: request, Text: "bytes sent"},
	{Name: "dropped_iterations", Kind: Counter, Sources: byK6, Labels: request, Text: "iterations that k6 itself did not start"},
	{Name: "iterations", Kind: Counter, Sources: byK6, Labels: request, Text: "iterations of the script"},
	{Name: "ws_msgs_received", Kind: Counter, Sources: byK6, Labels: request, Text: "WebSocket messages received"},
	{Name: "ws_msgs_sent", Kind: Counter, Sources: byK6, Labels: request, Text: "WebSocket messages sent"},
	{Name: WebSocket.Requests, Protocol: WebSocket, Kind: Counter, Sources: byK6, Labels: []string{"scenario", "name", "status"}, Text: "WebSocket sessions"},
	{Name: "vus", Kind: Gauge, Sources: byK6, Labels: request, Text: "active VUs"},
	{Name: "vus_max", Kind: Gauge, Sources: byK6, Labels: request, Text: "allocated VUs"},
}
