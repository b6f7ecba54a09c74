// Package influxd starts an InfluxDB 1.x server on the loopback address,
// with authentication on, below one folder.
//
// Input: the program influxd, a folder and a port. Output: a process that answers, with
// an administrator's account and a database.
package influxd
