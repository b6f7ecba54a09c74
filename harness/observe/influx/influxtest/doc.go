// Package influxtest starts real InfluxDB servers for tests, and asks them.
//
// In: the program influxd that `make test` provides, of version 1.x, named by an
// environment variable. Out: a running server in a folder of the test, with
// authentication, gone when the test ends; and what queries give.
package influxtest
