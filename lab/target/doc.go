// Package target is the reference payment and ingestion service: the system under
// test for trying Assay.
//
// It is an ordinary small service with real SQL on a real MySQL (8, 9) or MariaDB
// (10.11). A payment is about ten DML statements; an event is one row. The weaknesses
// of the field reports are settings, so that each can be turned on, certified and
// distinguished from the others: when a payment commits ([Commits]), how connections
// are pooled ([Pool]), when an event is stored relative to its response ([Ingest]),
// how payment gateways answer ([gateway.Config]), how many requests are worked on at once
// ([Capacity]), how many files may be open, and whether a shutdown drains.
// Everything else is written so that the service itself is not the bottleneck.
//
// A payment ends CONFIRMED or DECLINED. If its gateway does not respond it is PENDING,
// the response is 202, and a worker queries the gateway again ([Reconcile]). Another
// worker relays the outbox ([Notify]). Several services on one database share the work
// of both.
//
// A profile reads the stored identities by
//
//	SELECT id, persisted_at FROM payments WHERE run_id = ? AND persisted_at IS NOT NULL
//	SELECT id, persisted_at FROM events WHERE run_id = ?
//	SELECT id, persisted_at FROM writer_log WHERE run_id = ?
//
// persisted_at is the start of the statement that made the row final, in UTC, before its
// commit. A payment without it was not confirmed, or never finished. Writers that bypass
// the service write the table writer_log.
//
// With Kafka, an event has the id of its message as well, so that a message that is delivered
// again is stored once.
//
// A service with a [Capacity] works on a limited number of requests at once, while the others
// wait in order, and its further instances take time to boot: service_capacity,
// service_requests_waiting, http_request_queue_seconds.
//
// Errors are counted by class: db_errors_total, of statements and of getting a connection,
// and service_errors_total, of the service itself. ingest_oldest_event_seconds is the
// persist lag while events are queued: the age of the oldest that is not stored; with Kafka,
// of the oldest that the consumer has read.
//
// Input: a [Config]. Output: HTTP on Config.Listen, rows in the tables of schema.sql,
// and Prometheus metrics on /metrics, also pushed by OTLP if a receiver is configured.
package target
