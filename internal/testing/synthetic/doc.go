// Package synthetic makes records of simulated runs for the tests of judge: frames as
// workers and collector would send them, for a system whose latencies and outcomes are
// chosen by the test.
package synthetic
