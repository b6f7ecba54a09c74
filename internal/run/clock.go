package run

import "time"

// watchClock records the largest change of the wall clock since t0. Schedules and
// latencies use the monotonic clock, which nobody sets; persist lag compares wall
// clocks.
func (r *run) watchClock(now time.Time) {
	step := now.Round(0).Sub(r.t0.Round(0)) - now.Sub(r.t0)
	if step.Abs() > r.clockStep.Abs() {
		r.clockStep = step
	}
}

// clockStepMs is the largest change of the wall clock in ms, for the record.
func (r *run) clockStepMs() *float64 {
	r.watchClock(time.Now())
	ms := float64(r.clockStep.Round(time.Millisecond)) / float64(time.Millisecond)
	return &ms
}
