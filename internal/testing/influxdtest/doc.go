// Package influxdtest starts real InfluxDB servers for tests.
//
// Input: the program that `make test` provides, named by an environment variable.
// Output: a running server in a folder of the test, gone when it ends.
package influxdtest
