// Package mysqldtest starts real MySQL and MariaDB servers for tests.
//
// Input: the servers that `make test` provides, named by two environment
// variables. Output: running servers in folders of the test, gone when it ends.
package mysqldtest
