// Package influx writes a run to InfluxDB: a view for people who watch it, during the
// run or later. Only the record is judged.
//
// Input: frames as they arrive (View), or a whole record (Push). Output: points in line
// protocol, sent to a server that accepts the write API of InfluxDB 1.x. Seconds that
// could not be written during the run are written at its end, from the record; writing
// a second again overwrites it.
//
// A View has nothing of other senders: an increase that they report may belong to any of the
// last ten seconds, most of which are written by then, and whether a service's metrics are
// read depends on all of its senders (record.Timeline.ReadPushed). Push has those of the
// service that the record has read under OpenTelemetry's names.
//
// # Schema
//
// One point per second and tag set, merged over all sources; percentiles are those of
// the second's merged histogram. Every point has the tags run, profile and scenario: the
// script's name without folder and .js. In a profile with flows it is the name of the flow
// that a point is of (transaction, request, arrival), or else the profile's. Every field
// except the texts of run_event is a float. Times are in milliseconds, shares in [0,1]. A
// field without data is omitted, and so is a point without fields.
//
//	transaction    by the second in which it was scheduled; tag name=transaction
//	  count, rate            transactions that ended, with any outcome
//	  errors, error_rate     failed, timed out or dropped; their share of count
//	  mean, p50, p90, p95, p99, p999, max
//	transaction    tags slo (its text), metric, aggregate (p95, rate, max, ...):
//	               one for each SLO on transaction_duration
//	  limit                  its bound; in every second of the plan
//	  samples, violations    samples judged, and those that violate it
//	  violation_rate         violations / samples
//	  allowed                the largest share of violations with which it holds
//	request        by the second in which its transaction was scheduled; tag name, and
//	               protocol (gRPC, WebSocket) where it is not HTTP
//	  as transaction, of http_req_duration and http_req_failed, or their counterparts
//	request        with tag slo: as transaction, one for each other SLO that is
//	               decided by samples
//	arrival        by the second of the schedule
//	  target                 rate of the plan, mean of the second
//	  scheduled, started, completed, failed, timed_out, dropped
//	  wakeup_lag_p99         delay of the start that the generator itself caused
//	  queueing_p99           delay of the start because every VU was busy
//	db_session     tags event, class, inferred (true, false)
//	  sessions, aas          active sessions sampled; sessions / samples
//	  ms_per_transaction     aas * 1000 / transactions started in the second
//	db_session     without these tags
//	  samples                samples taken in the second
//	db_counter     tag name, a status variable
//	  increase               of a counter
//	  value                  of a gauge
//	db_statement   tags digest, statement (its text)
//	  count, ms, mean        executions, their total time, their mean time
//	  ms_per_transaction     ms / transactions started in the second
//	lag            tags metric (replica_lag, binlog_reader_lag, consumer_lag), reader
//	               (address of the replica)
//	  ms                     maximum of the second
//	  messages               of consumer_lag, maximum of the second
//	gauge          tag metric (queue_depth): gauges of the service that SLOs judge
//	  value                  maximum of the second
//	service        the service under test
//	  pool_in_use, pool_open, pool_max, pool_waits, pool_wait_ms, queries, query_ms
//	  persist_lag            ms, while the run goes on, where the profile has ledger.lag
//	  pool_wait_ms_per_transaction, query_ms_per_transaction
//	stub           tags stub, endpoint, background (true, false): stubs that stand in for
//	               other services; of calls also outcome, of work_ms caller (waiting, left)
//	  calls, call_ms, work_ms  calls that ended; their time; the time of the work on calls
//	  queue, working         calls that wait for a slot, and that are worked on
//	error          tags where (client, script, service), class (connection refused, ...),
//	               scenario: a flow; of the service's errors, and without flows, the profile
//	  count                  errors that the place noticed
//	host           the generator's host
//	  cpus, cpu_busy         CPUs; busy share of their time
//	  cpu_stolen             share of their time stolen by the hypervisor
//	  database_cpus          CPUs of the database, if it shares the host
//	  memory_available       bytes
//	host           tag device:    disk_read, disk_written (bytes), disk_busy (ms)
//	host           tag interface: network_received, network_sent (bytes)
//	host           tag process:   process_cpu (CPUs in use), process_memory (bytes),
//	                              process_throttled (share of the time for which a
//	                              CPU quota throttled it; absent without a quota)
//	host           tags resource (cpu, io, memory), kind (some, full)
//	  pressure               share of the time in which some tasks, or all non-idle
//	                         tasks, waited for the resource
//	run_event      tag kind: stage (a stage of the load begins), verdict
//	  title, text            texts, for annotations
//
// Ratios that a panel needs are stored, because InfluxQL cannot divide two
// measurements. A db_session event without active sessions in a second has no point in
// it, even if samples were taken: its mean over an interval is sum(aas) divided by the
// interval's seconds, not mean(aas).
package influx
