package arrivals

import (
	"testing"
	"time"
)

const ms = time.Millisecond

// beatUpTo lets the heart beat without a miss, with or without idle VUs.
func beatUpTo(s *Stalls, end time.Duration, idle int64) {
	s.idle.Store(idle)
	for t := s.beat; t <= end; t += beatEvery {
		s.check(t, true)
	}
}

// Without a stall, being late is queueing: the system's.
func TestQueueingIsTheSystems(t *testing.T) {
	var s Stalls
	beatUpTo(&s, 5000*ms, 0)
	if got := s.blame(3000*ms, 5005*ms); got != 0 {
		t.Errorf("the generator is blamed for %s of a slow system's queue", got)
	}
}

// A stall with idle VUs leaves a backlog that is the generator's until a VU
// waits for its slot again.
func TestBacklogOfAStallIsTheGenerators(t *testing.T) {
	var s Stalls
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
	var s Stalls
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
	var s Stalls
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
	var s Stalls
	beatUpTo(&s, 1000*ms, 2)
	s.idle.Store(0)
	s.check(1500*ms, false)
	s.check(1501*ms, true)
	if len(s.past) != 1 || s.past[0] != (Stall{1000 * ms, 1500 * ms, 500 * ms}) || s.debt != 500*ms {
		t.Errorf("stalls %v, debt %s", s.past, s.debt)
	}
}

// What a transaction is cleared of is what of each stall falls into it, at most the
// longest delay for each of its wake-ups.
func TestShareOfASpan(t *testing.T) {
	var s Stalls
	beatUpTo(&s, 1000*ms, 1)
	s.check(1500*ms, true)
	beatUpTo(&s, 2000*ms, 1)
	s.check(2100*ms, true)
	beatUpTo(&s, 3000*ms, 1)
	for _, c := range []struct {
		from, to time.Duration
		wakeups  int
		want     time.Duration
	}{
		{0, 900 * ms, 3, 0},
		{900 * ms, 1100 * ms, 3, 100 * ms},
		{1100 * ms, 1200 * ms, 3, 100 * ms},
		{1400 * ms, 2050 * ms, 3, 150 * ms},
		{0, 3000 * ms, 3, 600 * ms},
		{0, 3000 * ms, 1, 500 * ms},
		{1600 * ms, 3000 * ms, 1, 100 * ms},
		{2100 * ms, 3000 * ms, 3, 0},
		{1200 * ms, 1200 * ms, 3, 0},
	} {
		if got := s.Share(c.from, c.to, c.wakeups, 3000*ms); got != c.want {
			t.Errorf("from %s to %s with %d wake-ups: %s, want %s", c.from, c.to, c.wakeups, got, c.want)
		}
	}
	// One that nobody has noticed yet counts for who asks after it.
	if got := s.Share(3000*ms, 3400*ms, 3, 3500*ms); got != 400*ms {
		t.Errorf("in a stall that is not over: %s", got)
	}
	if got := s.news(); len(got) != 3 {
		t.Errorf("%d stalls told, want 3", len(got))
	}
	if got := s.news(); len(got) != 0 {
		t.Errorf("%v told twice", got)
	}
}

// Echoes that come late one after the other are a generator that is starved: all of
// that time counts once, and a long wait is cleared of a few delays, not of all.
func TestLateEchoes(t *testing.T) {
	var s Stalls
	beatUpTo(&s, 1000*ms, 1)
	for sent := 1000 * ms; sent < 3000*ms; sent += 50 * ms {
		s.echo(sent, sent+60*ms)
	}
	if got := s.Share(1000*ms, 3000*ms, 3, 1010*ms); got != 180*ms {
		t.Errorf("a wait of 2 s is cleared of %s, want 180 ms", got)
	}
	total := time.Duration(0)
	for _, stall := range s.news() {
		total += stall.To - stall.From
	}
	if total != 2010*ms {
		t.Errorf("stood still for %s, want 2.01 s", total)
	}
	s.echo(4000*ms, 4025*ms) // in time
	if got := s.news(); len(got) != 0 {
		t.Errorf("an echo in time is a stall: %v", got)
	}
}

// An echo comes back through a pipe, and a generator at rest takes it up in time.
func TestEcho(t *testing.T) {
	var s Stalls
	t0 := time.Now()
	e := startEcho(t0, &s)
	if e == nil {
		t.Fatal("no pipe")
	}
	e.send(1)
	for e.sent.Load() != 0 {
		time.Sleep(time.Millisecond)
	}
	e.stop()
	e.send(time.Since(t0)) // does nothing any more, and hangs nowhere
}

// However many stalls there are, what is remembered is bounded, and each is told once.
func TestStallsAreBounded(t *testing.T) {
	var s Stalls
	told := 0
	for now := time.Duration(0); now < 3*maxStalls*30*ms; now += 30 * ms {
		s.check(now, true)
		told += len(s.news())
	}
	if len(s.past) > maxStalls || told != 3*maxStalls-1 {
		t.Errorf("%d remembered, %d told", len(s.past), told)
	}
}
