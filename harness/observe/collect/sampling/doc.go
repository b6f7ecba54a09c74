// Package sampling is what collectors of databases share: ten samples a second
// of what every session does or waits for, the counters read where a second
// ends, and a connection that is made again when it was lost.
//
// Input: a Database, which asks one server. Output: one frame a second
// (metric.DBSession and its neighbours) and the closing frame.
package sampling
