// Package sampling is what the collectors of all database families share: ten samples per
// second of the active sessions and their waits, counters read at the end of each second,
// and a reconnect after a lost connection.
//
// Input: a Database, which queries one server. Output: one frame per second
// (metric.DBSession and related metrics) and the closing frame.
package sampling
