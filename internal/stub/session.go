package stub

import (
	"sync"
	"time"

	"assay.dev/assay/internal/observe/collect/stubs"
	"assay.dev/assay/internal/spec"
)

// lease is how long a run that is not renewed goes on: its coordinator may have been killed,
// and be continued within half a minute.
const lease = time.Minute

// session is the run that the stub serves.
type session struct {
	stub *Stub

	mu     sync.Mutex
	run    string    // empty: none
	t0     time.Time // start of the load; zero: not known yet
	expiry *time.Timer
	phases []*time.Timer // one for each begin and end that is to come
}

// begin begins a run or renews it. busy is the run that the stub serves instead.
func (s *session) begin(b stubs.Begin) (busy string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	switch {
	case s.run != "" && s.run != b.Run:
		return s.run
	case s.run == "":
		s.run, s.t0 = b.Run, time.Time{}
		s.stub.book.clear()
		for _, e := range s.stub.endpoints {
			e.clear(b.Run, now)
		}
		s.expiry = time.AfterFunc(lease, func() { s.end(b.Run) })
	default:
		s.expiry.Reset(lease)
	}
	if b.SinceMs != nil && s.t0.IsZero() {
		s.t0 = now.Add(-time.Duration(*b.SinceMs * float64(time.Millisecond)))
		s.schedule()
	}
	return ""
}

// schedule applies the phase that holds now, and each one when it begins and ends.
func (s *session) schedule() {
	s.apply()
	for _, p := range s.stub.file.Phases {
		for _, at := range []time.Duration{p.From, p.End()} {
			if left := at - time.Since(s.t0); left > 0 && at < spec.MaxDuration*2 {
				s.phases = append(s.phases, time.AfterFunc(left, func() {
					s.mu.Lock()
					defer s.mu.Unlock()
					s.apply()
				}))
			}
		}
	}
}

// apply lets each endpoint behave as in the phases that hold now.
func (s *session) apply() {
	now := time.Now()
	for _, e := range s.stub.endpoints[:len(s.stub.file.Endpoints)] {
		as, factor := e.StubEndpoint, 1.0
		if !s.t0.IsZero() {
			for _, p := range s.stub.file.Phases {
				if p.Concerns(e.Name) && p.Holds(now.Sub(s.t0)) {
					as, factor = e.At(p)
				}
			}
		}
		e.change(as, factor, now)
	}
}

// end ends a run, if it is the one that the stub serves.
func (s *session) end(run string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run != run || run == "" {
		return
	}
	s.run, s.t0 = "", time.Time{}
	s.expiry.Stop()
	for _, t := range s.phases {
		t.Stop()
	}
	s.phases = nil
	s.apply()
	for _, e := range s.stub.endpoints {
		e.freeze()
	}
}

func (s *session) current() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.run
}
