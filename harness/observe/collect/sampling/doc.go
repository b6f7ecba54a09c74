// Package sampling is what the collectors of all database families share: ten
// samples a second of what every session does or waits for, counters read at the end
// of each second, and a reconnect after a lost connection.
//
// Input: a Database, which asks one server. Output: one frame a second
// (metric.DBSession and its neighbours) and the closing frame.
package sampling
