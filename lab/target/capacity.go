package target

import (
	"slices"
	"time"
)

// Capacity is how many requests the service works on at once, and how that grows: like a
// fleet of instances behind one queue, with an autoscaler. The others wait, in order.
type Capacity struct {
	Slots int // requests that one instance works on at once; 0 = no limit
	// Most is how many requests all instances together work on at once; Slots, or 0 = there is
	// one instance.
	Most      int
	Boot      time.Duration // from the order of a further instance until it serves
	After     time.Duration // for how long all slots are in use before an instance is ordered
	DownAfter time.Duration // for how long an instance is not needed before it ends
	Work      time.Duration // least time for which a request holds its slot, without using CPU
}

// slots is the state of a capacity. Its methods are told the time, which never goes back.
// It is not safe for concurrent use.
//
// A further instance is ordered when all slots have been in use for After, without a break,
// since a request had to wait. It serves after Boot; until then no other is ordered, and the
// next one needs After again. The last instance ends when the others would have had a slot
// for all requests, without a break, for DownAfter.
type slots struct {
	of      Capacity
	serving int       // slots
	busy    int       // slots in use
	waiting []*waiter // in their order
	full    time.Time // since when an instance is missing; zero: none is
	ready   time.Time // when the ordered instance serves; zero: none is ordered
	quiet   time.Time // since when the last instance is not needed; zero: it is
}

// waiter is a request that has a slot once got is closed.
type waiter struct{ got chan struct{} }

func newSlots(of Capacity) *slots {
	of.Most = max(of.Most, of.Slots)
	return &slots{of: of, serving: of.Slots}
}

// enter gives the request a slot, or lets it wait for one.
func (s *slots) enter(now time.Time) *waiter {
	s.advance(now)
	w := &waiter{make(chan struct{})}
	s.waiting = append(s.waiting, w)
	s.settle(now)
	return w
}

// leave takes back the slot of a request.
func (s *slots) leave(now time.Time) {
	s.advance(now)
	s.busy--
	s.settle(now)
}

// abandon ends the waiting of a request. False: it has got a slot meanwhile, and must leave.
func (s *slots) abandon(w *waiter, now time.Time) bool {
	s.advance(now)
	i := slices.Index(s.waiting, w)
	if i < 0 {
		return false
	}
	s.waiting = slices.Delete(s.waiting, i, i+1)
	s.settle(now)
	return true
}

// next is when the capacity changes, or an instance is ordered, if no request enters or
// leaves before; zero: never.
func (s *slots) next() (at time.Time) {
	for _, t := range []time.Time{s.ready, later(s.full, s.of.After), later(s.quiet, s.of.DownAfter)} {
		if !t.IsZero() && (at.IsZero() || t.Before(at)) {
			at = t
		}
	}
	return at
}

func later(t time.Time, d time.Duration) time.Time {
	if t.IsZero() {
		return t
	}
	return t.Add(d)
}

// advance makes the changes up to now, each at its time.
func (s *slots) advance(now time.Time) {
	for at := s.next(); !at.IsZero() && !at.After(now); at = s.next() {
		switch at {
		case s.ready:
			s.serving = min(s.serving+s.of.Slots, s.of.Most)
			s.ready = time.Time{}
		case later(s.full, s.of.After):
			s.ready = at.Add(s.of.Boot)
		default:
			s.serving -= s.last()
			s.quiet = time.Time{}
		}
		s.settle(at)
	}
}

// settle gives free slots to those that wait, and notes what the autoscaler sees.
func (s *slots) settle(now time.Time) {
	for s.busy < s.serving && len(s.waiting) > 0 {
		close(s.waiting[0].got)
		s.waiting[0] = nil
		s.waiting, s.busy = s.waiting[1:], s.busy+1
	}
	note := func(since *time.Time, holds bool) {
		switch {
		case !holds:
			*since = time.Time{}
		case since.IsZero():
			*since = now
		}
	}
	ordered := !s.ready.IsZero()
	// A slot that is handed over leaves a moment in which nobody waits.
	missing := len(s.waiting) > 0 || s.busy == s.serving && !s.full.IsZero()
	note(&s.full, missing && s.serving < s.of.Most && !ordered)
	note(&s.quiet, s.serving > s.of.Slots && s.busy <= s.serving-s.last() && !ordered)
}

// last is how many slots the last instance has.
func (s *slots) last() int {
	if rest := s.serving % s.of.Slots; rest > 0 {
		return rest
	}
	return s.of.Slots
}
