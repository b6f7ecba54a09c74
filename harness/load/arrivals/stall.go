package arrivals

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.k6.io/k6/metrics"
)

// Times of the heartbeat that notices when the generator itself stands still.
const (
	beatEvery = 10 * time.Millisecond
	// stallAfter is the gap between beats, or the delay of an echo, from which the
	// generator counts as stalled: one beat missed and a half, more than a
	// scheduler's usual jitter.
	stallAfter = 25 * time.Millisecond
)

// Stalls tells delays that the generator caused by standing still (stopped,
// starved of CPU, a long collection) from queueing behind a slow system. Both
// leave slots to be taken late by a VU that was busy before.
//
// Two things notice a stall. The heartbeat does where its own beats are far
// apart. Its echo does where what comes from the network is taken up late: a byte
// that goes through a pipe, and wakes its reader by the same way as an answer wakes
// its VU. Where a thousand goroutines wait for a CPU, timers still fire in time,
// and answers wait their turn.
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
type Stalls struct {
	idle atomic.Int64 // VUs that wait: for the lead, or for their slot

	mu       sync.Mutex
	beat     time.Duration // last heartbeat
	idleThen bool          // whether a VU was idle at it
	past     []Stall       // in order; the last is the one that blame looks at
	told     int           // how many of past have been reported
	backlog  bool          // the last one's backlog has not drained yet
	debt     time.Duration // length of the stalls that made the backlog
}

// Stall is a span in which the generator stood still, since t0. Spans do not
// overlap; Delay is how long a wake-up took at its end, which is longer than the
// span where another stall covers the rest.
type Stall struct{ From, To, Delay time.Duration }

// GetSamples is empty: other outputs have no use for it.
func (Stall) GetSamples() []metrics.Sample { return nil }

// maxStalls bounds what is remembered. At one stall in two beats it reaches
// back twenty minutes, longer than a transaction may take.
const maxStalls = 1 << 16

// check is called by the heartbeat and by every VU that takes a slot late after
// having been busy: the one that comes first after a stall registers it.
func (s *Stalls) check(now time.Duration, heartbeat bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if gap := now - s.beat; gap > stallAfter {
		s.register(s.beat, now)
		s.beat = now
		s.idleThen = s.idle.Load() > 0
		return
	}
	if heartbeat {
		s.beat = now
		s.idleThen = s.idle.Load() > 0
	}
}

// echo takes how long what came from outside at one instant waited to be taken up.
func (s *Stalls) echo(sent, taken time.Duration) {
	if taken-sent <= stallAfter {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.register(sent, taken)
}

// register notes a stall that has just ended. What an earlier one covers does not
// count again.
func (s *Stalls) register(from, to time.Duration) {
	stall := Stall{From: from, To: to, Delay: to - from}
	if n := len(s.past); n > 0 {
		stall.From = max(stall.From, s.past[n-1].To)
	}
	if stall.From >= stall.To {
		return
	}
	if s.idleThen && !s.backlog {
		s.backlog, s.debt = true, 0
	}
	s.debt += stall.To - stall.From
	if len(s.past) == maxStalls {
		dropped := maxStalls / 2
		s.past = append(s.past[:0], s.past[dropped:]...)
		s.told = max(0, s.told-dropped)
	}
	s.past = append(s.past, stall)
}

// onTime tells that a VU has taken a slot before it was due: whatever backlog
// there was has drained.
func (s *Stalls) onTime() {
	s.mu.Lock()
	s.backlog = false
	s.mu.Unlock()
}

// blame is the part of the delay of a slot, due then and taken late at now by
// a VU that had been busy, that the generator caused.
func (s *Stalls) blame(due, now time.Duration) time.Duration {
	s.check(now, false)
	s.mu.Lock()
	defer s.mu.Unlock()
	late := now - due
	if s.backlog && late > s.debt+stallAfter {
		s.backlog = false
	}
	if s.backlog {
		return late
	}
	if n := len(s.past); n > 0 {
		if last := s.past[n-1]; due >= last.From && due < last.To {
			return min(now, last.To) - due
		}
	}
	return 0
}

// Share is what the generator added, at most, to what was under way from one
// instant to another and had to be woken so many times by the network: the time
// for which it stood still meanwhile, but no more than the longest such delay for
// each wake-up. It is as known at now, safe for concurrent use, and 0 for nil.
func (s *Stalls) Share(from, to time.Duration, wakeups int, now time.Duration) time.Duration {
	if s == nil || to <= from {
		return 0
	}
	s.check(now, false)
	s.mu.Lock()
	defer s.mu.Unlock()
	var stood, longest time.Duration
	for i := len(s.past) - 1; i >= 0 && s.past[i].To > from; i-- {
		if in := min(to, s.past[i].To) - max(from, s.past[i].From); in > 0 {
			stood += in
			longest = max(longest, s.past[i].Delay)
		}
	}
	return min(stood, time.Duration(wakeups)*longest)
}

// news are the stalls that it has not told before.
func (s *Stalls) news() []Stall {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.Clone(s.past[s.told:])
	s.told = len(s.past)
	return all
}

// StalledFor is a generator that stood still in these spans, in order, for tests
// of what reads them.
func StalledFor(spans ...Stall) *Stalls {
	for i := range spans {
		spans[i].Delay = spans[i].To - spans[i].From
	}
	return &Stalls{past: spans, beat: 1 << 62}
}
