// Package samplingtest runs the collector of a database in a test, and tells
// what its frames hold.
package samplingtest
