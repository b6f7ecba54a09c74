package sampling

import "assay/harness/observe/metric"

// Idle is a session that holds row locks in an open transaction and runs no
// statement: the application does something else.
var Idle = Session{Event: "idle", Class: "idle"}

// Blockers makes points of the sessions that hold row locks: by what they do
// themselves, how many wait for them.
func Blockers(waiters map[Session]int) []metric.Point {
	var points []metric.Point
	for holder, n := range waiters {
		points = append(points, metric.CounterPoint(holder.Series(metric.DBBlocker), float64(n)))
	}
	return points
}
