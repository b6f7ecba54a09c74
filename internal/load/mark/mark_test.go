package mark

import (
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"

	"assay.dev/assay/internal/spec"
	"pgregory.net/rapid"
)

func newMarks() *Marks {
	m := &Marks{}
	m.Set("a-run", 7, spec.Marking{Header: "x-load-test", Sampled: 0.5, Baggage: true})
	return m
}

// sent is the header of a request as a VU sends it.
func (m *Marks) sent(vu string, h http.Header) http.Header {
	t := &transport{next: http.NewFileTransport(http.Dir(".")), marks: m, vu: m.vu(vu)}
	resp, err := t.RoundTrip(&http.Request{URL: httpURL, Header: h})
	if err == nil {
		_ = resp.Body.Close() // body of the answer to a path without a file
	}
	return h
}

var httpURL = mustURL("http://127.0.0.1/none")

// Ids depend on run, seed, scenario and number, and on nothing else. This one must not
// change: it names a transaction in records and in the logs of others.
func TestTraceIDs(t *testing.T) {
	id := func(run string, seed uint64, scenario string, number int64) string {
		return newIDs(run, seed, scenario, 1).of(number).String()
	}
	if got, want := id("20261123T141434Z-checkout-d60c", 1, "checkout", 0), "754c797cb8ba2eb8136191875ba94116"; got != want {
		t.Errorf("id %s, want %s", got, want)
	}
	seen := map[string]bool{}
	for _, run := range []string{"a", "b"} {
		for _, seed := range []uint64{1, 2} {
			for _, scenario := range []string{"", "viewers", "payments"} {
				for number := range int64(1000) {
					seen[id(run, seed, scenario, number)] = true
				}
			}
		}
	}
	if len(seen) != 2*2*3*1000 {
		t.Errorf("%d different ids", len(seen))
	}
}

// The sampled share is that of the marking, and transactions that a smaller share samples
// are sampled by a larger one too.
func TestSampledShare(t *testing.T) {
	const n = 100_000
	before := map[int64]bool{}
	for _, share := range []float64{0, 0.01, 0.3, 1} {
		ids, count := newIDs("a", 1, "s", share), 0
		for number := range int64(n) {
			sampled := ids.isSampled(ids.of(number))
			if sampled {
				count++
			} else if before[number] {
				t.Fatalf("%d is sampled at a smaller share than %g", number, share)
			}
			before[number] = sampled
		}
		// 5 standard deviations; none at 0 and 1.
		if off := math.Abs(float64(count) - share*n); off > 5*math.Sqrt(share*(1-share)*n) {
			t.Errorf("share %g: %d of %d are sampled", share, count, n)
		}
	}
}

// What is written can be read, and no text makes the reader fail.
func TestTraceparent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := newIDs(rapid.String().Draw(t, "run"), rapid.Uint64().Draw(t, "seed"), "s", 1).of(rapid.Int64().Draw(t, "number"))
		sampled := rapid.Bool().Draw(t, "sampled")
		text := traceparent(id, rapid.Uint32().Draw(t, "request"), sampled)
		if got, flag, ok := parseTraceparent(text); got != id || flag != sampled || !ok || len(text) != 55 {
			t.Errorf("%s: %s, %t, %t", text, got, flag, ok)
		}
		_, _, _ = parseTraceparent(rapid.String().Draw(t, "text"))
	})
	for _, bad := range []string{
		"", "00-", "00-00000000000000000000000000000000-00f067aa0ba902b7-01", "00-4bf92f3577b34da6a3ce929d0e0e47zz-00f067aa0ba902b7-01",
		"00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01", "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-zz",
	} {
		if _, _, ok := parseTraceparent(bad); ok {
			t.Errorf("%q is accepted", bad)
		}
	}
}

// Requests that a transaction sends at once have one trace and a span each; those after it
// belong to none.
func TestRequestsOfATransaction(t *testing.T) {
	m := newMarks()
	tx := m.Scenario("s").Begin("1", 5)
	if _, traced := tx.Trace(); traced {
		t.Error("a transaction without a request is traced")
	}
	const n = 1000
	spans := make(chan string, n)
	var all sync.WaitGroup
	for range n {
		all.Go(func() { spans <- m.sent("1", http.Header{}).Get("Traceparent") })
	}
	all.Wait()
	close(spans)
	trace, traced := tx.Trace()
	want := newIDs("a-run", 7, "s", 1).of(5)
	if !traced || trace.ID != want {
		t.Errorf("trace %s, %t, want %s", trace.ID, traced, want)
	}
	seen := map[string]bool{}
	for s := range spans {
		id, sampled, ok := parseTraceparent(s)
		if id != want || sampled != trace.Sampled || !ok || seen[s] {
			t.Errorf("request %s", s)
		}
		seen[s] = true
	}
	tx.End()
	if id, _, ok := parseTraceparent(m.sent("1", http.Header{}).Get("Traceparent")); !ok || id == want {
		t.Errorf("after the transaction: %s", id)
	}
	if id, _, _ := parseTraceparent(m.sent("2", http.Header{}).Get("Traceparent")); id == want {
		t.Error("another VU's request is of this transaction")
	}
}

// Headers of the script stay, and its trace counts; a request that is sent again, with a
// login, gets a span of its own.
func TestHeadersOfTheScriptStay(t *testing.T) {
	m := newMarks()
	tx := m.Scenario("s").Begin("1", 5)
	first := m.sent("1", http.Header{})
	if first.Get("X-Load-Test") != "a-run" || first.Get("Baggage") != "user_agent.synthetic.type=test,assay.run=a-run" {
		t.Errorf("headers %v", first)
	}
	span := first.Get("Traceparent")
	if again := m.sent("1", first).Get("Traceparent"); again == span || again[:traceAt+32] != span[:traceAt+32] {
		t.Errorf("sent again: %s after %s", again, span)
	}
	const own = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-03"
	h := m.sent("1", http.Header{"Traceparent": {own}, "X-Load-Test": {"mine"}, "Baggage": {"a=b"}})
	if h.Get("Traceparent") != own || h.Get("X-Load-Test") != "mine" || h.Get("Baggage") != "a=b" {
		t.Errorf("headers %v", h)
	}
	if trace, traced := tx.Trace(); trace.ID.String() != own[traceAt:spanAt-1] || !trace.Sampled || !traced {
		t.Errorf("trace %s", trace.ID)
	}
	if h := m.sent("1", http.Header{"Traceparent": {"none"}}); h.Get("Traceparent") != "none" {
		t.Errorf("headers %v", h)
	}
}

// Before Set nothing is marked, and an executor without marks works.
func TestNoMarks(t *testing.T) {
	for _, m := range []*Marks{nil, {}} {
		tx := m.Scenario("s").Begin("1", 5)
		tx.End()
		if _, traced := tx.Trace(); tx != nil || traced {
			t.Errorf("transaction %+v", tx)
		}
	}
}

func mustURL(text string) *url.URL {
	u, err := url.Parse(text)
	if err != nil {
		panic(err)
	}
	return u
}

// of returns the id of a transaction.
func (i ids) of(number int64) (id TraceID) {
	i.set(&id, number)
	return id
}

// An answer of 101, for which k6 would throw without a trace, is a request without an answer.
func TestSwitchedProtocolsIsNoAnswer(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Upgrade", "other")
		w.WriteHeader(http.StatusSwitchingProtocols)
	}))
	defer server.Close()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&transport{next: http.DefaultTransport, marks: newMarks()}).RoundTrip(request)
	if err == nil {
		resp.Body.Close()
		t.Errorf("the answer %s is handed on", resp.Status)
	}
}
