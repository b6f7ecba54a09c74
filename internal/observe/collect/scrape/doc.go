// Package scrape reads endpoints that expose metrics in Prometheus' text format: the
// service under test, as a single endpoint or as those of all its instances, and endpoints
// that a profile names.
//
// Input: a URL, and the hosts that it may name in addition to loopback; or a function that
// lists the URLs of a service's instances. Output: the exposition as bytes, as metric
// families, or the value of one metric; of several instances, an answer of each.
package scrape
