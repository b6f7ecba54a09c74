package metric

import (
	"fmt"
	"slices"
)

// Forms of SLO conditions, by what they are about.
var (
	latencies  = []string{"p(95)<250", "max<1000"}
	rates      = []string{"rate<0.01"}
	lags       = []string{"max<5000", "p(95)<1000"}
	levels     = []string{"max<1000", "p(95)<500"}
	persistLag = []string{"max<5000", "p(99)<1000"}
	ledgers    = []string{"missing==0", "duplicated==0"}
)

// Labels that several metrics share.
var (
	scenario  = []string{"scenario"}
	perSLO    = []string{"slo"}
	process   = []string{"process"}
	device    = []string{"device"}
	network   = []string{"interface"}
	session   = []string{"event", "class", "inferred", "digest"}
	statement = []string{"digest", "statement"}
	variable  = []string{"name"}
	request   = []string{"scenario", "name"}
)

const adviceReaders = "Name the replicas with --db-reader, or where the binlog's reader tells its lag, and see that they can be read all the time."

const adviceGauges = "See that the service exposes the metric that the profile's gauges name, all the time."

// catalogue describes every metric once. Lists, tables and checks of metrics
// elsewhere are read from it; docs/metrics.md is its text.
var catalogue = slices.Concat(
	// By the second in which a transaction was scheduled, if nothing else is said.
	sentBy(
		SourceWorker,
		Descriptor{
			Name: TransactionDuration, Kind: Histogram, Unit: "ms", Labels: scenario, SLO: latencies,
			Text: "time of each scheduled transaction, from its scheduled arrival to its end; one that timed out counts with the time until it ended or was interrupted, a dropped one with the timeout, the least that it would have taken",
		},
		Descriptor{Name: Transactions, Kind: Counter, Labels: []string{"scenario", "outcome"}, Text: "transactions by their outcome: completed, failed, timed_out, dropped"},
		Descriptor{Name: TransactionsScheduled, Kind: Counter, Labels: scenario, Text: "slots of the schedule"},
		Descriptor{Name: Violations, Kind: Counter, Labels: perSLO, Text: "samples that violate an SLO, counted exactly"},
		Descriptor{Name: ViolationsCleared, Kind: Counter, Labels: perSLO, Text: "samples that violate an SLO even without what the generator itself added to them"},
		Descriptor{Name: OpenRequests, Kind: Histogram, Unit: "ms", Labels: scenario, Text: "for transactions under way when the run ended: how long the request that each may have had open had taken"},
		Descriptor{Name: Judged, Kind: Counter, Labels: perSLO, Text: "samples that an SLO is about"},

		// By the second in which each part ended: service and database are known by when
		// they did something, and are compared with these.
		Descriptor{Name: EndedIterations, Kind: Counter, Text: "iterations, by the second in which they ended"},
		Descriptor{Name: EndedIterationTime, Kind: Counter, Unit: "ms", Text: "time of iterations, by the second in which they ended"},
		Descriptor{Name: EndedRequests, Kind: Counter, Text: "HTTP requests, by the second in which they ended"},
		Descriptor{Name: EndedRequestTime, Kind: Counter, Unit: "ms", Text: "time from sending HTTP requests to the end of their answers, by the second in which they ended"},
		Descriptor{Name: EndedBlockedTime, Kind: Counter, Unit: "ms", Text: "time waiting for connections to the service and opening them, by the second in which the requests ended"},

		Descriptor{Name: GeneratorLag, Kind: Histogram, Unit: "ms", Labels: scenario, Text: "delay of each slot that the generator itself caused"},
		Descriptor{Name: GeneratorDisplaced, Kind: Counter, Labels: scenario, Text: "slots that the generator itself started later than the plan's limit"},
		Descriptor{Name: GeneratorStall, Kind: Counter, Unit: "ms", Labels: scenario, Text: "time for which the generator's heartbeat stood still"},
		Descriptor{Name: GeneratorDropped, Kind: Counter, Labels: scenario, Text: "slots lost, more by the generator's lag than by queueing"},
		Descriptor{Name: GeneratorUndone, Kind: Counter, Labels: scenario, Text: "transactions not completed by the generator's own doing: lost ones, and those that failed or timed out while it stood still"},
		Descriptor{Name: ArrivalQueueing, Kind: Histogram, Unit: "ms", Labels: scenario, Text: "delay because every VU was busy with the system under test"},

		// By the second in which it is measured.
		Descriptor{Name: WorkerCPU, Kind: Counter, Unit: "s", Text: "CPU time that the worker used"},
		Descriptor{Name: WorkerCPUs, Kind: Gauge, Text: "CPUs that the worker may use"},
		Descriptor{Name: WorkerRunQueue, Kind: Counter, Unit: "s", Text: "time for which the worker's threads were ready to run and did not"},
		Descriptor{Name: WorkerSQLSent, Kind: Counter, Unit: "By", Text: "what k6/x/sql sent to databases"},
		Descriptor{Name: WorkerMemory, Kind: Gauge, Unit: "By", Text: "memory that the worker holds"},
		Descriptor{Name: WorkerHostCPU, Kind: Counter, Unit: "s", Labels: []string{"mode"}, Text: "CPU time of the worker's host, by mode: steal, other; only the coordinator's host has a collector"},

		// In the closing frame, over all seconds.
		Descriptor{Name: WorkerSamples, Kind: Counter, Labels: []string{"metric"}, Text: "in the closing frame: samples that the worker aggregated of a metric"},
		Descriptor{
			Name: WorkerFrames, Kind: Counter, Sources: []string{SourceDatabase, SourceService, SourceHost, SourceLag, SourceGauges},
			Text: "in the closing frame of every source: frames sent before it",
		},
		Descriptor{Name: WorkerSeed, Kind: Counter, Labels: []string{"seed"}, Text: "in the closing frame: 1, with the seed that schedule and data were drawn from"},
		Descriptor{Name: WorkerStartDelay, Kind: Gauge, Unit: "ms", Text: "in the closing frame: how late the worker took its first slot"},
	),

	// Average active sessions of a class over a window are sum(DBSession) /
	// sum(DBSample). The label event is the wait's name without the prefix wait/, or
	// the session's state, or cpu; inferred is "true" where the class is not measured.
	sentBy(
		SourceDatabase,
		Descriptor{Name: DBSession, Kind: Counter, Labels: session, Text: "sessions seen active, by what they waited for"},
		Descriptor{Name: DBSample, Kind: Counter, Text: "samples of the sessions taken"},
		Descriptor{Name: DBSampleInterval, Kind: Histogram, Unit: "ms", Text: "time between one sample and the next; its maximum is the longest gap"},
		Descriptor{Name: DBSampleTime, Kind: Histogram, Unit: "ms", Text: "time that a sample took"},
		Descriptor{Name: DBSampleRate, Kind: Gauge, Text: fmt.Sprintf("samples a second that the source means to take; %d where it does not say", DefaultSampleRate)},
		Descriptor{Name: DBCounter, Kind: Counter, Labels: variable, View: "db_counter.increase", Text: "increase of a status variable, in its own unit"},
		Descriptor{Name: DBGauge, Kind: Gauge, Labels: variable, View: "db_counter.value", Text: "value of a status variable that goes up and down, in its own unit"},
		Descriptor{Name: DBStatementTime, Kind: Counter, Unit: "ms", Labels: statement, Text: "time in statements of a digest"},
		Descriptor{Name: DBStatements, Kind: Counter, Labels: statement, Text: "executions of statements of a digest"},
		Descriptor{Name: DBRowsExamined, Kind: Counter, Labels: statement, Text: "rows that statements of a digest read to find theirs"},
		Descriptor{
			Name: DBBlocker, Kind: Counter, Labels: session[:3],
			Text: "waiters for row locks, at most once a second, by what the session that holds the lock does itself; event idle: its transaction is open and does nothing",
		},
	),

	sentBy(
		SourceLag,
		Descriptor{
			Name: ReplicaLag, Kind: Gauge, Unit: "ms", Labels: []string{LabelReader}, SLO: lags, Advice: adviceReaders, View: "lag.ms",
			Text: "how far a replica is behind, the longest of the second",
		},
		Descriptor{
			Name: BinlogReaderLag, Kind: Gauge, Unit: "ms", SLO: lags, Key: "binlog_reader", Advice: adviceReaders, View: "lag.ms",
			Text: "how far a reader of the binlog is behind, the longest of the second",
		},
	),

	sentBy(
		SourceGauges,
		Descriptor{
			Name: "queue_depth", Kind: Gauge, SLO: levels, Key: "gauges.queue_depth", Advice: adviceGauges, View: "gauge.value",
			Text: "what waits in a queue of the service, by the metric that the profile names, the largest of the second",
		},
	),

	sentBy(
		SourceService,
		Descriptor{Name: ServicePoolInUse, Kind: Gauge, View: "service.pool_in_use", Text: "database connections in use"},
		Descriptor{Name: ServicePoolOpen, Kind: Gauge, View: "service.pool_open", Text: "database connections open"},
		Descriptor{Name: ServicePoolMax, Kind: Gauge, View: "service.pool_max", Text: "most database connections allowed"},
		Descriptor{Name: ServicePoolWaits, Kind: Counter, View: "service.pool_waits", Text: "requests that waited for a database connection"},
		Descriptor{Name: ServicePoolWaitTime, Kind: Counter, Unit: "ms", View: "service.pool_wait_ms", Text: "time waiting for a database connection"},
		Descriptor{Name: ServiceQueries, Kind: Counter, View: "service.queries", Text: "statements"},
		Descriptor{Name: ServiceQueryTime, Kind: Counter, Unit: "ms", View: "service.query_ms", Text: "time in statements, without the wait for a connection"},
		Descriptor{Name: ServiceAcquireTime, Kind: Counter, Unit: "ms", Text: "time to get a database connection, by waiting for one or opening it"},
		Descriptor{Name: ServiceRequests, Kind: Counter, Text: "requests answered"},
		Descriptor{Name: ServiceRequestTime, Kind: Counter, Unit: "ms", Text: "time from a request's arrival at the service to its answer"},
		Descriptor{Name: ServiceDownstreamTime, Kind: Counter, Unit: "ms", Text: "time in calls to other services, within requests"},
		Descriptor{Name: ServiceCPU, Kind: Counter, Unit: "s", Text: "CPU time that the service used"},
		Descriptor{Name: ServiceCPUs, Kind: Gauge, Text: "CPUs that the service may use"},
	),

	sentBy(
		SourceHost,
		Descriptor{Name: HostCPU, Kind: Counter, Unit: "s", Labels: []string{"mode"}, Text: "CPU time by mode; all modes together are one second a second and CPU"},
		Descriptor{Name: HostCPUs, Kind: Gauge, Text: "CPUs of the host that this process may use"},
		Descriptor{Name: HostMemoryAvailable, Kind: Gauge, Unit: "By", Text: "memory that can be had without swapping"},
		Descriptor{Name: HostDiskRead, Kind: Counter, Unit: "By", Labels: device, View: "host.disk_read", Text: "bytes read from a disk"},
		Descriptor{Name: HostDiskWritten, Kind: Counter, Unit: "By", Labels: device, View: "host.disk_written", Text: "bytes written to a disk"},
		Descriptor{Name: HostDiskBusy, Kind: Counter, Unit: "ms", Labels: device, View: "host.disk_busy", Text: "time in which a disk did something"},
		Descriptor{Name: HostNetReceived, Kind: Counter, Unit: "By", Labels: network, View: "host.network_received", Text: "bytes received, by interface: loopback, external"},
		Descriptor{Name: HostNetSent, Kind: Counter, Unit: "By", Labels: network, View: "host.network_sent", Text: "bytes sent, by interface: loopback, external"},
		Descriptor{Name: ProcessCPU, Kind: Counter, Unit: "s", Labels: process, View: "host.process_cpu", Text: "CPU time that a process used"},
		Descriptor{Name: ProcessMemory, Kind: Gauge, Unit: "By", Labels: process, View: "host.process_memory", Text: "memory that a process holds"},
		Descriptor{
			Name: CgroupThrottled, Kind: Counter, Unit: "s", Sources: []string{SourceWorker}, Labels: process, View: "host.process_throttled",
			Text: "time for which a CPU quota stopped a process: service, database, or a worker by its source's name; no data without a quota",
		},
		Descriptor{Name: ProcessCPUs, Kind: Gauge, Labels: process, Text: "CPUs that a process may use"},
		Descriptor{Name: ProcessCPUIdle, Kind: Counter, Unit: "s", Labels: process, Text: "time for which those CPUs had nothing to do"},
		Descriptor{Name: ProcessRunQueue, Kind: Counter, Unit: "s", Labels: process, Text: "time for which a process's threads were ready to run and did not"},
		Descriptor{
			Name: HostPressure, Kind: Counter, Unit: "s", Labels: []string{"resource", "kind"}, View: "host.pressure",
			Text: "time in which some tasks waited for a resource (cpu, io, memory), or all that could run (kind full)",
		},
	),

	sentBy(
		SourceLedger,
		Descriptor{Name: Ledger, Kind: Counter, SLO: ledgers, Key: "ledger", Text: "acknowledged transactions that are missing from the persisted ones, and persisted ones that are there more than once"},
		Descriptor{
			Name: PersistLag, Kind: Histogram, Unit: "ms", SLO: persistLag, Key: "ledger",
			Text: "time from a transaction's acknowledgement to when it was persisted; a missing one has no end",
		},
	),

	// k6 v1.8 (metrics/builtin.go), by the second in which the transaction was
	// scheduled. A worker keeps the labels scenario and name, and further ones that
	// an SLO selects by.
	sentBy(
		SourceK6,
		Descriptor{Name: Checks, Kind: Rate, Labels: []string{"scenario", "name", "check"}, SLO: rates, Text: "checks of the script that held"},
		Descriptor{Name: RequestFailed, Kind: Rate, Labels: request, SLO: rates, Text: "HTTP requests that failed"},
		Descriptor{Name: Requests, Kind: Counter, Labels: []string{"scenario", "name", "method", "status", "error_code"}, Text: "HTTP requests"},
		Descriptor{Name: RequestDuration, Kind: Histogram, Unit: "ms", Labels: request, SLO: latencies, Text: "time of HTTP requests: sending, waiting and receiving"},
		k6Time("http_req_blocked", "time waiting for a connection, and opening it"),
		k6Time("http_req_connecting", "time opening a TCP connection"),
		k6Time("http_req_receiving", "time receiving the answer"),
		k6Time("http_req_sending", "time sending the request"),
		k6Time("http_req_tls_handshaking", "time in the TLS handshake"),
		k6Time("http_req_waiting", "time until the first byte of the answer"),
		k6Time("iteration_duration", "time of an iteration of the script"),
		Descriptor{Name: "group_duration", Kind: Histogram, Unit: "ms", Labels: []string{"scenario", "name", "group"}, SLO: latencies, Text: "time of a group of the script"},
		k6Time("grpc_req_duration", "time of gRPC requests"),
		k6Time("ws_connecting", "time opening a WebSocket"),
		k6Time("ws_ping", "time from a ping of a WebSocket to its pong"),
		k6Time("ws_session_duration", "time of a WebSocket session"),
		Descriptor{Name: "data_received", Kind: Counter, Unit: "By", Labels: request, Text: "bytes received"},
		Descriptor{Name: DataSent, Kind: Counter, Unit: "By", Labels: request, Text: "bytes sent"},
		Descriptor{Name: "dropped_iterations", Kind: Counter, Labels: request, Text: "iterations that k6 itself did not start"},
		Descriptor{Name: "iterations", Kind: Counter, Labels: request, Text: "iterations of the script"},
		Descriptor{Name: "ws_msgs_received", Kind: Counter, Labels: request, Text: "WebSocket messages received"},
		Descriptor{Name: "ws_msgs_sent", Kind: Counter, Labels: request, Text: "WebSocket messages sent"},
		Descriptor{Name: "ws_sessions", Kind: Counter, Labels: request, Text: "WebSocket sessions"},
		Descriptor{Name: "vus", Kind: Gauge, Labels: request, Text: "VUs that run"},
		Descriptor{Name: "vus_max", Kind: Gauge, Labels: request, Text: "VUs that there are"},
	),
)

// sentBy puts a source before the sources that the metrics name themselves.
func sentBy(source string, all ...Descriptor) []Descriptor {
	for i := range all {
		all[i].Sources = append([]string{source}, all[i].Sources...)
	}
	return all
}

// k6Time is one of k6's trends of times.
func k6Time(name, text string) Descriptor {
	return Descriptor{Name: name, Kind: Histogram, Unit: "ms", Labels: request, SLO: latencies, Text: text}
}
