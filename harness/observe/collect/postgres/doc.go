// Package postgres collects from a PostgreSQL server of version 14 or later,
// over one connection: ten times a second what every session does or waits for,
// once a second counters and the time in statements. It changes nothing on the
// server.
//
// Input: a DSN (postgres://...) whose user may see all sessions: pg_monitor or
// pg_read_all_stats. Output: one frame a second (metric.DBSession and its
// neighbours), the description of the server, and notes on what it could not
// see. The SQL is in sql/, the meaning of waits is package wait's.
//
// The server's sessions add to its counters at the end of a transaction, and at
// most once a second: an increase may stand in the second after its own.
package postgres
