package run

import "time"

// watchClock follows by how much the wall clock was set since t0. Schedules and
// latencies count by the monotonic clock, which nobody sets; when something was
// persisted is told by the database's wall clock.
func (r *run) watchClock(now time.Time) {
	step := now.Round(0).Sub(r.t0.Round(0)) - now.Sub(r.t0)
	if step.Abs() > r.clockStep.Abs() {
		r.clockStep = step
	}
}

// clockStepMs is what the record says of it.
func (r *run) clockStepMs() *float64 {
	r.watchClock(time.Now())
	ms := float64(r.clockStep.Round(time.Millisecond)) / float64(time.Millisecond)
	return &ms
}
