// Package scrape reads endpoints that expose metrics in Prometheus' text format:
// those of the service under test, and those that a profile names.
//
// Input: a URL, and the hosts beside loopback that may be asked. Output: the
// exposition as bytes, families of it, or the value of one metric.
package scrape
