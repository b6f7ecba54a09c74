// Package scrape reads endpoints that expose metrics in Prometheus' text format: the
// service under test, and endpoints that a profile names.
//
// Input: a URL, and the hosts that it may name in addition to loopback. Output: the
// exposition as bytes, as metric families, or the value of one metric.
package scrape
