// SPDX-License-Identifier: Apache-2.0

package metric

import (
	"fmt"
	"slices"
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
	condition = []string{LabelCondition}
	stubbed   = []string{"stub", "endpoint", "background"}
)

// counted is the further source of what workers count of k6's samples.
var counted = []string{SourceWorker}

// What abort conditions protect.
const (
	theDatabase = "the database"
	theService  = "the service"
)

const adviceReaders = "Name the replicas with --db-reader, or in the profile where the lag of the binlog reader can be read, and check that they are readable during the whole run."

const adviceConsumer = "Check that the brokers, the topic and the group of the profile's consumer are readable during the whole run, with the credentials in ASSAY_KAFKA."

const adviceGauges = "Check that the service exposes the metric named in the profile's gauges during the whole run."

// catalogue describes every metric once. All lists, tables and checks of metrics derive
// from it; docs/metrics.md is generated from it.
var catalogue = slices.Concat(
	// By the second in which the transaction was scheduled, unless stated otherwise.
	sentBy(
		SourceWorker,
		Descriptor{
			Name: TransactionDuration, Kind: Histogram, Unit: "ms", Labels: scenario, SLO: latencies,
			Text: "time of each scheduled transaction, from its scheduled arrival to its end; if it timed out, until it ended or was interrupted; if it was dropped, the timeout as a lower bound",
		},
		Descriptor{Name: Transactions, Kind: Counter, Labels: []string{"scenario", "outcome"}, Text: "transactions by their outcome: completed, failed, timed_out, dropped"},
		Descriptor{Name: TransactionsScheduled, Kind: Counter, Labels: scenario, Text: "arrivals of the schedule"},
		Descriptor{Name: Violations, Kind: Counter, Labels: perSLO, Text: "samples that violate an SLO (exact count)"},
		Descriptor{Name: ViolationsCleared, Kind: Counter, Labels: perSLO, Text: "samples that violate an SLO even after subtracting the delay that the generator itself caused"},
		Descriptor{Name: OpenRequests, Kind: Histogram, Unit: "ms", Labels: scenario, Text: "for each transaction in progress when the run ended: how long its open request, if any, had taken so far"},
		Descriptor{Name: Judged, Kind: Counter, Labels: perSLO, Text: "samples that an SLO judges"},

		Descriptor{
			Name: ErrorsByClass, Kind: Counter, Sources: []string{SourceService}, Labels: []string{"where", "class", "scenario"}, View: "error.count",
			Text: "errors by who noticed them (client, script, service) and by class, such as connection refused, HTTP 503, too many connections; those that the service counts have no scenario",
		},

		// By the second in which each part ended, to compare with the metrics of service
		// and database, which count by the second of their work.
		Descriptor{Name: EndedTransactions, Kind: Counter, Labels: scenario, Text: "completed transactions, by the second in which they ended"},
		Descriptor{Name: EndedIterations, Kind: Counter, Text: "iterations, by the second in which they ended"},
		Descriptor{Name: EndedIterationTime, Kind: Counter, Unit: "ms", Text: "time of iterations, by the second in which they ended"},
		Descriptor{Name: EndedRequests, Kind: Counter, Text: "HTTP and gRPC requests, by the second in which they ended"},
		Descriptor{Name: EndedRequestTime, Kind: Counter, Unit: "ms", Text: "time from sending HTTP and gRPC requests to the end of their responses, by the second in which they ended"},
		Descriptor{Name: EndedBlockedTime, Kind: Counter, Unit: "ms", Text: "time waiting for or opening connections and WebSockets to the service, by the second in which the requests ended"},

		Descriptor{Name: GeneratorLag, Kind: Histogram, Unit: "ms", Labels: scenario, Text: "delay of the start of each arrival that the generator itself caused"},
		Descriptor{Name: GeneratorDisplaced, Kind: Counter, Labels: scenario, Text: "arrivals that the generator itself started later than the plan's limit, and that the system did not delay for longer"},
		Descriptor{Name: GeneratorStall, Kind: Counter, Unit: "ms", Labels: scenario, Text: "time for which the generator was stalled, by its heartbeat"},
		Descriptor{Name: GeneratorDropped, Kind: Counter, Labels: scenario, Text: "dropped arrivals whose delay was caused more by the generator's lag than by queueing"},
		Descriptor{Name: GeneratorUndone, Kind: Counter, Labels: scenario, Text: "transactions not completed because of the generator itself: dropped by its lag, or failed or timed out during a stall"},
		Descriptor{Name: ArrivalQueueing, Kind: Histogram, Unit: "ms", Labels: scenario, Text: "delay of the start because every VU was busy with the system under test"},

		// By the second of measurement.
		Descriptor{Name: WorkerCPU, Kind: Counter, Unit: "s", Text: "CPU time that the worker used"},
		Descriptor{Name: WorkerCPUs, Kind: Gauge, Text: "CPUs that the worker may use"},
		Descriptor{Name: WorkerRunQueue, Kind: Counter, Unit: "s", Text: "time for which the worker's threads were runnable but waited for a CPU (run queue)"},
		Descriptor{Name: WorkerSQLSent, Kind: Counter, Unit: "By", Text: "bytes that k6/x/sql sent to databases"},
		Descriptor{Name: WorkerMemory, Kind: Gauge, Unit: "By", Text: "resident memory of the worker"},
		Descriptor{Name: WorkerClockOffset, Kind: Gauge, Unit: "ms", Text: "by how much the clock of the worker's machine is ahead of the coordinator's; corrected at the start"},
		Descriptor{Name: WorkerClockDrift, Kind: Gauge, Unit: "ms", Text: "change of worker_clock_offset since the start, which is not corrected"},
		Descriptor{Name: WorkerRoundTrip, Kind: Gauge, Unit: "ms", Text: "shortest of the last eight round trips from the worker to the coordinator"},
		Descriptor{Name: WorkerHostCPU, Kind: Counter, Unit: "s", Labels: []string{"mode"}, Text: "CPU time of the worker's host, by mode: steal, idle, other; only the coordinator's host has a collector"},

		// In the closing frame, totals over the run.
		Descriptor{Name: WorkerSamples, Kind: Counter, Labels: []string{"metric"}, Text: "in the closing frame: samples of a metric that the worker aggregated"},
		Descriptor{
			Name: WorkerFrames, Kind: Counter, Sources: []string{SourceDatabase, SourceService, SourceHost, SourceLag, SourceGauges, SourceNeighbours, SourceReceiver, SourceStub},
			Text: "in the closing frame of every source: frames sent before",
		},
		Descriptor{Name: WorkerSeed, Kind: Counter, Labels: []string{"seed"}, Text: "in the closing frame: 1, labelled with the seed of schedule and data"},
		Descriptor{Name: WorkerStartDelay, Kind: Gauge, Unit: "ms", Text: "in the closing frame: how late the worker started its first arrival"},
	),

	sentBy(
		SourceReceiver,
		Descriptor{Name: ReceiveDelay, Kind: Gauge, Unit: "ms", Labels: []string{"worker"}, Text: "time from the end of a second until the worker's report on it was in the record, the maximum of those received in the second"},
	),

	// Average active sessions of a class over a window are sum(DBSession) /
	// sum(DBSample). The label event is the wait's name without the prefix wait/, or
	// the session's state, or cpu; inferred is "true" if the class was inferred rather
	// than measured. The label client tells programs that use the same server apart.
	sentBy(
		SourceDatabase,
		Descriptor{Name: DBSession, Kind: Counter, Labels: session, Text: "active sessions sampled, by the wait event"},
		Descriptor{Name: DBSample, Kind: Counter, Text: "samples taken of the active sessions"},
		Descriptor{Name: DBSampleInterval, Kind: Histogram, Unit: "ms", Text: "time between consecutive samples; its maximum is the longest gap"},
		Descriptor{Name: DBSampleTime, Kind: Histogram, Unit: "ms", Text: "time taken by a sample"},
		Descriptor{Name: DBSampleRate, Kind: Gauge, Text: fmt.Sprintf("planned samples per second; %d if the source does not report it", DefaultSampleRate)},
		Descriptor{Name: DBCounter, Kind: Counter, Labels: variable, View: "db_counter.increase", Text: "increase of a status variable, in its own unit"},
		Descriptor{Name: DBGauge, Kind: Gauge, Labels: variable, View: "db_counter.value", Text: "current value of a status variable that is a gauge, in its own unit"},
		Descriptor{Name: DBStatementTime, Kind: Counter, Unit: "ms", Labels: statement, Text: "time in statements, by digest"},
		Descriptor{Name: DBStatements, Kind: Counter, Labels: statement, Text: "executions of statements, by digest"},
		Descriptor{Name: DBRowsExamined, Kind: Counter, Labels: statement, Text: "rows examined by statements, by digest"},
		Descriptor{
			Name: DBBlocker, Kind: Counter, Labels: session[:4],
			Text: "sessions waiting for a row lock, sampled at most once a second, by the wait event of the blocking session; event idle: the blocker is idle in an open transaction",
		},
	),

	sentBy(
		SourceLag,
		Descriptor{
			Name: ReplicaLag, Kind: Gauge, Unit: "ms", Labels: []string{LabelReader}, SLO: lags, Advice: adviceReaders, View: "lag.ms",
			Abort: "max>5000 for 10s", Protects: "the replicas",
			Text: "replication lag of a replica, the maximum of the second",
		},
		Descriptor{
			Name: BinlogReaderLag, Kind: Gauge, Unit: "ms", SLO: lags, Key: "binlog_reader", Advice: adviceReaders, View: "lag.ms",
			Abort: "max>30000 for 10s", Protects: "the reader of the binlog",
			Text: "lag of a binlog reader, the maximum of the second",
		},
		Descriptor{
			Name: ConsumerLag, Kind: Gauge, SLO: backlogs, Key: "consumer", Advice: adviceConsumer, View: "lag.messages",
			Abort: "max>100000 for 10s", Protects: "the consumer group",
			Text: "lag of a Kafka consumer group on a topic: messages that it has not committed, summed over the partitions, the maximum of the second; no data unless all partitions can be read",
		},
	),

	sentBy(
		SourceGauges,
		Descriptor{
			Name: "queue_depth", Kind: Gauge, SLO: levels, Key: "gauges.queue_depth", Advice: adviceGauges, View: "gauge.value",
			Abort: "max>10000 for 10s", Protects: theService,
			Text: "depth of a queue of the service, read from the metric that the profile names, the maximum of the second; of several instances, the largest, and no data unless all of them answer",
		},
		Descriptor{
			Name: PersistLagNow, Kind: Gauge, Unit: "ms", Key: "ledger", View: "service.persist_lag",
			Text: "persist lag while the run goes on, as the profile's ledger says where to read it; shown only, because persist_lag is exact",
		},
		Descriptor{
			Name: AbortGauge, Kind: Gauge, Labels: condition, Key: "abort",
			Text: "gauge that an abort condition of the profile names by itself, the maximum of the second; of several instances, the largest, and no data unless all of them answer",
		},
	),

	sentBy(
		SourceNeighbours,
		Descriptor{Name: NeighbourRequests, Kind: Counter, Labels: condition, Text: "requests that a neighbour has counted, or requests for its health; no data in a second without an answer of its metrics"},
		Descriptor{Name: NeighbourErrors, Kind: Counter, Labels: condition, Text: "failed requests of a neighbour, or failed requests for its health"},
	),

	sentBy(
		SourceService,
		Descriptor{Name: ServicePoolInUse, Kind: Gauge, Abort: "max>90 for 10s", Protects: theService, View: "service.pool_in_use", Text: "database connections in use"},
		Descriptor{Name: ServicePoolOpen, Kind: Gauge, View: "service.pool_open", Text: "database connections open"},
		Descriptor{Name: ServicePoolMax, Kind: Gauge, View: "service.pool_max", Text: "limit of the connection pool"},
		Descriptor{Name: ServicePoolWaits, Kind: Counter, Abort: "rate>100 for 10s", Protects: theService, View: "service.pool_waits", Text: "requests that waited for a database connection"},
		Descriptor{Name: ServicePoolWaitTime, Kind: Counter, Unit: "ms", Abort: "rate>5000 for 10s", Protects: theService, View: "service.pool_wait_ms", Text: "time waiting for a database connection"},
		Descriptor{Name: ServicePoolPending, Kind: Gauge, Text: "requests that are waiting for a database connection"},
		Descriptor{Name: ServicePoolUseTime, Kind: Counter, Unit: "ms", Text: "time for which database connections were in use"},
		Descriptor{Name: ServiceQueries, Kind: Counter, View: "service.queries", Text: "statements executed"},
		Descriptor{Name: ServiceQueryTime, Kind: Counter, Unit: "ms", View: "service.query_ms", Text: "time in statements, without waiting for a connection"},
		Descriptor{
			Name: ServiceQueryFastest, Kind: Gauge, Unit: "ms",
			Text: "time within which the fastest tenth of the statements ended, an upper bound of the round trip between service and database; read from the buckets of the histogram of statement times",
		},
		Descriptor{Name: ServiceAcquireTime, Kind: Counter, Unit: "ms", Text: "time to acquire a database connection, by waiting for one or opening it"},
		Descriptor{Name: ServiceConnectTime, Kind: Counter, Unit: "ms", Text: "time to open database connections"},
		Descriptor{Name: ServiceRequests, Kind: Counter, Text: "requests completed"},
		Descriptor{Name: ServiceRequestTime, Kind: Counter, Unit: "ms", Text: "time from a request's arrival at the service to its response"},
		Descriptor{Name: ServiceDownstreamTime, Kind: Counter, Unit: "ms", Text: "time in calls to other services, as part of requests"},
		Descriptor{Name: ServiceQueueTime, Kind: Counter, Unit: "ms", Text: "time that requests waited in the service for a free worker, a part of service_request_time"},
		Descriptor{Name: ServiceWaiting, Kind: Gauge, Text: "requests that are waiting in the service for a free worker"},
		Descriptor{Name: ServiceCapacity, Kind: Gauge, Text: "requests that the service works on at once: its workers"},
		Descriptor{Name: ServiceDownstreamCalls, Kind: Counter, Text: "calls to other services, as part of requests; each attempt counts"},
		Descriptor{Name: ServiceCPU, Kind: Counter, Unit: "s", Text: "CPU time that the service used"},
		Descriptor{Name: ServiceCPUs, Kind: Gauge, Text: "CPUs that the service may use"},
		Descriptor{Name: ServiceInstances, Kind: Gauge, Text: "instances of the service that answered in the second, and over which its metrics are summed; only of a service whose instances are listed"},
		Descriptor{Name: ServiceOthers, Kind: Gauge, Text: "instances of the service whose build is not one of those at the start of the run, or is not known: they report another *_build_info, or none, or have not answered for 10 s; only of a service that reports builds"},
	),

	// By the second in which the call, or the work on it, ended. The label background is
	// "true" for calls for which no transaction waits.
	sentBy(
		SourceStub,
		Descriptor{
			Name: StubCalls, Kind: Counter, Labels: []string{"stub", "endpoint", "background", "outcome"}, View: "stub.calls",
			Text: "calls by their outcome: answered, error, limited (429), hung, reset, abandoned (the caller left before the answer), unknown (404, no such endpoint)",
		},
		Descriptor{Name: StubCallTime, Kind: Counter, Unit: "ms", Labels: stubbed, View: "stub.call_ms", Text: "time from the arrival of each call until it was answered, or its caller left"},
		Descriptor{
			Name: StubWorkTime, Kind: Counter, Unit: "ms", Labels: []string{"stub", "endpoint", "background", "caller"}, View: "stub.work_ms",
			Text: "time for which the stub worked on calls, by whether the caller still waited at the end: waiting, left",
		},
		Descriptor{Name: StubQueue, Kind: Gauge, Labels: stubbed, View: "stub.queue", Text: "calls that wait for one of the endpoint's slots, those whose caller has left included"},
		Descriptor{Name: StubWorking, Kind: Gauge, Labels: stubbed, View: "stub.working", Text: "calls that the stub works on, those whose caller has left included"},
	),

	sentBy(
		SourceHost,
		Descriptor{Name: HostCPU, Kind: Counter, Unit: "s", Labels: []string{"mode"}, Text: "CPU time by mode; all modes add up to one second per second and CPU"},
		Descriptor{Name: HostCPUs, Kind: Gauge, Text: "CPUs of the host that this process may use"},
		Descriptor{Name: HostMemoryAvailable, Kind: Gauge, Unit: "By", Text: "memory available without swapping"},
		Descriptor{Name: HostDiskRead, Kind: Counter, Unit: "By", Labels: device, View: "host.disk_read", Text: "bytes read from a disk"},
		Descriptor{Name: HostDiskWritten, Kind: Counter, Unit: "By", Labels: device, View: "host.disk_written", Text: "bytes written to a disk"},
		Descriptor{Name: HostDiskBusy, Kind: Counter, Unit: "ms", Labels: device, View: "host.disk_busy", Text: "time for which a disk was busy"},
		Descriptor{Name: HostNetReceived, Kind: Counter, Unit: "By", Labels: network, View: "host.network_received", Text: "bytes received, by interface: loopback, external"},
		Descriptor{Name: HostNetSent, Kind: Counter, Unit: "By", Labels: network, View: "host.network_sent", Text: "bytes sent, by interface: loopback, external"},
		Descriptor{Name: ProcessCPU, Kind: Counter, Unit: "s", Labels: process, View: "host.process_cpu", Text: "CPU time that a process used"},
		Descriptor{Name: ProcessMemory, Kind: Gauge, Unit: "By", Labels: process, View: "host.process_memory", Text: "resident memory of a process"},
		Descriptor{
			Name: CgroupThrottled, Kind: Counter, Unit: "s", Sources: []string{SourceWorker}, Labels: process, View: "host.process_throttled",
			Text: "time for which a CPU quota throttled a process: service, database, or a worker by its source's name; no data without a quota",
		},
		Descriptor{Name: ProcessCPUs, Kind: Gauge, Labels: process, Text: "CPUs that a process may use"},
		Descriptor{Name: ProcessCPUIdle, Kind: Counter, Unit: "s", Labels: process, Text: "idle time of the CPUs that a process may use"},
		Descriptor{Name: ProcessRunQueue, Kind: Counter, Unit: "s", Labels: process, Text: "time for which a process's threads were runnable but waited for a CPU (run queue)"},
		Descriptor{
			Name: ProcessStopped, Kind: Counter, Unit: "s", Labels: process,
			Text: "time for which the service or the database was stopped (state T: by a signal or a debugger), from samples of its state about 25 times per second",
		},
		Descriptor{
			Name: NetworkRoundTrip, Kind: Histogram, Unit: "ms", Sources: []string{SourceDatabase}, Labels: []string{"path"},
			Text: "round trip from this host, once a second: path service is a TCP handshake with the target, timed by the kernel; path database is a ping of the collector to the server, which does not take the service's own way to it",
		},
		Descriptor{
			Name: HostPressure, Kind: Counter, Unit: "s", Labels: []string{"resource", "kind"}, View: "host.pressure",
			Text: "Linux pressure stall information: time for which some tasks, or all non-idle tasks (kind full), waited for a resource (cpu, io, memory)",
		},
	),

	// What the receiver notes on other senders, beside their own metrics.
	sentBy(
		SourceForeign,
		Descriptor{Name: ForeignDelay, Kind: Gauge, Unit: "ms", Labels: []string{attrInstance}, Text: "arrival of an export after the end of its interval by the sender's clock; negative: that clock is ahead"},
		Descriptor{Name: ForeignRefused, Kind: Counter, Labels: []string{"metric", "reason"}, Text: "data points that were not recorded, by reason: kind, buckets, value, time, attributes, series"},
	),

	sentBy(
		SourceLedger,
		Descriptor{Name: Ledger, Kind: Counter, SLO: ledgers, Key: "ledger", Text: "missing: acknowledged transactions that were not persisted; duplicated: transactions persisted more often than acknowledged"},
		Descriptor{
			Name: PersistLag, Kind: Histogram, Unit: "ms", SLO: persistLag, Key: "ledger",
			Text: "time from a transaction's acknowledgement until it was persisted; unbounded for a missing transaction",
		},
	),

	// Judged over the whole run, as the ledger is.
	sentBy(
		SourceCoordinator,
		Descriptor{
			Name: RecoveryTime, Kind: Histogram, Unit: "ms", SLO: recoveries, Key: "faults",
			Text: "time from each fault that the run injected, and from its end, until the SLOs held again for 5 s; unbounded if they did not until the end of the load",
		},
		Descriptor{Name: Invariants, Kind: Counter, SLO: invariants, Key: "invariants", Text: "violated: invariants of the profile that did not hold in the database after the load"},
	),

	sentBy(
		SourceStages,
		Descriptor{
			Name: Goodput, Kind: Rate, SLO: goodputs,
			Text: "transactions per second that completed within the latency SLO in an overload stage, as a share of the target rate",
		},
		Descriptor{
			Name: SettleTime, Kind: Histogram, Unit: "ms", SLO: recoveries,
			Text: "time from the end of each overload until the latency SLOs held again for 10 s; unbounded if they did not until the load next rose, or ended",
		},
		Descriptor{
			Name: TimeToScale, Kind: Histogram, Unit: "ms", SLO: recoveries,
			Text: "time from each step up to a judged rate until the latency SLOs held for 10 s; unbounded if they did not until the load next rose, or ended",
		},
	),

	// Computed while the run goes on: no frame has them.
	sentBy(
		SourceCoordinator,
		Descriptor{Name: DBSessions, Kind: Gauge, Abort: "max>200 for 10s", Protects: theDatabase, Text: "active sessions of all clients of the database, on average over a second: db_session / db_sample"},
		Descriptor{Name: DBConnections, Kind: Gauge, Abort: "max>400 for 10s", Protects: theDatabase, Text: "open connections of all clients, active or idle: " + Variables(DBConnections).text()},
		Descriptor{Name: DBDeadlocks, Kind: Counter, Abort: "rate>5 for 10s", Protects: theDatabase, Text: "deadlocks: " + Variables(DBDeadlocks).text()},
		Descriptor{Name: DBAborted, Kind: Counter, Abort: "rate>5 for 10s", Protects: theDatabase, Text: "connections that were not established, or ended without being closed: " + Variables(DBAborted).text()},
	),

	// k6 v2 (metrics/builtin.go), by the second in which the transaction was
	// scheduled. A worker keeps the labels scenario and name, and those by which an SLO
	// selects.
	sentBy(
		SourceK6,
		Descriptor{Name: Checks, Kind: Rate, Labels: []string{"scenario", "name", "check"}, SLO: successes, Text: "checks of the script that succeeded"},
		Descriptor{Name: RequestFailed, Kind: Rate, Labels: request, SLO: failures, Text: "HTTP requests that failed"},
		Descriptor{Name: Requests, Kind: Counter, Labels: []string{"scenario", "name", "method", "status", "error_code"}, Text: "HTTP requests"},
		Descriptor{Name: RequestDuration, Kind: Histogram, Unit: "ms", Labels: request, SLO: latencies, Text: "time of HTTP requests: sending, waiting and receiving"},
		k6Time("http_req_blocked", "time waiting for or opening a connection"),
		k6Time("http_req_connecting", "time opening a TCP connection"),
		k6Time("http_req_receiving", "time receiving the response"),
		k6Time("http_req_sending", "time sending the request"),
		k6Time("http_req_tls_handshaking", "time in the TLS handshake"),
		k6Time("http_req_waiting", "time until the first byte of the response"),
		k6Time("iteration_duration", "time of an iteration of the script"),
		Descriptor{Name: GroupDuration, Kind: Histogram, Unit: "ms", Labels: []string{"scenario", "name", "group"}, SLO: latencies, Text: "time of a group of the script"},
		Descriptor{Name: GRPC.Requests, Kind: Counter, Sources: counted, Labels: []string{"scenario", "name", "status"}, Text: "gRPC requests, by their status: 0 is OK"},
		Descriptor{Name: GRPC.Failed, Kind: Rate, Sources: counted, Labels: request, SLO: failures, Text: "gRPC requests that ended with another status than OK"},
		k6Time(GRPC.Duration(), "time of gRPC requests, a stream being one"),
		Descriptor{Name: WebSocket.Failed, Kind: Rate, Sources: counted, Labels: request, SLO: failures, Text: "WebSockets that could not be opened"},
		k6Time(WebSocket.Duration(), "time opening a WebSocket, until the attempt failed too"),
		k6Time("ws_ping", "time from a ping of a WebSocket to its pong"),
		k6Time("ws_session_duration", "time of a WebSocket session"),
		Descriptor{Name: "data_received", Kind: Counter, Unit: "By", Labels: request, Text: "bytes received"},
		Descriptor{Name: DataSent, Kind: Counter, Unit: "By", Labels: request, Text: "bytes sent"},
		Descriptor{Name: "dropped_iterations", Kind: Counter, Labels: request, Text: "iterations that k6 itself did not start"},
		Descriptor{Name: "iterations", Kind: Counter, Labels: request, Text: "iterations of the script"},
		Descriptor{Name: "ws_msgs_received", Kind: Counter, Labels: request, Text: "WebSocket messages received"},
		Descriptor{Name: "ws_msgs_sent", Kind: Counter, Labels: request, Text: "WebSocket messages sent"},
		Descriptor{Name: WebSocket.Requests, Kind: Counter, Labels: []string{"scenario", "name", "status"}, Text: "WebSocket sessions"},
		Descriptor{Name: "vus", Kind: Gauge, Labels: request, Text: "active VUs"},
		Descriptor{Name: "vus_max", Kind: Gauge, Labels: request, Text: "allocated VUs"},
	),
)

// sentBy prepends a source to the sources of each metric.
func sentBy(source string, all ...Descriptor) []Descriptor {
	for i := range all {
		all[i].Sources = append([]string{source}, all[i].Sources...)
	}
	return all
}

// k6Time describes one of k6's time trends.
func k6Time(name, text string) Descriptor {
	return Descriptor{Name: name, Kind: Histogram, Unit: "ms", Labels: request, SLO: latencies, Text: text}
}
