// Package synthetic makes records of runs that never took place, for the tests
// of this wing: frames as the workers and the collector would send them, of a
// system whose every latency and outcome the test has chosen.
package synthetic
