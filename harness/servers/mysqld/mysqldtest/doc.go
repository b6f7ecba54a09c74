// Package mysqldtest starts real database servers for tests.
//
// In: the servers that `make test` provides, named by two environment
// variables. Out: running servers in folders of the test, gone when it ends.
package mysqldtest
