// SPDX-License-Identifier: Apache-2.0

package metric

import (
	"strconv"
	"strings"
)

// A rate becomes two counters, as in k6's OpenTelemetry output: NAME.occurred
// (samples that were not 0) and NAME.total (all samples).
const (
	RateOccurred = ".occurred"
	RateTotal    = ".total"
)

// WithoutRate is the name of the rate that a counter is of, and any other name as it is.
func WithoutRate(name string) string {
	return strings.TrimSuffix(strings.TrimSuffix(name, RateTotal), RateOccurred)
}

// Names of our own metrics. The catalogue describes each of them.
const (
	TransactionDuration   = "transaction_duration"
	Transactions          = "transactions"
	TransactionsScheduled = "transactions_scheduled"
	Violations            = "slo_violations"
	ViolationsCleared     = "slo_violations_cleared"
	Judged                = "slo_samples"
	TransactionsUnsent    = "transactions_unsent"
	OpenRequests          = "open_requests"
	ErrorsByClass         = "errors_by_class"
	ExcusedRequests       = "excused_requests"
	ExcusedTransactions   = "excused_transactions"
	OutsideRequests       = "outside_requests"
	AcknowledgedForms     = "acknowledged_forms"

	EndedIterations    = "ended_iterations"
	EndedTransactions  = "ended_transactions"
	EndedIterationTime = "ended_iteration_time"
	EndedRequests      = "ended_requests"
	EndedRequestTime   = "ended_request_time"
	EndedBlockedTime   = "ended_blocked_time"

	GeneratorLag       = "generator_lag"
	GeneratorDisplaced = "generator_displaced"
	GeneratorStall     = "generator_stall"
	GeneratorDropped   = "generator_dropped"
	GeneratorUndone    = "generator_undone"
	ScriptFailed       = "script_failed"
	GeneratorLacks     = "generator_lacks"
	ScriptTime         = "script_time"
	ThinkTime          = "think_time"
	ArrivalQueueing    = "arrival_queueing"

	WorkerCPU      = "worker_cpu_seconds"
	WorkerCPUs     = "worker_cpus"
	WorkerRunQueue = "worker_runqueue_seconds"
	WorkerSQLSent  = "worker_sql_sent"
	// By the addresses that a worker's connections and requests reached, and to which the
	// target's names resolved.
	WorkerConnections = "worker_connections"
	WorkerRequests    = "worker_requests"
	WorkerResolved    = "worker_resolved"
	WorkerMemory      = "worker_memory_bytes"
	WorkerTimeWait    = "worker_time_wait"
	WorkerPorts       = "worker_ports"
	WorkerDescriptors = "worker_descriptors"

	WorkerClockOffset = "worker_clock_offset"
	WorkerClockDrift  = "worker_clock_drift"
	WorkerRoundTrip   = "worker_round_trip"

	ReceiveDelay     = "receive_delay"
	WorkerHostCPU    = "worker_host_cpu_seconds"
	CgroupThrottled  = "cgroup_throttled_seconds"
	WorkerSamples    = "worker_samples"
	WorkerFrames     = "worker_frames"
	WorkerSeed       = "worker_seed"
	WorkerStartDelay = "worker_start_delay"

	DBSession        = "db_session"
	DBSample         = "db_sample"
	DBSampleInterval = "db_sample_interval"
	DBSampleTime     = "db_sample_time"
	DBSampleRate     = "db_sample_rate"
	DBCounter        = "db_counter"
	DBGauge          = "db_gauge"
	DBStatementTime  = "db_statement_time"
	DBStatements     = "db_statements"
	DBRowsExamined   = "db_rows_examined"
	DBBlocker        = "db_blocker"

	ReplicaLag      = "replica_lag"
	BinlogReaderLag = "binlog_reader_lag"
	ConsumerLag     = "consumer_lag"

	NeighbourRequests = "neighbour_requests"
	NeighbourErrors   = "neighbour_errors"
	AbortGauge        = "abort_gauge"

	// Metrics that only abort conditions name, computed from frames of the database.
	DBSessions    = "db_sessions"
	DBConnections = "db_connections"
	DBDeadlocks   = "db_deadlocks"
	DBAborted     = "db_aborted_connections"

	ServicePoolInUse       = "service_pool_in_use"
	ServicePoolOpen        = "service_pool_open"
	ServicePoolMax         = "service_pool_max"
	ServicePoolWaits       = "service_pool_waits"
	ServicePoolWaitTime    = "service_pool_wait_time"
	ServicePoolPending     = "service_pool_pending"
	ServicePoolUseTime     = "service_pool_use_time"
	ServiceQueries         = "service_queries"
	ServiceQueryTime       = "service_query_time"
	ServiceQueryFastest    = "service_query_fastest"
	ServiceAcquireTime     = "service_acquire_time"
	ServiceConnectTime     = "service_connect_time"
	ServiceRequests        = "service_requests"
	ServiceRequestTime     = "service_request_time"
	ServiceDownstreamTime  = "service_downstream_time"
	ServiceDownstreamCalls = "service_downstream_calls"
	ServiceQueueTime       = "service_queue_time"
	ServiceWaiting         = "service_requests_waiting"
	ServiceCapacity        = "service_capacity"
	ServiceCPU             = "service_cpu_seconds"
	ServiceCPUs            = "service_cpus"
	ServiceInstances       = "service_instances"
	ServiceOthers          = "service_other_builds"

	StubCalls    = "stub_calls"
	StubCallTime = "stub_call_time"
	StubWorkTime = "stub_work_time"
	StubQueue    = "stub_queue"
	StubWorking  = "stub_working"

	NetworkRoundTrip = "network_round_trip"

	HostCPU             = "host_cpu_seconds"
	HostCPUs            = "host_cpus"
	HostPressure        = "host_pressure_seconds"
	HostMemoryAvailable = "host_memory_available"
	HostDiskRead        = "host_disk_read"
	HostDiskWritten     = "host_disk_written"
	HostDiskBusy        = "host_disk_busy"
	HostNetReceived     = "host_network_received"
	HostNetSent         = "host_network_sent"
	ProcessCPU          = "process_cpu_seconds"
	ProcessCPUs         = "process_cpus"
	ProcessCPUIdle      = "process_cpu_idle_seconds"
	ProcessRunQueue     = "process_runqueue_seconds"
	ProcessStopped      = "process_stopped_seconds"
	ProcessMemory       = "process_resident_memory"

	ForeignDelay   = "otlp_delay"
	ForeignRefused = "otlp_points_refused"

	Ledger     = "ledger"
	PersistLag = "persist_lag"

	Goodput      = "goodput"
	SettleTime   = "settle_time"
	TimeToScale  = "time_to_scale"
	RecoveryTime = "recovery_time"
	Invariants   = "invariants"
	// PersistLagNow is persist_lag as it is read while the run goes on.
	PersistLagNow = "persist_lag_now"
)

// Names of the k6 metrics that the code refers to.
const (
	GroupDuration     = "group_duration"
	IterationDuration = "iteration_duration"
	Checks            = "checks"
	DataSent          = "data_sent"
	DataReceived      = "data_received"
)

// DefaultSampleRate is the number of samples of the database's sessions per second,
// unless their source reports another rate (DBSampleRate).
const DefaultSampleRate = 10

// FastestShare is the share of the statements of a second that ServiceQueryFastest is about,
// [0,1].
const FastestShare = 0.1

// A worker keeps at most MaxSeries label sets of one metric. Samples of further label
// sets are counted in series with OverflowLabel, so that only detail is lost.
const (
	MaxSeries     = 200
	OverflowLabel = "overflow"
	// ForeignOverflowLabel is the same of OpenTelemetry's SDKs, which have limits of their
	// own.
	ForeignOverflowLabel = "otel.metric.overflow"
)

// Values of the label outcome of stub_calls.
const (
	StubAnswered  = "answered"  // with the usual answer
	StubError     = "error"     // with an error, as its file says
	StubLimited   = "limited"   // with 429, as over its rate limit
	StubHung      = "hung"      // not at all
	StubReset     = "reset"     // by a reset of the connection
	StubAbandoned = "abandoned" // not at all, as its caller had left before
	StubUnknown   = "unknown"   // with 404, as no endpoint of its file matches
)

// LabelReader identifies the replica of a series of replica_lag.
const LabelReader = "reader"

// LabelCondition identifies the abort condition of a series that is read for it alone.
const LabelCondition = "condition"

// Values of the label outcome.
const (
	Completed = "completed"
	Failed    = "failed"
	TimedOut  = "timed_out"
	Dropped   = "dropped"
)

// Values of the label by of excused_requests: who expects the status.
const (
	ByScript  = "script"
	ByProfile = "profile"
)

// Values of the label reason of excused_transactions.
const (
	CaughtError = "caught error"
	NoRequest   = "no request"
	NoMessage   = "no message"
)

// Outcomes lists every outcome; each scheduled transaction has exactly one.
var Outcomes = []string{Completed, Failed, TimedOut, Dropped}

// Costs of a transaction, as certificates, comparisons and experiments name them.
const (
	CostCommits     = "commits"
	CostFsyncs      = "fsyncs"
	CostRedo        = "redo written"
	CostDisk        = "disk written"
	CostDatabaseCPU = "CPU of the database"
	CostServiceCPU  = "CPU of the service"
)

// Costs lists all of them, in display order.
var Costs = []string{CostCommits, CostFsyncs, CostRedo, CostDisk, CostDatabaseCPU, CostServiceCPU}

// Sources of frames, as Frame.Source names them. Workers are numbered
// (WorkerSource); a foreign sender of OTLP is "otlp/" and its service name, whatever
// the number of its instances (IsForeign).
const (
	SourceWorker     = "worker"
	SourceDatabase   = "database"
	SourceService    = "service"
	SourceHost       = "host"
	SourceLag        = "lag"        // lag of replicas and of binlog readers
	SourceReceiver   = "receiver"   // the coordinator's own, of what it receives
	SourceGauges     = "gauges"     // gauges of the service that the profile names
	SourceNeighbours = "neighbours" // other services that the profile's abort conditions watch
	SourceStub       = "stub"       // stubs that stand in for services which the system under test calls (StubSource)
	SourceForeign    = "otlp"       // in the catalogue only: senders other than this program, by OTLP

	// Catalogue sources that no frame has: k6's metrics are sent by the workers, the
	// ledger is compared after the run, the coordinator's facts are about all of it, and some
	// SLOs are on how whole stages of the load went.
	SourceK6          = "k6"
	SourceLedger      = "ledger"
	SourceCoordinator = "coordinator"
	SourceStages      = "stages"
)

const (
	workerPrefix  = SourceWorker + "/"
	foreignPrefix = SourceForeign + "/"
	stubPrefix    = SourceStub + "/"
)

// WorkerSource names the frames of worker i, from 0: "worker/0".
func WorkerSource(i int) string { return workerPrefix + strconv.Itoa(i) }

// IsWorker reports whether a frame of this source comes from a worker.
func IsWorker(source string) bool { return strings.HasPrefix(source, workerPrefix) }

// StubSource names the frames of a stub: "stub/bank".
func StubSource(name string) string { return stubPrefix + name }

// IsStub reports whether a frame of this source comes from a stub.
func IsStub(source string) bool { return strings.HasPrefix(source, stubPrefix) }

// IsForeign reports whether the points of a frame of this source come from another
// program, by OTLP.
func IsForeign(source string) bool { return strings.HasPrefix(source, foreignPrefix) }

// OtherAddresses stands for the addresses that a worker reached beyond those that it counts
// each.
const OtherAddresses = "others"
