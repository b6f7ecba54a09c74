package k6

import (
	"time"

	"assay/harness/load/arrivals"
)

// maxRedirects is how many redirects k6 follows unless it is told otherwise.
const maxRedirects = 10

// vu is what is known of a VU's current transaction.
type vu struct {
	begun     bool
	second    int64 // unix second in which it was scheduled
	stalls    *arrivals.Stalls
	last      time.Duration // when its last request ended, or else it began; since t0
	failed    bool          // a request failed
	unexcused bool          // one that failed not for the generator
	requests  int           // that have ended
	redirects int           // in a row
}

// requestEnd is how a request ended.
type requestEnd struct {
	failed  bool
	excused bool          // it failed without an answer while the generator stood still
	stood   time.Duration // for how long the generator stood still while it was open
}

// vu gives the VU of a name.
func (a *aggregate) vu(name string) *vu {
	v := a.vus[name]
	if v == nil {
		v = &vu{}
		a.vus[name] = v
	}
	return v
}

func (v *vu) begin(second int64, t *arrivals.Begun) {
	*v = vu{begun: true, second: second, stalls: t.Stalls, last: t.Due + t.Lag + t.Queueing}
}

func (v *vu) end() { *v = vu{} }

// excused tells whether what failed did so while the generator stood still.
func (v *vu) excused() bool { return v.failed && !v.unexcused }

// request takes a request that has ended. One that a target leads in circles has
// failed: k6 gives it the last redirect as its answer, and calls that a success.
func (v *vu) request(end time.Duration, r requestEnd, redirect bool) {
	v.last = end
	v.requests++
	if redirect {
		v.redirects++
	} else {
		v.redirects = 0
	}
	circles := v.redirects > maxRedirects
	v.failed = v.failed || r.failed || circles
	v.unexcused = v.unexcused || r.failed && !r.excused || circles
}
