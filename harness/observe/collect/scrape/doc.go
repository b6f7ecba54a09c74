// Package scrape reads endpoints that expose metrics in Prometheus' text format: the
// service under test, and endpoints that a profile names.
//
// Input: a URL, and the hosts that may be asked in addition to loopback. Output: the
// exposition as bytes, families of it, or the value of one metric.
package scrape
