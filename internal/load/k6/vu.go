package k6

import (
	"time"

	"assay.dev/assay/internal/load/arrivals"
)

// maxRedirects is how many redirects k6 follows by default.
const maxRedirects = 10

// vu is the state of a VU's current transaction.
type vu struct {
	scenario      string // of its transactions; empty: it has had none
	inTransaction bool
	second        int64 // unix second in which it was scheduled
	stalls        *arrivals.Stalls
	last          time.Duration // end of its last request, or else its begin; since t0
	failed        bool          // a request failed
	systemFailed  bool          // a request failed, and not for a stall of the generator
	classified    bool          // the script, or the module k6/x/assay/sql, has named the class of an error
	requests      int           // that have ended
	redirects     int           // in a row
	pauses        []arrivals.Pause
	violated      []int // SLOs that it, or one of its requests, violates
	erred         bool  // it has an error of a class
	class         int   // series of the class of its first error
}

// requestResult is the outcome of a request.
type requestResult struct {
	failed      bool
	byGenerator bool          // it failed without a response while the generator stalled, or had no memory for the response
	stalled     time.Duration // time for which the generator stalled while it was open
}

// vu returns the VU with this name.
func (a *aggregate) vu(name string) *vu {
	v := a.vus[name]
	if v == nil {
		v = &vu{}
		a.vus[name] = v
	}
	return v
}

func (v *vu) begin(second int64, t *arrivals.TransactionStart) {
	*v = vu{scenario: t.Scenario, inTransaction: true, second: second, stalls: t.Stalls, last: t.Due + t.Lag + t.Queueing, violated: v.violated[:0], pauses: v.pauses[:0]}
}

// paused adds a pause of the script, which is not a part of what it measures.
func (v *vu) paused(p arrivals.Pause) {
	v.pauses = append(v.pauses, p)
	v.last = max(v.last, p.To)
}

func (v *vu) end() { *v = vu{scenario: v.scenario, violated: v.violated[:0], pauses: v.pauses[:0]} }

// failedByGenerator reports whether a request failed, and the generator is to blame for each
// that did.
func (v *vu) failedByGenerator() bool { return v.failed && !v.systemFailed }

// request counts a request that has ended. One in a redirect loop has failed: k6
// returns the last redirect as its response, and counts it as a success.
func (v *vu) request(end time.Duration, r requestResult, redirect bool) (loop bool) {
	v.last = end
	v.requests++
	if redirect {
		v.redirects++
	} else {
		v.redirects = 0
	}
	loop = v.redirects > maxRedirects
	v.failed = v.failed || r.failed || loop
	v.systemFailed = v.systemFailed || r.failed && !r.byGenerator || loop
	return loop
}
