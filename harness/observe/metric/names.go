package metric

// Names of what we measure ourselves. k6's own metrics keep k6's names:
// trends are histograms, counters counters, gauges gauges, and a rate becomes
// two counters, as in k6's OpenTelemetry output: NAME.occurred (samples that
// were not 0) and NAME.total (all samples).
const (
	RateOccurred = ".occurred"
	RateTotal    = ".total"

	// Transactions, by the second in which they were scheduled.
	// TransactionDuration is a histogram (ms) from the scheduled arrival to the
	// end, of every scheduled transaction: one that timed out counts with the
	// time until it ended or was interrupted, a dropped one with the time-out,
	// which is the least that it would have taken.
	TransactionDuration = "transaction_duration"
	// Transactions counts them by label outcome: completed, failed, timed_out, dropped.
	Transactions = "transactions"
	// TransactionsScheduled counts the slots of the schedule.
	TransactionsScheduled = "transactions_scheduled"
	// Violations and Judged count, exactly, for each SLO that samples decide
	// (label slo: its text) the samples that break it, and all of them.
	Violations = "slo_violations"
	Judged     = "slo_samples"
	// ViolationsCleared counts, for each SLO, the samples that break it even
	// without what the generator itself added to them (RULEBOOK section 1a).
	ViolationsCleared = "slo_violations_cleared"
	// OpenRequests is a histogram (ms), by transactions that were under way when the
	// run ended: for how long the request that each may have had open had taken.
	OpenRequests = "open_requests"

	// Parts of transactions, by the second in which each part ended, while k6's own
	// metrics stand under the second in which the transaction was scheduled: service
	// and database are known by when they did something, and are compared with these.
	EndedIterations    = "ended_iterations"     // counter
	EndedIterationTime = "ended_iteration_time" // counter, ms
	EndedRequests      = "ended_requests"       // counter
	EndedRequestTime   = "ended_request_time"   // counter, ms: sent, answered
	EndedBlockedTime   = "ended_blocked_time"   // counter, ms: waiting for and opening connections to the service

	// The generator, by the second of the slot.
	GeneratorLag       = "generator_lag"       // histogram, ms, one observation a slot: delay that the generator itself caused
	GeneratorDisplaced = "generator_displaced" // slots that the generator itself started later than the plan's limit
	GeneratorStall     = "generator_stall"     // counter, ms: time for which the generator's heartbeat stood still
	GeneratorDropped   = "generator_dropped"   // slots lost, more by the generator's lag than by queueing
	GeneratorUndone    = "generator_undone"    // transactions that were not completed by the generator's own doing: lost ones, and those that failed or timed out as it stood still
	ArrivalQueueing    = "arrival_queueing"    // histogram, ms: delay because every VU was busy with the system under test
	WorkerCPU          = "worker_cpu_seconds"  // counter: CPU time used
	WorkerCPUs         = "worker_cpus"         // gauge: CPUs that the worker may use
	WorkerRunQueue     = "worker_runqueue_seconds"
	WorkerSQLSent      = "worker_sql_sent" // counter, By: what k6/x/sql sent to databases
	WorkerMemory       = "worker_memory_bytes"
	// WorkerHostCPU is the CPU time (s) of the host that the worker runs on, by
	// label mode: steal, other. Only the coordinator's host has a collector.
	WorkerHostCPU = "worker_host_cpu_seconds"
	// In a worker's closing frame: what it aggregated and sent, over all seconds.
	WorkerSamples    = "worker_samples"     // counter by label metric
	WorkerFrames     = "worker_frames"      // counter: frames sent before the closing one
	WorkerSeed       = "worker_seed"        // counter, 1, by label seed: what its schedule and data were drawn from
	WorkerStartDelay = "worker_start_delay" // gauge, ms: how late it took its first slot

	// The database. Average active sessions of a class over a window are
	// sum(DBSession) / sum(DBSample). The label event is the wait's name without
	// the prefix wait/, or the session's state, or cpu.
	DBSession        = "db_session"         // counter: sessions seen active; labels event, class, inferred (true), digest
	DBSample         = "db_sample"          // counter: samples taken
	DBSampleInterval = "db_sample_interval" // histogram, ms between one sample and the next; its max is the longest gap
	DBSampleTime     = "db_sample_time"     // histogram, ms that a sample took
	DBSampleRate     = "db_sample_rate"     // gauge: samples a second that the source means to take; without it, 10
	DBCounter        = "db_counter"         // counter: increase of a status variable; label name
	DBGauge          = "db_gauge"           // gauge: a status variable that goes up and down; label name
	DBStatementTime  = "db_statement_time"  // counter, ms, by labels digest and statement (its text)
	DBStatements     = "db_statements"      // counter, likewise
	DBRowsExamined   = "db_rows_examined"   // counter, likewise: rows that the statements read to find theirs
	// Sessions seen to hold a row lock that others wait for, at most once a
	// second, by what they were doing themselves: counter of their waiters, by
	// labels event, class and inferred as of DBSession. The event idle is a
	// transaction that is open and does nothing.
	DBBlocker = "db_blocker"

	// Gauges, ms: the longest of each second. ReplicaLag has the label reader.
	ReplicaLag      = "replica_lag"
	BinlogReaderLag = "binlog_reader_lag"

	// The service under test.
	ServicePoolInUse      = "service_pool_in_use"      // gauge: connections in use
	ServicePoolOpen       = "service_pool_open"        // gauge: connections open
	ServicePoolMax        = "service_pool_max"         // gauge: most connections allowed
	ServicePoolWaits      = "service_pool_waits"       // counter: requests that waited for a connection
	ServicePoolWaitTime   = "service_pool_wait_time"   // counter, ms
	ServiceQueries        = "service_queries"          // counter
	ServiceQueryTime      = "service_query_time"       // counter, ms: time in statements, without the wait for a connection
	ServiceAcquireTime    = "service_acquire_time"     // counter, ms: to get a connection, by waiting for one or opening it
	ServiceRequests       = "service_requests"         // counter
	ServiceRequestTime    = "service_request_time"     // counter, ms: from a request's arrival at the service to its answer
	ServiceDownstreamTime = "service_downstream_time"  // counter, ms: in calls to other services, within requests
	ServiceCPU            = "service_cpu_seconds"      // counter
	ServiceCPUs           = "service_cpus"             // gauge: CPUs that it may use
	HostCPU               = "host_cpu_seconds"         // counter by label mode; all modes together are one second a second and CPU
	HostCPUs              = "host_cpus"                // gauge
	HostPressure          = "host_pressure_seconds"    // counter by labels resource (cpu, io, memory) and kind: time in which some tasks waited for it, or all that could run (full)
	HostMemoryAvailable   = "host_memory_available"    // gauge, By
	HostDiskWritten       = "host_disk_written"        // counter, By, by label device
	HostDiskRead          = "host_disk_read"           // counter, By, likewise
	HostDiskBusy          = "host_disk_busy"           // counter, ms, likewise
	HostNetReceived       = "host_network_received"    // counter, By, by label interface: loopback, external
	HostNetSent           = "host_network_sent"        // counter, By, likewise
	ProcessCPU            = "process_cpu_seconds"      // counter by label process
	ProcessCPUs           = "process_cpus"             // gauge by label process: CPUs that it may use
	ProcessCPUIdle        = "process_cpu_idle_seconds" // counter likewise: time that those CPUs had nothing to do
	ProcessRunQueue       = "process_runqueue_seconds" // counter likewise: time that its threads were ready to run and did not
	ProcessMemory         = "process_resident_memory"  // gauge, By, by label process
	// CgroupThrottled is the time (s) for which a CPU quota stopped a process: a
	// counter by label process (service, database; a worker reports its own by its
	// source's name). Without a quota, or where none can be read, there is none.
	CgroupThrottled = "cgroup_throttled_seconds"
)

// A worker keeps at most MaxSeries label sets of one metric apart. What comes above
// that is counted under OverflowLabel, so that nothing is lost but detail.
const (
	MaxSeries     = 200
	OverflowLabel = "overflow"
)

// OfWorkers lists what workers send of their own, beside k6's metrics: names
// that a script cannot use.
var OfWorkers = []string{
	TransactionDuration, Transactions, TransactionsScheduled, Violations, ViolationsCleared, OpenRequests, Judged,
	EndedIterations, EndedIterationTime, EndedRequests, EndedRequestTime, EndedBlockedTime,
	GeneratorLag, GeneratorDisplaced, GeneratorStall, GeneratorDropped, GeneratorUndone, ArrivalQueueing,
	WorkerCPU, WorkerCPUs, WorkerRunQueue, WorkerSQLSent, WorkerMemory, WorkerHostCPU, CgroupThrottled,
	WorkerSamples, WorkerFrames, WorkerSeed, WorkerStartDelay,
}

// Values of the label outcome.
const (
	Completed = "completed"
	Failed    = "failed"
	TimedOut  = "timed_out"
	Dropped   = "dropped"
)

// Outcomes lists every outcome; each scheduled transaction has exactly one.
var Outcomes = []string{Completed, Failed, TimedOut, Dropped}
