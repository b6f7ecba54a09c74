package arrivals

import (
	"testing"
	"time"
)

const ms = time.Millisecond

// beatUpTo beats in time until end.
func beatUpTo(s *Stalls, end time.Duration) {
	for t := s.lastBeat; t <= end; t += beatEvery {
		s.beat(t)
	}
}

// Without a stall, all lateness is queueing behind the system.
func TestLateWithoutStallIsQueueing(t *testing.T) {
	var s Stalls
	beatUpTo(&s, 5000*ms)
	if got := s.lagOf(3000*ms, 5005*ms); got != 0 {
		t.Errorf("%s of a slow system's queue are charged to the generator", got)
	}
}

// A stall leaves a backlog that is charged to the generator until a VU waits for its slot
// again.
func TestBacklogOfAStallIsChargedToTheGenerator(t *testing.T) {
	var s Stalls
	beatUpTo(&s, 1000*ms)
	now := 6000 * ms // stopped for 5 s
	if got := s.lagOf(1200*ms, now); got != 4800*ms {
		t.Errorf("the first slot after the stall: %s, want 4.8 s", got)
	}
	// Two seconds later the backlog has not drained: a slot due after the stall.
	beatUpTo(&s, 8000*ms)
	if got := s.lagOf(6500*ms, 8000*ms); got != 1500*ms {
		t.Errorf("a slot behind the backlog: %s, want 1.5 s", got)
	}
	s.onTime()
	beatUpTo(&s, 8108*ms)
	if got := s.lagOf(8100*ms, 8108*ms); got != 0 {
		t.Errorf("after the backlog has drained: %s, want 0", got)
	}
}

// If slots start later than the length of the stall, the system does not keep up: it is
// charged with all of their delay that the stall does not explain.
func TestQueueOfASlowSystemAfterAStall(t *testing.T) {
	var s Stalls
	beatUpTo(&s, 1000*ms)
	if got := s.lagOf(1005*ms, 1040*ms); got != 35*ms {
		t.Errorf("in the backlog: %s, want 35 ms", got)
	}
	beatUpTo(&s, 3000*ms)
	if got := s.lagOf(2500*ms, 3000*ms); got != 40*ms+stallAfter {
		t.Errorf("half a second late after a stall of 40 ms: %s, want no more than the stall", got)
	}
	beatUpTo(&s, 4000*ms) // a stall of 100 ms, while the system is behind
	if got := s.lagOf(3500*ms, 4100*ms); got != 100*ms {
		t.Errorf("queued before a second stall: %s, want no more than the second", got)
	}
	beatUpTo(&s, 4600*ms)
	if got := s.lagOf(4110*ms, 4600*ms); got != 40*ms+stallAfter {
		t.Errorf("due after a second stall: %s, want no more than the first", got)
	}
	s.onTime()
	beatUpTo(&s, 4620*ms)
	if got := s.lagOf(4615*ms, 4625*ms); got != 0 {
		t.Errorf("after the end of the queue: %s, want 0", got)
	}
}

// A generator that was stopped gets little CPU when it goes on, so that further stalls
// follow: slots that fell due while it was stopped remain its own.
func TestStopOnABusyMachine(t *testing.T) {
	var s Stalls
	beatUpTo(&s, 1000*ms)
	s.check(6000 * ms) // stopped for 5 s
	s.beat(6050 * ms)
	// The burst keeps all VUs busy: a slot is later than the stop was long.
	if got := s.lagOf(1010*ms, 6200*ms); got < 5*time.Second {
		t.Errorf("a slot due at the start of the stop: %s, want at least 5 s", got)
	}
	s.beat(6300 * ms)
	for due := 1100 * ms; due < 6000*ms; due += 100 * ms {
		if now := due + 5400*ms; s.lagOf(due, now) < 5*time.Second {
			t.Errorf("a slot due at %s, in the stop, and taken at %s: %s, want at least 5 s", due, now, s.lagOf(due, now))
		}
	}
}

// A stall in an overload adds its own length, and only to the slots that wait in it.
func TestStallInAnOverload(t *testing.T) {
	var s Stalls
	beatUpTo(&s, 1000*ms)
	if got := s.lagOf(300*ms, 1000*ms); got != 0 {
		t.Errorf("a slot in the overload: %s, want 0", got)
	}
	now := 1100 * ms
	if got := s.lagOf(1050*ms, now); got != 50*ms {
		t.Errorf("a slot due in the stall: %s, want 50 ms", got)
	}
	if got := s.lagOf(400*ms, now); got != 100*ms {
		t.Errorf("a slot that was queued before the stall: %s, want the stall", got)
	}
	beatUpTo(&s, 2000*ms)
	if got := s.lagOf(1150*ms, 2000*ms); got != 0 {
		t.Errorf("a slot due after the stall: %s, want 0", got)
	}
}

// A late VU registers the stall before the next heartbeat, once.
func TestFirstCallAfterAStallRegistersIt(t *testing.T) {
	var s Stalls
	beatUpTo(&s, 1000*ms)
	s.check(1500 * ms)
	s.beat(1501 * ms)
	if len(s.past) != 1 || s.past[0] != (Stall{From: 1000 * ms, To: 1500 * ms, Delay: 500 * ms}) || s.backlogStall != 500*ms {
		t.Errorf("stalls %v, of %s", s.past, s.backlogStall)
	}
}

// A transaction is cleared of the part of each stall within it, at most the longest
// delay per wake-up.
func TestShareOfASpan(t *testing.T) {
	var s Stalls
	beatUpTo(&s, 1000*ms)
	s.beat(1500 * ms)
	beatUpTo(&s, 2000*ms)
	s.beat(2100 * ms)
	beatUpTo(&s, 3000*ms)
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
		if got := s.Share(c.from, c.to, nil, c.wakeups, 3000*ms); got != c.want {
			t.Errorf("from %s to %s with %d wake-ups: %s, want %s", c.from, c.to, c.wakeups, got, c.want)
		}
	}
	// A stall that has not been registered yet counts.
	if got := s.Share(3000*ms, 3400*ms, nil, 3, 3500*ms); got != 400*ms {
		t.Errorf("in a stall that is not over: %s", got)
	}
	if got := s.unreported(); len(got) != 3 {
		t.Errorf("%d stalls reported, want 3", len(got))
	}
	if got := s.unreported(); len(got) != 0 {
		t.Errorf("%v reported twice", got)
	}
}

// What a stall adds to a pause is a part of the pause.
func TestShareOfASpanWithPauses(t *testing.T) {
	s := StalledFor(Stall{From: 1000 * ms, To: 1500 * ms}, Stall{From: 2000 * ms, To: 2100 * ms})
	for name, c := range map[string]struct {
		pauses []Pause
		want   time.Duration
	}{
		"none":                      {nil, 600 * ms},
		"between the stalls":        {[]Pause{{From: 1500 * ms, To: 2000 * ms}}, 600 * ms},
		"one stall in a pause":      {[]Pause{{From: 900 * ms, To: 1500 * ms}}, 100 * ms},
		"a pause begins in a stall": {[]Pause{{From: 1400 * ms, To: 1900 * ms}}, 500 * ms},
		"a pause ends in a stall":   {[]Pause{{From: 900 * ms, To: 1100 * ms}}, 500 * ms},
		"two pauses":                {[]Pause{{From: 900 * ms, To: 1500 * ms}, {From: 2050 * ms, To: 2100 * ms}}, 50 * ms},
		"all of it":                 {[]Pause{{From: 0, To: 3000 * ms}}, 0},
	} {
		if got := s.Share(900*ms, 2200*ms, c.pauses, 3, 3000*ms); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	// The longest delay is that of a stall outside of the pauses.
	if got := s.Share(900*ms, 2200*ms, []Pause{{From: 900 * ms, To: 1500 * ms}}, 1, 3000*ms); got != 100*ms {
		t.Errorf("one wake-up: %s, want 100 ms", got)
	}
}

// Consecutive late echoes mean that the generator lacks CPU: their time counts once,
// and a long wait is cleared of one delay per wake-up, not of all.
func TestLateEchoes(t *testing.T) {
	var s Stalls
	beatUpTo(&s, 1000*ms)
	for sent := 1000 * ms; sent < 3000*ms; sent += 50 * ms {
		s.echo(sent, sent+60*ms)
	}
	if got := s.Share(1000*ms, 3000*ms, nil, 3, 1010*ms); got != 180*ms {
		t.Errorf("a wait of 2 s is cleared of %s, want 180 ms", got)
	}
	total := time.Duration(0)
	for _, stall := range s.unreported() {
		total += stall.To - stall.From
	}
	if total != 2010*ms {
		t.Errorf("stalled for %s, want 2.01 s", total)
	}
	s.echo(4000*ms, 4025*ms) // in time
	if got := s.unreported(); len(got) != 0 {
		t.Errorf("an echo in time is a stall: %v", got)
	}
}

// A byte comes back through the pipe, and an idle generator reads it in time.
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
	e.send(time.Since(t0)) // after stop it does nothing, and does not block
}

// The stalls kept are bounded, and each stall is reported once.
func TestStallsAreBounded(t *testing.T) {
	var s Stalls
	reported := 0
	for now := time.Duration(0); now < 3*maxStalls*30*ms; now += 30 * ms {
		s.beat(now)
		reported += len(s.unreported())
	}
	if len(s.past) > maxStalls || reported != 3*maxStalls-1 {
		t.Errorf("%d kept, %d reported", len(s.past), reported)
	}
}
