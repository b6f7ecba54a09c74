package collect

import "time"

// Seconds numbers the seconds of one run. It reads the wall clock once and the monotonic
// clock from then on, so that no second is skipped, repeated or prolonged when the wall
// clock is set.
type Seconds struct {
	zero time.Time // start of second 0, with a monotonic reading
	unix int64     // label of second 0, in unix seconds
}

// NewSeconds returns a numbering whose second 0 is the wall clock second that contains
// now. now must carry a monotonic reading, as the result of time.Now does.
func NewSeconds(now time.Time) Seconds {
	return Seconds{zero: now.Add(-time.Duration(now.Nanosecond())), unix: now.Unix()}
}

// Index returns the number of the second that contains t; it is negative before second 0.
func (s Seconds) Index(t time.Time) int64 {
	since := t.Sub(s.zero)
	if since < 0 {
		return -1 - int64((-since-1)/time.Second)
	}
	return int64(since / time.Second)
}

// Unix returns the label of second i, in unix seconds.
func (s Seconds) Unix(i int64) int64 { return s.unix + i }

// Begin returns the start of second i.
func (s Seconds) Begin(i int64) time.Time { return s.zero.Add(time.Duration(i) * time.Second) }

// Sleep waits until t or until done is closed, and reports whether t was reached.
func Sleep(done <-chan struct{}, t time.Time) bool {
	wait := time.Until(t)
	if wait <= 0 {
		select {
		case <-done:
			return false
		default:
			return true
		}
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-done:
		return false
	case <-timer.C:
		return true
	}
}
