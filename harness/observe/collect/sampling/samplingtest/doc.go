// Package samplingtest runs the collector of a database in a test and sums up its frames.
package samplingtest
