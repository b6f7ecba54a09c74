// Package influxtest queries real InfluxDB servers, for tests of what was written.
//
// Input: the servers of influxdtest. Output: a server that can be killed, frozen and
// restarted, and the results of InfluxQL queries.
package influxtest
