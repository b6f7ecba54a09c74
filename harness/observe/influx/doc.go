// Package influx shows a run in InfluxDB: a view for people who watch it, live
// or later. The record stays the only thing that is judged.
//
// Input: frames as they come (View), or a whole record (Push). Output: points
// in line protocol, sent to a server that takes writes of InfluxDB 1.x. What
// could not be written while the run went on is written at its end, from the
// record; a second that is written again overwrites itself.
//
// # Schema
//
// One point a second and tag set, merged over all sources; percentiles are
// those of the second's merged histogram. Every point has the tags run, profile
// and scenario (the script's name without folder and .js). Every field but the
// texts of run_event is a float. Times are milliseconds, shares lie in [0,1].
// What has no data has no field, and a point without a field is not written.
//
//	transaction    by the second in which it was scheduled; tag name=transaction
//	  count, rate            that have ended, in whatever way
//	  errors, error_rate     of these: failed, timed out or dropped; share
//	  mean, p50, p90, p95, p99, p999, max
//	transaction    tags slo (its text), metric, aggregate (p95, rate, max, ...):
//	               one for each SLO on transaction_duration
//	  limit                  its bound; in every second of the plan
//	  samples, violations    and the share violation_rate
//	  allowed                the share of violations that still passes
//	request        by the second in which its transaction was scheduled; tag name
//	  as transaction, of http_req_duration and http_req_failed
//	request        with tag slo: as transaction, one for each other SLO that
//	               samples decide
//	arrival        by the second of the schedule
//	  target                 rate of the plan, the mean over the second
//	  scheduled, started, completed, failed, timed_out, dropped
//	  wakeup_lag_p99         delay that the generator itself caused
//	  queueing_p99           delay because every VU was busy with the system
//	db_session     tags event, class, inferred (true, false)
//	  sessions, aas          seen active; the same divided by the samples taken
//	  ms_per_transaction     aas * 1000 / transactions started in the second
//	db_session     without these tags
//	  samples                taken in the second
//	db_counter     tag name, a status variable
//	  increase               of one that only grows
//	  value                  of one that goes up and down
//	db_statement   tags digest, statement (its text)
//	  count, ms, mean        executions, time in them, time of one
//	  ms_per_transaction
//	lag            tags metric (replica_lag, binlog_reader_lag), reader (of
//	               replicas, its address)
//	  ms                     the longest of the second
//	gauge          tag metric (queue_depth): gauges of the service that SLOs judge
//	  value                  the largest of the second
//	service        the service under test
//	  pool_in_use, pool_open, pool_max, pool_waits, pool_wait_ms, queries, query_ms
//	  pool_wait_ms_per_transaction, query_ms_per_transaction
//	host           the generator's host
//	  cpus, cpu_busy         CPUs; the share of them that did something
//	  cpu_stolen             the share that the hypervisor took from them
//	  database_cpus          CPUs of the database, known where it shares the host
//	  memory_available       bytes
//	host           tag device:    disk_read, disk_written (bytes), disk_busy (ms)
//	host           tag interface: network_received, network_sent (bytes)
//	host           tag process:   process_cpu (CPUs in use), process_memory (bytes),
//	                              process_throttled (share of the time for which a
//	                              CPU quota stopped it; none without a quota)
//	host           tags resource (cpu, io, memory), kind (some, full)
//	  pressure               share of the time in which some tasks waited for it,
//	                         or all that could run
//	run_event      tag kind: stage (a stage of the load begins), verdict
//	  title, text            texts, for annotations
//
// Ratios that a panel needs are stored, because InfluxQL cannot divide two
// measurements. A db_session event that was not seen in a second has no point
// in it, also where samples were taken: its mean over an interval is
// sum(aas) / the interval's seconds, not mean(aas).
package influx
