// Package mysql is the driver for MySQL 8 and 9, MariaDB and Aurora MySQL. It opens
// databases and collects from a server over one connection: active sessions and their
// waits ten times per second, status counters and statement times once per second.
// The differences between the flavours are data (driver.go).
//
// Input: a DSN as go-sql-driver/mysql defines it, with two additional parameters for
// a CA file and for AWS IAM tokens; its user may read performance_schema. Output: one
// frame per second (metric.DBSession and related metrics), a description of the
// server, notes on what could not be observed, and the lag of a replica. The SQL is
// in sql/; package wait knows what the waits mean.
//
// A run switches on the performance_schema instruments that it needs, after it has marked
// them in the server itself (setup.go). The last run on a server restores what is marked
// (restore.go); runs know of each other by locks of the server (same file).
package mysql
