// Package neighbour watches, for the abort conditions of a profile, services that share
// something with the system under test, such as its database: how many requests they get,
// and how many of these fail.
//
// Input: the conditions. A neighbour is read at a URL: of its metrics in Prometheus' text
// format, whose counters are read every second, or of its health, which is requested once a
// second. Output: one frame per second with the increases; a second in which the metrics
// could not be read has no values. A health request without a good answer in time is one that
// failed. Nothing but these requests is sent.
package neighbour
