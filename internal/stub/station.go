package stub

import (
	"math"
	"time"
)

// work is the work on one call.
type work struct {
	arrived time.Time
	latency time.Duration // without the factor of a phase
	done    chan struct{} // closed at its end
	left    bool          // the caller has left
	took    time.Duration // duration of the work alone, once it has begun
}

// station works on the calls of an endpoint, in the order of their arrival, on a number of
// slots. Its owner holds the lock.
//
// The next call begins at the instant at which the one before was to end, and not when its
// timer was noticed: late timers delay answers, but take nothing from the capacity.
type station struct {
	slots   int     // 0: any number
	factor  float64 // on latencies of work that begins now
	working int
	queue   []*work
	// finish is called when work was to end at an instant; it takes the lock, and calls end.
	finish func(w *work, end time.Time)
}

// put begins work, or queues it.
func (s *station) put(w *work) {
	if s.free() {
		s.begin(w, w.arrived)
		return
	}
	s.queue = append(s.queue, w)
}

func (s *station) free() bool { return s.slots == 0 || s.working < s.slots }

func (s *station) begin(w *work, at time.Time) {
	s.working++
	w.took = time.Duration(min(float64(w.latency)*s.factor, math.MaxInt64/2))
	end := at.Add(w.took)
	time.AfterFunc(time.Until(end), func() { s.finish(w, end) })
}

// end ends work, and begins what waits.
func (s *station) end(w *work, at time.Time) {
	s.working--
	close(w.done)
	s.next(at)
}

// next begins what waits, at an instant, as far as there are slots.
func (s *station) next(at time.Time) {
	n := 0
	for ; n < len(s.queue) && s.free(); n++ {
		w := s.queue[n]
		s.queue[n] = nil
		begin := at
		if w.arrived.After(at) {
			begin = w.arrived
		}
		s.begin(w, begin)
	}
	if s.queue = s.queue[n:]; len(s.queue) == 0 {
		s.queue = nil // its array would grow for ever
	}
}

// change sets the slots and the factor.
func (s *station) change(slots int, factor float64, now time.Time) {
	s.slots, s.factor = slots, factor
	s.next(now)
}
