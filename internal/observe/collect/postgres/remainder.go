package postgres

// pg_stat_statements times a statement until its executor ends. The commit that follows,
// with the flush of the write-ahead log, is not in any statement's time; neither are
// parsing, planning (by default) and sending over the network. The server's active_time
// includes all of them, so that statement times and this remainder add up to the time in
// the database.
var (
	outside    = struct{ digest, text string }{"outside", "outside of statements: commits, parsing, planning, sending"}
	everything = struct{ digest, text string }{"all", "all statements and commits: without pg_stat_statements they cannot be separated"}
)

// remainder is the active time outside of statements over a run, in ms. The server counts
// a statement at once, but active time up to a second or a transaction later. So a
// negative difference is subtracted from later ones.
type remainder struct{ sum, sent float64 }

// add adds the difference of one second and returns the time to send.
func (r *remainder) add(ms float64) float64 {
	r.sum += ms
	if r.sum <= r.sent {
		return 0
	}
	now := r.sum - r.sent
	r.sent = r.sum
	return now
}
