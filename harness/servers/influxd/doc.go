// Package influxd starts an InfluxDB 1.x server on the loopback address,
// with authentication on, below one folder.
//
// In: the program influxd, a folder, a port and the account that may do
// everything. Out: a process that answers, in which the account and the
// database exist.
package influxd
