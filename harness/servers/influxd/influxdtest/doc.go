// Package influxdtest starts real InfluxDB servers for tests.
//
// In: the program that `make test` provides, named by an environment variable.
// Out: a running server in a folder of the test, gone when it ends.
package influxdtest
