package target

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var epoch = time.Unix(1_700_000_000, 0)

// ticking is a capacity that is computed millisecond by millisecond.
type ticking struct {
	Capacity
	serving, busy          int
	waiting                []int // numbers of requests
	short                  bool  // a request had to wait, and no slot was free since then
	boots, missing, unused int   // ms: until the instance serves, and since when it is missing, or not needed
	got                    []int // requests that got a slot, in order
}

func (m *ticking) tick() {
	last := m.serving % m.Slots
	if last == 0 {
		last = m.Slots
	}
	switch {
	case m.boots > 0:
		if m.boots--; m.boots == 0 {
			m.serving = min(m.serving+m.Slots, m.Most)
		}
		m.missing, m.unused, m.short = 0, 0, false
	case m.short && m.serving < m.Most:
		if m.missing++; m.missing == int(m.After.Milliseconds()) {
			m.boots, m.missing = int(m.Boot.Milliseconds()), 0
		}
		m.unused = 0
	case m.serving > m.Slots && m.busy <= m.serving-last:
		if m.unused++; m.unused == int(m.DownAfter.Milliseconds()) {
			m.serving, m.unused = m.serving-last, 0
		}
		m.missing = 0
	default:
		m.missing, m.unused = 0, 0
	}
	m.settle()
}

func (m *ticking) settle() {
	for m.busy < m.serving && len(m.waiting) > 0 {
		m.got, m.waiting, m.busy = append(m.got, m.waiting[0]), m.waiting[1:], m.busy+1
	}
	if m.short = (m.short || len(m.waiting) > 0) && m.busy == m.serving; !m.short {
		m.missing = 0
	}
	last := m.serving % m.Slots
	if last == 0 {
		last = m.Slots
	}
	if m.busy > m.serving-last {
		m.unused = 0
	}
}

// Whatever happens, requests get slots in their order, no slot is left free or given twice,
// and instances are ordered, serve and end exactly when they should.
func TestCapacityMatchesItsTicks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		millis := func(name string) time.Duration {
			return time.Duration(rapid.IntRange(1, 20).Draw(t, name)) * time.Millisecond
		}
		of := Capacity{Slots: rapid.IntRange(1, 3).Draw(t, "slots"), Boot: millis("boot"), After: millis("after"), DownAfter: millis("down after")}
		of.Most = of.Slots + rapid.IntRange(0, 9).Draw(t, "more")
		s, m := newSlots(of), &ticking{Capacity: of, serving: of.Slots}
		now := epoch
		waiters := map[int]*waiter{}
		has := func(w *waiter) bool {
			select {
			case <-w.got:
				return true
			default:
				return false
			}
		}
		count := 0
		t.Repeat(map[string]func(*rapid.T){
			"enter": func(t *rapid.T) {
				for range rapid.IntRange(1, 6).Draw(t, "requests") {
					waiters[count] = s.enter(now)
					m.waiting = append(m.waiting, count)
					m.settle()
					count++
				}
			},
			"leave": func(t *rapid.T) {
				for range min(m.busy, rapid.IntRange(1, 12).Draw(t, "requests")) {
					s.leave(now)
					m.busy--
					m.settle()
				}
			},
			"abandon": func(t *rapid.T) {
				if len(m.waiting) == 0 {
					t.Skip("nobody waits")
				}
				i := rapid.IntRange(0, len(m.waiting)-1).Draw(t, "who")
				if !s.abandon(waiters[m.waiting[i]], now) {
					t.Fatal("a request that waits has a slot")
				}
				delete(waiters, m.waiting[i])
				m.waiting = slices.Delete(m.waiting, i, i+1)
				m.settle()
			},
			"abandon a slot": func(t *rapid.T) {
				if len(m.got) == 0 {
					t.Skip("nobody has got a slot")
				}
				if s.abandon(waiters[m.got[len(m.got)-1]], now) {
					t.Fatal("a request with a slot was waiting")
				}
			},
			"time passes": func(t *rapid.T) {
				for range rapid.IntRange(1, 30).Draw(t, "ms") {
					now = now.Add(time.Millisecond)
					m.tick()
				}
				s.advance(now)
			},
			"": func(t *rapid.T) {
				if s.serving != m.serving || s.busy != m.busy || len(s.waiting) != len(m.waiting) {
					t.Fatalf("%d of %d slots are in use and %d wait, want %d of %d and %d", s.busy, s.serving, len(s.waiting), m.busy, m.serving, len(m.waiting))
				}
				if s.serving < of.Slots || s.serving > of.Most || s.busy > s.serving || len(s.waiting) > 0 && s.busy < s.serving {
					t.Fatalf("%d of %d slots are in use and %d wait", s.busy, s.serving, len(s.waiting))
				}
				for number, w := range waiters {
					if has(w) != slices.Contains(m.got, number) {
						t.Fatalf("request %d has a slot: %t", number, has(w))
					}
				}
			},
		})
	})
}

// A step to a load above the capacity is queued until the further instance has booted. At
// each capacity the service ends capacity / work requests per second.
func TestCapacityDuringAStep(t *testing.T) {
	const (
		work = 20 * time.Millisecond
		gap  = 2500 * time.Microsecond // 400/s, for which 8 slots are enough
	)
	of := Capacity{Slots: 4, Most: 8, Boot: 3 * time.Second, After: 500 * time.Millisecond, DownAfter: time.Minute}
	s := newSlots(of)
	var arrivals []*waiter
	started := map[int]time.Duration{} // since the step, by request
	ends := []time.Duration{}
	for now := time.Duration(0); now < 10*time.Second; now += 500 * time.Microsecond {
		at := epoch.Add(now)
		for len(ends) > 0 && ends[0] <= now {
			s.leave(at)
			ends = ends[1:]
		}
		if now%gap == 0 {
			arrivals = append(arrivals, s.enter(at))
		}
		s.advance(at)
		for i := len(started); i < len(arrivals); i++ {
			select {
			case <-arrivals[i].got:
				started[i] = now
				ends = append(ends, now+work)
			default:
				i = len(arrivals)
			}
		}
		want := 4
		if now >= of.After+of.Boot+4*gap { // the fifth request is the first that waits
			want = 8
		}
		if early := of.After + of.Boot; s.serving != want && (now < early || now >= early+4*gap) {
			t.Fatalf("%v after the step %d slots serve, want %d", now, s.serving, want)
		}
	}
	within := func(from, to time.Duration) (n int) {
		for _, at := range started {
			if at >= from && at < to {
				n++
			}
		}
		return n
	}
	if n := within(time.Second, 3*time.Second); n != 2*4*50 {
		t.Errorf("%d requests in 2 s with 4 slots of 20 ms, want 400", n)
	}
	// 3.51 s at 200/s more than the capacity: 702 requests wait. The instance does not reduce
	// them, as 8 slots end no more than what arrives.
	if n := within(4*time.Second, 6*time.Second); n != 2*8*50 {
		t.Errorf("%d requests in 2 s with 8 slots of 20 ms, want 800", n)
	}
	if waiting := len(s.waiting); waiting < 690 || waiting > 710 {
		t.Errorf("%d requests wait after the step", waiting)
	}
}

// Without a wait everything happens at once, and up to the limit.
func TestCapacityWithoutDelays(t *testing.T) {
	s := newSlots(Capacity{Slots: 3, Most: 7, DownAfter: time.Second})
	for range 9 {
		s.enter(epoch)
	}
	s.advance(epoch)
	if s.serving != 7 || s.busy != 7 || len(s.waiting) != 2 {
		t.Errorf("%d of %d slots are in use, %d wait", s.busy, s.serving, len(s.waiting))
	}
	for range 9 {
		s.leave(epoch)
	}
	for seconds, want := range []int{7, 6, 3, 3} { // the last instance has one slot
		if s.advance(epoch.Add(time.Duration(seconds) * time.Second)); s.serving != want {
			t.Errorf("%d slots after %d s, want %d", s.serving, seconds, want)
		}
	}
}
