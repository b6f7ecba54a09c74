// Package mysql collects from a MySQL 8 or 9 or MariaDB 10.11 server, over one
// connection: ten times a second what every session does or waits for, once a
// second status counters and the time in statements.
//
// Input: a DSN whose user may read performance_schema. Output: one frame a
// second (metric.DBSession and its neighbours), the description of the server,
// and notes on what it could not see. The SQL is in sql/, the meaning of waits
// is package wait's.
package mysql
