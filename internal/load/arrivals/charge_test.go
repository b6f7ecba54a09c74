package arrivals

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// stalled is a queue with several servers, the VUs, behind a generator that stalls: while it
// does, no slot is taken, and no VU notices that it is free.
type stalled struct {
	slots  []time.Duration // when they are due, in order
	stalls []Stall         // in order
	vus    int
	// service is how long the system takes for a slot.
	service func(slot int) time.Duration
}

// delays returns the delay of each slot, and how much of it Stalls charges to the generator.
func (q stalled) delays() (late, lag []time.Duration) {
	var s Stalls
	free := make([]time.Duration, q.vus)
	beat := func(until time.Duration) { // the heartbeat up to an instant
		for at := s.lastBeat + beatEvery; at <= until; at += beatEvery {
			if at = q.awake(at); at <= until {
				s.beat(at)
			}
		}
	}
	for i, due := range q.slots {
		vu := slices.Index(free, slices.Min(free))
		start := q.awake(max(due, free[vu]))
		beat(start)
		charged := start - due // as of a VU that was idle when the slot fell due
		switch {
		case start == due:
			s.onTime()
		case free[vu] > due:
			charged = s.lagOf(due, start)
		}
		late, lag = append(late, start-due), append(lag, charged)
		free[vu] = start + q.service(i)
	}
	return late, lag
}

// awake is the first instant from this one in which the generator does not stall.
func (q stalled) awake(at time.Duration) time.Duration {
	for _, s := range q.stalls {
		if at >= s.From && at < s.To {
			at = s.To
		}
	}
	return at
}

// randomStalls returns stalls of up to longest, with gaps of up to gap, until end.
func randomStalls(random *rand.Rand, longest, gap, end time.Duration) (all []Stall) {
	for at := time.Second; ; {
		at += time.Duration(1 + random.Int64N(int64(gap)))
		s := Stall{From: at, To: at + stallAfter + beatEvery + time.Duration(random.Int64N(int64(longest)))}
		if at = s.To; at > end {
			return all
		}
		all = append(all, s)
	}
}

func evenSlots(rate float64, length time.Duration) (all []time.Duration) {
	for i := range int(rate * length.Seconds()) {
		all = append(all, time.Duration(float64(i)/rate*float64(time.Second)))
	}
	return all
}

// A system that keeps up is not charged with the delay that stalls of the generator cause,
// however many of them follow each other before their backlog has drained. The VUs that
// served a backlog become free at about the same time, so that a slot soon after it may wait
// for at most one of the system's service times.
func TestSystemThatKeepsUpIsNotCharged(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	delayed := 0
	for range 200 {
		vus := 2 + random.IntN(20)
		service := time.Duration(5+random.IntN(100)) * ms
		capacity := float64(vus) / service.Seconds()
		q := stalled{
			slots: evenSlots((0.3+0.6*random.Float64())*capacity, 15*time.Second), vus: vus,
			stalls:  randomStalls(random, time.Duration(1+random.IntN(3000))*ms, time.Duration(10+random.IntN(4000))*ms, 14*time.Second),
			service: func(int) time.Duration { return service },
		}
		late, lag := q.delays()
		for i := range late {
			if late[i] > 100*ms {
				delayed++
			}
			// Even arrivals at less than the capacity never wait without a stall.
			if rest := late[i] - lag[i]; rest > service {
				t.Fatalf("%d VUs of %s, slot due at %s: %s late, of which %s are charged to the system; stalls %v", vus, service, q.slots[i], late[i], rest, q.stalls)
			}
		}
	}
	if delayed < 10_000 {
		t.Errorf("%d slots were delayed: too few were checked", delayed)
	}
}

// A system that does not keep up is charged with its queue, however many short stalls of
// the generator there are.
func TestOverloadWithStalls(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 50 {
		vus := 2 + random.IntN(20)
		service := time.Duration(5+random.IntN(100)) * ms
		capacity := float64(vus) / service.Seconds()
		q := stalled{
			slots: evenSlots((1.2+random.Float64())*capacity, 30*time.Second), vus: vus,
			stalls:  randomStalls(random, 100*ms, time.Second, 29*time.Second),
			service: func(int) time.Duration { return service },
		}
		late, lag := q.delays()
		for i := range late {
			if lag[i] > 300*ms+late[i]/3 {
				t.Fatalf("%d VUs of %s, slot due at %s: %s late, of which %s are charged to the generator", vus, service, q.slots[i], late[i], lag[i])
			}
		}
		if end := len(late) - 1; late[end]-lag[end] < time.Second {
			t.Errorf("the last slot is %s late, of which %s are charged to the generator", late[end], lag[end])
		}
	}
}
