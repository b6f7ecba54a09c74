// Package postgres is the driver for PostgreSQL 14 and later. It opens databases and
// collects from a server over one connection: active sessions and their waits ten times
// per second, counters and statement times once per second. It changes nothing on the
// server, connects to servers only, never through a pooler, and leaves no state on a session.
//
// Input: a DSN (postgres://...) whose user may see all sessions: pg_monitor or
// pg_read_all_stats. Output: one frame per second (metric.DBSession and related metrics),
// a description of the server, and notes on what could not be observed. The SQL is in
// sql/; package wait knows what the waits mean.
//
// The server's sessions report their counters at the end of a transaction, and at most
// once per second, so an increase may appear one second late.
package postgres
