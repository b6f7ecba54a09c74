package arrivals

import (
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.k6.io/k6/v2/metrics"

	"assay.dev/assay/internal/crash"
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
// A stall leaves a backlog, which delays slots until a VU waits for its slot again. Slots
// of the backlog are served in order, slot j, due at (start of stall) + j/lambda, at (end
// of stall) + j/mu: as long as the system serves faster than slots fall due (mu > lambda)
// no slot is later than the length L of the stall. Where mu < lambda a slot is later than L
// by j (1/mu - 1/lambda), as it would be without the stall. The generator is therefore
// charged with L of a slot's delay, and the system with the rest.
//
// A stall while the system is behind, so that slots wait for a VU without a stall, adds at
// most its own length to their queue; only slots that waited while it lasted are charged to
// the generator, so that short stalls in a long overload do not turn the system's failure
// into the generator's.
//
// Times are monotonic, since t0.
type Stalls struct {
	mu           sync.Mutex
	lastBeat     time.Duration
	past         []Stall       // in order
	reported     int           // how many of past have been reported
	backlog      bool          // the last stall's backlog has not drained yet
	backlogStall time.Duration // length of the stalls that made the backlog
	behind       bool          // the system was, at the last slot that a VU took
}

// Stall is a span in which the generator stalled, since t0. Spans do not overlap;
// Delay is how long a wake-up took at its end, which is longer than the span where
// an earlier stall covers the rest.
type Stall struct {
	From, To, Delay time.Duration
	Scenario        string // k6 scenario whose executor noticed the stall; set when it is reported
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
	if !s.behind {
		if !s.backlog {
			s.backlog, s.backlogStall = true, 0
		}
		s.backlogStall += stall.To - stall.From
	}
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
	s.backlog, s.behind = false, false
	s.mu.Unlock()
}

// lagOf is the part of a slot's delay that the generator caused, for a slot that a VU
// takes late, at now, after being busy.
func (s *Stalls) lagOf(due, now time.Duration) time.Duration {
	s.check(now)
	s.mu.Lock()
	defer s.mu.Unlock()
	late := now - due
	lag, _ := s.within(due, now, nil)
	if s.backlog {
		lag = max(lag, min(late, s.backlogStall+stallAfter))
	}
	s.behind = late-lag > stallAfter
	return lag
}

// within is the time between two instants, less pauses, for which the generator stalled, and
// the longest delay among these stalls.
func (s *Stalls) within(from, to time.Duration, pauses []Pause) (stalled, longest time.Duration) {
	for i := len(s.past) - 1; i >= 0 && s.past[i].To > from; i-- {
		begin, end := max(from, s.past[i].From), min(to, s.past[i].To)
		if in := end - begin - PausedIn(pauses, begin, end); in > 0 {
			stalled += in
			longest = max(longest, s.past[i].Delay)
		}
	}
	return stalled, longest
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
	stalled, longest := s.within(from, to, pauses)
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

// echo measures how late the generator reads from the network. A byte at a time
// goes through a pipe, whose reader Go's network poller wakes, as it wakes a VU
// whose response has arrived.
type echo struct {
	in, out *os.File
	sent    atomic.Int64 // when the byte in the pipe was sent, ns since t0; 0: the pipe is empty
	reading crash.Group
}

// startEcho starts the reader. If no pipe can be made it returns nil, and only the
// heartbeat detects stalls.
func startEcho(t0 time.Time, stalls *Stalls) *echo {
	e := &echo{}
	var err error
	if e.in, e.out, err = os.Pipe(); err != nil {
		return nil
	}
	e.reading.Go(func() {
		buf := make([]byte, 1)
		for {
			if _, err := e.in.Read(buf); err != nil {
				return // stopped
			}
			stalls.echo(time.Duration(e.sent.Swap(0)), time.Since(t0))
		}
	})
	return e
}

// send sends a byte, unless one is still in the pipe.
func (e *echo) send(now time.Duration) {
	if e == nil || !e.sent.CompareAndSwap(0, int64(max(now, 1))) {
		return
	}
	_, _ = e.out.Write([]byte{0}) // does not block: the pipe is empty
}

// stop ends the reader, once it has read what is in the pipe.
func (e *echo) stop() {
	if e == nil {
		return
	}
	_ = e.out.Close()
	e.reading.Wait()
	_ = e.in.Close()
}
