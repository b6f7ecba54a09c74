package arrivals

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.k6.io/k6/metrics"
)

// Times of the heartbeat that detects when the generator itself stalls.
const (
	beatEvery = 10 * time.Millisecond
	// stallAfter is the gap between beats, or the delay of an echo, above which the
	// generator counts as stalled: one and a half beats missed, more than a scheduler's
	// usual jitter.
	stallAfter = 25 * time.Millisecond
)

// Stalls separates delays that the generator caused by a stall (process stopped, lack
// of CPU, a long garbage collection) from queueing behind a slow system. In both cases
// VUs that have been busy take slots late.
//
// A stall is detected in two ways: by the heartbeat, if two beats are too far apart,
// and by its echo, if data from the network is read late: a byte goes through a pipe
// and wakes its reader in the same way as a response wakes its VU. When a thousand
// goroutines wait for a CPU, timers still fire in time, but responses wait in the run
// queue.
//
// A stall with idle VUs at its start leaves a backlog that counts as the
// generator's until a VU waits for its slot again. Slots of that backlog are
// served in order, slot j, due at (start of stall) + j/lambda, at (end of stall) +
// j/mu: as long as the system serves faster than slots fall due (mu > lambda) no slot
// is later than the length of the stall. If one is, the system is slow, and the rest
// of the queue counts as the system's. A stall while every VU was busy adds at most
// its own length to an existing queue; only slots that fell due during it are charged
// to the generator, so that a short stall in a long overload does not turn the
// system's failure into the generator's.
//
// Times are monotonic, since t0.
type Stalls struct {
	idle atomic.Int64 // VUs that wait for the lead or for their slot

	mu           sync.Mutex
	lastBeat     time.Duration
	idleAtBeat   bool          // whether a VU was idle at the last beat
	past         []Stall       // in order; lagOf uses the last
	reported     int           // how many of past have been reported
	backlog      bool          // the last stall's backlog has not drained yet
	backlogStall time.Duration // length of the stalls that made the backlog
}

// Stall is a span in which the generator stalled, since t0. Spans do not overlap;
// Delay is how long a wake-up took at its end, which is longer than the span where
// an earlier stall covers the rest.
type Stall struct {
	From, To, Delay time.Duration
	Scenario        string // of k6, whose executor noticed it; set when it is reported
}

// GetSamples is empty: only our output reads it.
func (Stall) GetSamples() []metrics.Sample { return nil }

// maxStalls bounds the stalls that are kept. At one stall in two beats they reach
// back twenty minutes, longer than a transaction may take.
const maxStalls = 1 << 16

// beat is called by the heartbeat. It registers a stall if the last beat is too long
// ago.
func (s *Stalls) beat(now time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.beatLocked(now)
}

// check beats if a beat is overdue: whoever is the first to run after a stall registers
// it, which may be a VU or the output rather than the heartbeat.
func (s *Stalls) check(now time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now-s.lastBeat > stallAfter {
		s.beatLocked(now)
	}
}

func (s *Stalls) beatLocked(now time.Duration) {
	if now-s.lastBeat > stallAfter {
		s.register(s.lastBeat, now)
	}
	s.lastBeat = now
	s.idleAtBeat = s.idle.Load() > 0
}

// echo registers a stall if a byte was read long after it was sent.
func (s *Stalls) echo(sent, read time.Duration) {
	if read-sent <= stallAfter {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.register(sent, read)
}

// register adds a stall that has just ended, without the time covered by an earlier
// one.
func (s *Stalls) register(from, to time.Duration) {
	stall := Stall{From: from, To: to, Delay: to - from}
	if n := len(s.past); n > 0 {
		stall.From = max(stall.From, s.past[n-1].To)
	}
	if stall.From >= stall.To {
		return
	}
	if s.idleAtBeat && !s.backlog {
		s.backlog, s.backlogStall = true, 0
	}
	s.backlogStall += stall.To - stall.From
	if len(s.past) == maxStalls {
		dropped := maxStalls / 2
		s.past = append(s.past[:0], s.past[dropped:]...)
		s.reported = max(0, s.reported-dropped)
	}
	s.past = append(s.past, stall)
}

// onTime is called when a VU has taken a slot before it was due: any backlog has
// drained.
func (s *Stalls) onTime() {
	s.mu.Lock()
	s.backlog = false
	s.mu.Unlock()
}

// lagOf is the part of a slot's delay that the generator caused, for a slot that a VU
// takes late, at now, after being busy.
func (s *Stalls) lagOf(due, now time.Duration) time.Duration {
	s.check(now)
	s.mu.Lock()
	defer s.mu.Unlock()
	late := now - due
	if s.backlog && late > s.backlogStall+stallAfter {
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

// Share is the most that the generator's stalls can have added to an operation between
// two instants, less its pauses, which do not overlap: the time for which the generator
// stalled during it, but for each wake-up by the network no more than the longest delay
// among these stalls. What a stall adds to a pause is a part of the pause. It counts the
// stalls known at now, is safe for concurrent use, and is 0 for nil.
func (s *Stalls) Share(from, to time.Duration, pauses []Pause, wakeups int, now time.Duration) time.Duration {
	if s == nil || to <= from {
		return 0
	}
	s.check(now)
	s.mu.Lock()
	defer s.mu.Unlock()
	var stalled, longest time.Duration
	for i := len(s.past) - 1; i >= 0 && s.past[i].To > from; i-- {
		begin, end := max(from, s.past[i].From), min(to, s.past[i].To)
		if in := end - begin - PausedIn(pauses, begin, end); in > 0 {
			stalled += in
			longest = max(longest, s.past[i].Delay)
		}
	}
	return min(stalled, time.Duration(wakeups)*longest)
}

// unreported returns the stalls since its last call.
func (s *Stalls) unreported() []Stall {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.Clone(s.past[s.reported:])
	s.reported = len(s.past)
	return all
}

// StalledFor returns the Stalls of a generator that stalled in these spans, in order,
// for tests of other packages.
func StalledFor(spans ...Stall) *Stalls {
	for i := range spans {
		spans[i].Delay = spans[i].To - spans[i].From
	}
	return &Stalls{past: spans, lastBeat: 1 << 62}
}
