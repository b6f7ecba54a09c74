// Package mysql is the driver of MySQL 8 and 9, MariaDB and Aurora MySQL: it opens
// a database, and collects from a server over one connection: ten times a second
// what every session does or waits for, once a second status counters and the time
// in statements. What the flavours differ in is data (flavour.go).
//
// Input: a DSN in the form of go-sql-driver/mysql, also with a file of certificate
// authorities and IAM tokens of AWS as parameters; its user may read
// performance_schema. Output: one frame a second (metric.DBSession and its
// neighbours), the description of the server, notes on what could not be seen, the
// lag of a replica. The SQL is in sql/, the meaning of waits is package wait's.
//
// Instruments of performance_schema that are needed are switched on for a run, and
// restored by the run that ends alone (restore.go).
package mysql
