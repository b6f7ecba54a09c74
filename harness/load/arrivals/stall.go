package arrivals

import (
	"sync"
	"sync/atomic"
	"time"
)

// Times of the heartbeat that notices when the generator itself stands still.
const (
	beatEvery = 10 * time.Millisecond
	// stallAfter is the gap between beats from which the generator counts as
	// stalled: one beat missed and a half, more than a scheduler's usual jitter.
	stallAfter = 25 * time.Millisecond
)

// stalls tells delays that the generator caused by standing still (stopped,
// starved of CPU, a long collection) from queueing behind a slow system. Both
// leave slots to be taken late by a VU that was busy before.
//
// A stall with idle VUs at its start leaves a backlog that is the generator's
// until a VU waits for its slot again. Slots of that backlog are served in
// order, slot j at (end of stall) + j/mu for one due at (its start) + j/lambda:
// as long as the system serves faster than slots fall due (mu > lambda) none is
// later than the stall was long. Where one is, the system is what is slow, and
// the rest of the queue is its own. A stall while every VU was busy adds at most
// its own length to what was queued already; only slots that fell due in it are
// charged, so that a hiccup in a long overload does not turn the system's
// failure into the generator's.
//
// Times are monotonic, since t0.
type stalls struct {
	idle atomic.Int64 // VUs that wait: for the lead, or for their slot

	mu       sync.Mutex
	beat     time.Duration // last heartbeat
	idleThen bool          // whether a VU was idle at it
	from, to time.Duration // the last stall
	backlog  bool          // its backlog has not drained yet
	debt     time.Duration // length of the stalls that made the backlog
}

// check is called by the heartbeat and by every VU that takes a slot late after
// having been busy: the one that comes first after a stall registers it.
func (s *stalls) check(now time.Duration, heartbeat bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if gap := now - s.beat; gap > stallAfter {
		s.from, s.to = s.beat, now
		if s.idleThen && !s.backlog {
			s.backlog, s.debt = true, 0
		}
		s.debt += gap
		s.beat = now
		s.idleThen = s.idle.Load() > 0
		return
	}
	if heartbeat {
		s.beat = now
		s.idleThen = s.idle.Load() > 0
	}
}

// onTime tells that a VU has taken a slot before it was due: whatever backlog
// there was has drained.
func (s *stalls) onTime() {
	s.mu.Lock()
	s.backlog = false
	s.mu.Unlock()
}

// blame is the part of the delay of a slot, due then and taken late at now by
// a VU that had been busy, that the generator caused.
func (s *stalls) blame(due, now time.Duration) time.Duration {
	s.check(now, false)
	s.mu.Lock()
	defer s.mu.Unlock()
	late := now - due
	if s.backlog && late > s.debt+stallAfter {
		s.backlog = false
	}
	switch {
	case s.backlog:
		return late
	case s.to > 0 && due >= s.from && due < s.to:
		return min(now, s.to) - due
	}
	return 0
}
