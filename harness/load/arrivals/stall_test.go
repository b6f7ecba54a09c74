package arrivals

import (
	"testing"
	"time"
)

const ms = time.Millisecond

// beatUpTo lets the heart beat without a miss, with or without idle VUs.
func beatUpTo(s *stalls, end time.Duration, idle int64) {
	s.idle.Store(idle)
	for t := s.beat; t <= end; t += beatEvery {
		s.check(t, true)
	}
}

// Without a stall, being late is queueing: the system's.
func TestQueueingIsTheSystems(t *testing.T) {
	var s stalls
	beatUpTo(&s, 5000*ms, 0)
	if got := s.blame(3000*ms, 5005*ms); got != 0 {
		t.Errorf("the generator is blamed for %s of a slow system's queue", got)
	}
}

// A stall with idle VUs leaves a backlog that is the generator's until a VU
// waits for its slot again.
func TestBacklogOfAStallIsTheGenerators(t *testing.T) {
	var s stalls
	beatUpTo(&s, 1000*ms, 3)
	now := 6000 * ms // stopped for 5 s
	if got := s.blame(1200*ms, now); got != 4800*ms {
		t.Errorf("the first slot after the stall is blamed for %s, want 4.8 s", got)
	}
	// Two seconds on the backlog has not drained: a slot due after the stall.
	s.idle.Store(0)
	beatUpTo(&s, 8000*ms, 0)
	if got := s.blame(6500*ms, 8000*ms); got != 1500*ms {
		t.Errorf("a slot behind the backlog is blamed for %s, want 1.5 s", got)
	}
	s.onTime()
	beatUpTo(&s, 8108*ms, 1)
	if got := s.blame(8100*ms, 8108*ms); got != 0 {
		t.Errorf("after it has drained, %s are blamed", got)
	}
}

// Where slots come later than the stall was long, the system does not keep up.
func TestASlowSystemsQueueAfterAStallIsItsOwn(t *testing.T) {
	var s stalls
	beatUpTo(&s, 1000*ms, 3)
	if got := s.blame(1005*ms, 1040*ms); got != 35*ms {
		t.Errorf("in the backlog %s are blamed, want 35 ms", got)
	}
	beatUpTo(&s, 3000*ms, 0)
	if got := s.blame(2500*ms, 3000*ms); got != 0 {
		t.Errorf("half a second late after a stall of 40 ms: %s are blamed, want none", got)
	}
	if got := s.blame(2999*ms, 3009*ms); got != 0 {
		t.Errorf("the backlog was given up, and still %s are blamed", got)
	}
}

// A stall in an overload adds its own length, to the slots due in it alone.
func TestAStallInAnOverloadChargesItsOwnSlots(t *testing.T) {
	var s stalls
	beatUpTo(&s, 1000*ms, 0)
	now := 1100 * ms
	if got := s.blame(1050*ms, now); got != 50*ms {
		t.Errorf("a slot due in the stall is blamed for %s, want 50 ms", got)
	}
	if got := s.blame(400*ms, now); got != 0 {
		t.Errorf("a slot that was queued before it is blamed for %s", got)
	}
	beatUpTo(&s, 2000*ms, 0)
	if got := s.blame(1150*ms, 2000*ms); got != 0 {
		t.Errorf("a slot due after it is blamed for %s", got)
	}
}

// A VU that is late finds the stall before the heart beats again, once.
func TestTheFirstToRunFindsTheStall(t *testing.T) {
	var s stalls
	beatUpTo(&s, 1000*ms, 2)
	s.idle.Store(0)
	s.check(1500*ms, false)
	s.check(1501*ms, true)
	if s.from != 1000*ms || s.to != 1500*ms || s.debt != 500*ms {
		t.Errorf("stall from %s to %s, debt %s", s.from, s.to, s.debt)
	}
}
