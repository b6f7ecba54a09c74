package postgres

// pg_stat_statements counts a statement until its executor ends. The commit that
// follows, with the flush of the write-ahead log, is in no statement's time, nor
// are parsing, planning and what the network takes. The server's active_time holds it all,
// so that statement times and this rest add up to the time in the database.
var (
	outside    = struct{ digest, text string }{"outside", "outside of statements: commits, parsing, planning, sending"}
	everything = struct{ digest, text string }{"all", "all statements and commits: without pg_stat_statements they cannot be separated"}
)

// rest is that time over a run, in ms. A statement is counted at once, active
// time up to a second or a transaction later: a negative difference is subtracted
// from what comes later.
type rest struct{ sum, sent float64 }

// more adds the difference of a second, and returns what there is to send.
func (r *rest) more(ms float64) float64 {
	r.sum += ms
	if r.sum <= r.sent {
		return 0
	}
	now := r.sum - r.sent
	r.sent = r.sum
	return now
}
