package worker

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// exchanged is an exchange over a network with these delays, with a clock that is ahead
// by offset.
func exchanged(at time.Time, offset, there, inside, back time.Duration) exchange {
	return exchange{
		sent: at.Add(offset), received: at.Add(there), answered: at.Add(there + inside),
		returned: at.Add(offset + there + inside + back),
	}
}

// The offset is exact where both ways take the same time, and otherwise known to within
// half of the round trip.
func TestExchange(t *testing.T) {
	base := time.Now()
	rapid.Check(t, func(t *rapid.T) {
		delay := func(name string) time.Duration {
			return time.Duration(rapid.Int64Range(0, int64(10*time.Second)).Draw(t, name))
		}
		offset := time.Duration(rapid.Int64Range(-int64(time.Hour), int64(time.Hour)).Draw(t, "offset"))
		there, inside, back := delay("there"), delay("inside"), delay("back")
		e := exchanged(base, offset, there, inside, back)
		if got := e.roundTrip(); got != there+back {
			t.Errorf("round trip %s, want %s", got, there+back)
		}
		if wrong := (e.offset() - offset).Abs(); wrong > e.roundTrip()/2+1 {
			t.Errorf("offset %s, want %s, with a round trip of %s", e.offset(), offset, e.roundTrip())
		}
		if same := exchanged(base, offset, there, inside, there); (same.offset() - offset).Abs() > 1 {
			t.Errorf("offset %s, want %s", same.offset(), offset)
		}
	})
}

// Exchanges that waited, on a busy machine or in a queue of the network, do not count
// while there is a faster one among the last eight.
func TestFastestExchangeCounts(t *testing.T) {
	c := newClock()
	if c.state() != nil {
		t.Error("a state without an exchange")
	}
	now := time.Now()
	const ahead = 500 * time.Millisecond
	for range 3 {
		c.add(exchanged(now, ahead, 300*time.Millisecond, 0, 0)) // looks like 350 ms
	}
	c.add(exchanged(now, ahead, time.Millisecond, time.Second, time.Millisecond))
	for range compared - 1 {
		c.add(exchanged(now, ahead, 0, 0, 300*time.Millisecond)) // looks like 650 ms
	}
	if s := c.state(); s.OffsetMs != 500 || s.RoundTripMs != 2 || s.DriftMs != 0 {
		t.Errorf("%+v", s)
	}
	if offset, known := c.offset(); !known || offset != ahead {
		t.Errorf("offset %s", offset)
	}
	c.add(exchanged(now, ahead, 0, 0, 300*time.Millisecond))
	if s := c.state(); s.OffsetMs != 650 {
		t.Errorf("the fastest of the last eight, not the one before: %+v", s)
	}
}

// The start is converted by the offset at that time; what the offset changes by after it
// is drift.
func TestDriftCountsFromTheStart(t *testing.T) {
	c := newClock()
	now := time.Now()
	c.now = func() time.Time { return now.Add(time.Minute) } // a minute ahead
	c.add(exchanged(now, time.Minute, time.Millisecond, 0, time.Millisecond))
	if until := c.until(now.Add(2 * time.Second)); until != 2*time.Second {
		t.Errorf("t0 is in %s", until)
	}
	if s := c.state(); s.DriftMs != 0 || s.OffsetMs != 60_000 {
		t.Errorf("%+v", s)
	}
	for range compared {
		c.add(exchanged(now, time.Minute+20*time.Millisecond, time.Millisecond, 0, time.Millisecond))
	}
	if s := c.state(); s.DriftMs != 20 || s.OffsetMs != 60_020 {
		t.Errorf("%+v", s)
	}
	// A repeated start signal is converted as the first.
	if until := c.until(now.Add(2 * time.Second)); until != 2*time.Second {
		t.Errorf("the start is moved: in %s", until)
	}
}

// The clock does not follow the machine's.
func TestClockIsMonotonic(t *testing.T) {
	c := newClock()
	first := c.now()
	time.Sleep(20 * time.Millisecond)
	if d := c.now().Sub(first); d < 20*time.Millisecond || d > time.Minute {
		t.Errorf("%s passed", d)
	}
	if off := time.Since(c.now()).Abs(); off > time.Minute {
		t.Errorf("the clock is off by %s", off)
	}
}
