// Package influxtest starts real InfluxDB servers for tests, and queries them.
//
// Input: the program that `make test` provides, named by an environment variable.
// Output: a running server in a folder of the test, gone when it ends, which can be killed,
// frozen and restarted; and the results of InfluxQL queries.
package influxtest
