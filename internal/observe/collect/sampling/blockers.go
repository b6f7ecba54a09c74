package sampling

import "assay.dev/assay/internal/observe/metric"

// Idle is a session that holds row locks in an open transaction but runs no statement.
var Idle = Session{Event: "idle", Class: "idle"}

// Blockers returns one point per activity of the sessions that hold row locks: the
// number of sessions that wait for them.
func Blockers(waiters map[Session]int) []metric.Point {
	var points []metric.Point
	for holder, n := range waiters {
		points = append(points, metric.CounterPoint(holder.Series(metric.DBBlocker), float64(n)))
	}
	return points
}
