package mark

import (
	"net/http"
	"sync"
	"sync/atomic"

	"assay.dev/assay/internal/spec"
)

// Marks marks the requests of this process, once it is set how.
type Marks struct {
	run     string
	seed    uint64
	sampled float64 // share of transactions whose trace is to be recorded, [0,1]
	fixed   []field // headers of all requests; nil: requests are not marked
	// outside is the transaction of the requests of setup() and teardown(), and of others that
	// are outside of a transaction.
	outside *Transaction
	vus     sync.Map // *vu by name
}

// field is a header, with its name in the canonical form. The values are shared by all
// requests.
type field struct {
	name   string
	values []string
}

// vu is one VU.
type vu struct {
	current atomic.Pointer[Transaction] // nil: it is in none
}

// traceHeader and baggageHeader are in the canonical form of net/http.
const (
	traceHeader   = "Traceparent"
	baggageHeader = "Baggage"
)

// Set says how the requests of a run are marked, before any request.
func (m *Marks) Set(run string, seed uint64, how spec.Marking) {
	m.run, m.seed, m.sampled = run, seed, how.Sampled
	m.fixed = []field{{http.CanonicalHeaderKey(how.Header), []string{run}}}
	if how.Baggage {
		// The first is an attribute of OpenTelemetry's semantic conventions, which a span
		// processor of its SDKs copies from the baggage.
		m.fixed = append(m.fixed, field{baggageHeader, []string{"user_agent.synthetic.type=test,assay.run=" + run}})
	}
	m.outside = m.Scenario("").begin(&vu{}, 0) // k6 has no scenario without a name
}

// vu is the VU with this name.
func (m *Marks) vu(name string) *vu {
	if v, known := m.vus.Load(name); known {
		return v.(*vu)
	}
	v, _ := m.vus.LoadOrStore(name, &vu{})
	return v.(*vu)
}

// Scenario marks the transactions of one k6 scenario.
type Scenario struct {
	marks *Marks
	ids   ids
}

// Scenario is the scenario with this name; nil, which marks nothing, before Set.
func (m *Marks) Scenario(name string) *Scenario {
	if m == nil || m.fixed == nil {
		return nil
	}
	return &Scenario{m, newIDs(m.run, m.seed, name, m.sampled)}
}

// Begin begins a transaction of a VU: its requests belong to it until End. number is that
// of the transaction within the scenario over all workers.
func (s *Scenario) Begin(vu string, number int64) *Transaction {
	if s == nil {
		return nil
	}
	return s.begin(s.marks.vu(vu), number)
}

func (s *Scenario) begin(v *vu, number int64) *Transaction {
	t := &Transaction{vu: v, fixed: s.marks.fixed}
	s.ids.set(&t.id, number)
	t.sampled = s.ids.isSampled(t.id)
	v.current.Store(t)
	return t
}

// Transaction is a transaction whose requests are marked. A nil one has none.
type Transaction struct {
	vu       *vu
	fixed    []field
	id       TraceID
	sampled  bool
	requests atomic.Uint32 // number of requests that got our traceparent
	own      atomic.Pointer[Trace]
}

// Trace is what a transaction was traced as.
type Trace struct {
	ID      TraceID
	Sampled bool // its requests ask for it to be recorded
}

// End ends the transaction.
func (t *Transaction) End() {
	if t != nil {
		t.vu.current.CompareAndSwap(t, nil)
	}
}

// Trace is how the transaction is found in the system under test: by its own trace, or by
// that of the last request for which the script has set one. False: no request had any.
func (t *Transaction) Trace() (Trace, bool) {
	if t == nil {
		return Trace{}, false
	}
	if own := t.own.Load(); own != nil {
		return *own, true
	}
	return Trace{t.id, t.sampled}, t.requests.Load() > 0
}

// Mark adds the headers of a request of the transaction. Those that the script has set stay
// as they are.
func (t *Transaction) Mark(h http.Header) {
	for _, f := range t.fixed {
		if h[f.name] == nil {
			h[f.name] = f.values
		}
	}
	if set := h[traceHeader]; len(set) > 0 {
		id, sampled, ok := parseTraceparent(set[0])
		switch {
		case !ok:
			return
		case id != t.id: // else the request is sent again, with a login
			t.own.Store(&Trace{id, sampled})
			return
		}
	}
	h[traceHeader] = []string{traceparent(t.id, t.requests.Add(1), t.sampled)}
}
