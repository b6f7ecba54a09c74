package collect

import "time"

// Seconds counts the wall seconds of one run. The wall clock is read once; from then
// on the monotonic clock counts, so that no second is lost, labelled twice or too
// long when the wall clock is set.
type Seconds struct {
	zero time.Time // start of second 0, with a monotonic reading
	unix int64     // label of second 0
}

// NewSeconds starts the count in the wall second of now, which must carry a
// monotonic reading, as time.Now's result does. Second 0 has begun already.
func NewSeconds(now time.Time) Seconds {
	return Seconds{zero: now.Add(-time.Duration(now.Nanosecond())), unix: now.Unix()}
}

// Index is the number of the second that contains t.
func (s Seconds) Index(t time.Time) int64 {
	since := t.Sub(s.zero)
	if since < 0 {
		return -1 - int64((-since-1)/time.Second)
	}
	return int64(since / time.Second)
}

// Unix is the label of second i.
func (s Seconds) Unix(i int64) int64 { return s.unix + i }

// Begin is the instant at which second i begins.
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
