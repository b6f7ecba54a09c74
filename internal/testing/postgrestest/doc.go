// Package postgrestest starts real PostgreSQL servers for tests.
//
// Input: the server program that `make test` provides, named by an environment
// variable. Output: running servers, each with data, port and password of its own,
// gone when the test ends.
package postgrestest
