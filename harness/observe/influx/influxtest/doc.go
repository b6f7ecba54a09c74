// Package influxtest asks real InfluxDB servers, for tests of what was written.
//
// In: the servers of influxdtest. Out: one that can be killed, stopped and
// started again, and what InfluxQL queries find in it.
package influxtest
