package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

// bank answers each call with the next of some statuses, and then with the last one. Status
// 0: it does not answer, -1: it resets the connection.
type bank struct {
	*httptest.Server
	mu          sync.Mutex
	statuses    []int
	body        string
	requests    []string
	connections int
}

func newBank(t *testing.T, body string, statuses ...int) *bank {
	t.Helper()
	b := &bank{statuses: statuses, body: body}
	b.Server = httptest.NewUnstartedServer(b)
	b.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			b.mu.Lock()
			b.connections++
			b.mu.Unlock()
		}
	}
	b.Start()
	t.Cleanup(b.Close)
	return b
}

func (b *bank) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	b.mu.Lock()
	b.requests = append(b.requests, fmt.Sprintf("%s %s %s key=%s trace=%s", r.Method, r.URL.Path, body, r.Header.Get("Idempotency-Key"), r.Header.Get("traceparent")))
	status := b.statuses[0]
	if len(b.statuses) > 1 {
		b.statuses = b.statuses[1:]
	}
	b.mu.Unlock()
	switch status {
	case 0:
		<-r.Context().Done()
		return
	case -1:
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, b.body)
}

func (b *bank) seen() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.requests)
}

// over makes gateways that call a bank for cards only, and notes what they observe.
func over(t *testing.T, b *bank, change func(*Config)) (*Gateways, *[]Call) {
	t.Helper()
	c := DefaultConfig()
	c.Patience, c.Declines, c.Timeouts, c.Latency = time.Minute, PerMode{}, PerMode{}, PerMode{}
	if err := c.URL.Set("card=" + b.URL + "/"); err != nil {
		t.Fatal(err)
	}
	change(&c)
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	var calls []Call
	g := New(c, func(call Call) { calls = append(calls, call) })
	t.Cleanup(g.Close)
	return g, &calls
}

func TestChargeOverHTTP(t *testing.T) {
	b := newBank(t, `{"status": "CAPTURED"}`, 200)
	g, calls := over(t, b, func(*Config) {})
	ctx := WithTrace(t.Context(), "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	for range 3 {
		if got, err := g.Charge(ctx, "card", "p-1"); err != nil || got != (Answer{Confirmed, "CAPTURED"}) {
			t.Errorf("%+v, %v", got, err)
		}
	}
	if got, err := g.Inquire(t.Context(), 1, "card", "p-1"); err != nil || got != (Answer{Confirmed, "CAPTURED"}) {
		t.Errorf("inquiry: %+v, %v", got, err)
	}
	const charged = `POST /charge {"id":"p-1","mode":"card"} key=p-1 trace=00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01`
	if want := []string{charged, charged, charged, "GET /charge/p-1  key= trace="}; !slices.Equal(b.seen(), want) {
		t.Errorf("requests %q, want %q", b.seen(), want)
	}
	// http.Transport does not keep a connection whose request, on a busy machine, has not been
	// noted as written 50 ms after the answer.
	if n := len(b.seen()); b.connections == n {
		t.Errorf("each of %d calls, one after the other, has opened a connection", n)
	}
	if got, err := g.Charge(t.Context(), "upi", "p-2"); err != nil || got.Status != "SUCCESS" || len(b.seen()) != 4 {
		t.Errorf("another mode: %+v, %v", got, err)
	}
	if len(*calls) != 5 || (*calls)[0].Outcome != Confirmed || !(*calls)[0].Last || (*calls)[0].Took <= 0 {
		t.Errorf("observed %+v", *calls)
	}
}

func TestAnswersOverHTTP(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		want   Answer
	}{
		"no body":       {200, "", Answer{Confirmed, "CAPTURED"}},
		"no JSON":       {201, "done", Answer{Confirmed, "CAPTURED"}},
		"long status":   {200, `{"status": "far too long for the database"}`, Answer{Confirmed, "CAPTURED"}},
		"other letters": {200, `{"status": "bezahlt ✓"}`, Answer{Confirmed, "CAPTURED"}},
		"declined":      {200, `{"status": "DECLINED"}`, Answer{Declined, "DECLINED"}},
		"payment":       {402, `{"error": "no money"}`, Answer{Declined, "DECLINED"}},
		"busy":          {503, `{"status": "CAPTURED"}`, Answer{Outcome: Failed}},
		"too many":      {429, "", Answer{Outcome: Failed}},
		"elsewhere":     {302, "", Answer{Outcome: Failed}},
		"reset":         {-1, "", Answer{Outcome: Failed}},
	} {
		g, _ := over(t, newBank(t, c.body, c.status), func(*Config) {})
		if got, err := g.Charge(t.Context(), "card", "p"); err != nil || got != c.want {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, c.want)
		}
	}
}

// A call with an error is sent again, up to the number of retries; inquiries are not. Each call is observed, the last one as such.
func TestRetries(t *testing.T) {
	for name, c := range map[string]struct {
		retries  int
		statuses []int
		want     []Outcome
	}{
		"none":         {0, []int{503}, []Outcome{Failed}},
		"in vain":      {2, []int{503}, []Outcome{Failed, Failed, Failed}},
		"the second":   {3, []int{503, 200}, []Outcome{Failed, Confirmed}},
		"a reset":      {1, []int{-1, 200}, []Outcome{Failed, Confirmed}},
		"declined":     {5, []int{402}, []Outcome{Declined}},
		"with backoff": {1, []int{503, 200}, []Outcome{Failed, Confirmed}},
	} {
		b := newBank(t, "", c.statuses...)
		g, calls := over(t, b, func(config *Config) {
			config.Retries = c.retries
			if name == "with backoff" {
				config.Backoff = 40 * time.Millisecond
			}
		})
		begin := time.Now()
		answer, err := g.Charge(t.Context(), "card", "p")
		took := time.Since(begin)
		if err != nil || answer.Outcome != c.want[len(c.want)-1] || len(b.seen()) != len(c.want) {
			t.Errorf("%s: %+v, %v, %d requests", name, answer, err, len(b.seen()))
		}
		var got []Outcome
		for i, call := range *calls {
			got = append(got, call.Outcome)
			if call.Last != (i == len(c.want)-1) {
				t.Errorf("%s: call %d is the last: %v", name, i, call.Last)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: observed %v, want %v", name, got, c.want)
		}
		if name == "with backoff" && took < 20*time.Millisecond {
			t.Errorf("it was repeated after %v, want at least half of the backoff", took)
		}
	}
	b := newBank(t, "", 200, -1, 200)
	g, _ := over(t, b, func(*Config) {})
	for n, want := range []Outcome{Confirmed, Failed, Confirmed} {
		if answer, err := g.Charge(t.Context(), "card", "p"); err != nil || answer.Outcome != want || len(b.seen()) != n+1 {
			t.Errorf("call %d: %+v, %v, %d requests: nothing else repeats a call", n, answer, err, len(b.seen()))
		}
	}
	b = newBank(t, "", 503)
	g, _ = over(t, b, func(c *Config) { c.Retries = 3 })
	if answer, err := g.Inquire(t.Context(), 1, "card", "p"); err != nil || answer.Outcome != Failed || len(b.seen()) != 1 {
		t.Errorf("inquiry: %+v, %v, %d requests", answer, err, len(b.seen()))
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := g.Charge(gone, "card", "p"); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled call: %v", err)
	}
}

// A simulated call that is repeated is another draw.
func TestRetriesOfSimulatedGateways(t *testing.T) {
	c := DefaultConfig()
	c.Latency, c.Declines, c.Timeouts, c.Patience, c.Retries = All(0), PerMode{}, All(0.5), time.Microsecond, 4
	calls, confirmed := 0, 0
	g := New(c, func(Call) { calls++ })
	defer g.Close()
	const payments = 1000
	for n := range payments {
		answer, err := g.Charge(t.Context(), "upi", fmt.Sprint("p-", n))
		if err != nil {
			t.Fatal(err)
		}
		if answer.Outcome == Confirmed {
			confirmed++
		}
	}
	// With probability 1/2 each: 1 - 1/2^5 of the payments, after 1 + 1/2 + ... + 1/16 calls.
	if confirmed < 940 || confirmed > 995 || calls < 1850 || calls > 2050 {
		t.Errorf("%d of %d confirmed after %d calls", confirmed, payments, calls)
	}
}

func TestURLFlag(t *testing.T) {
	c := DefaultConfig()
	fs := pflag.NewFlagSet("gateway", pflag.ContinueOnError)
	c.Flags(fs)
	if err := fs.Parse([]string{"--gateway-url", "http://a:1/", "--gateway-url=card=http://b:2/x=y,upi=https://c"}); err != nil {
		t.Fatal(err)
	}
	want := PerModeURL{"https://c", "http://b:2/x=y", "http://a:1", "http://a:1"}
	if c.URL != want {
		t.Errorf("%q, want %q", c.URL, want)
	}
	var back PerModeURL
	if err := back.Set(c.URL.String()); err != nil || back != want {
		t.Errorf("%q became %q: %v", c.URL.String(), back, err)
	}
	for _, bad := range []string{"", "a:1", "card=", "cash=http://a", "http://u:p@a", "http://a?b=c", "ftp://a", "http://a,,"} {
		if err := fs.Set("gateway-url", bad); err == nil || c.URL != want {
			t.Errorf("%q: %v, %q", bad, err, c.URL)
		}
	}
	for name, change := range map[string]func(*Config){
		"retries":  func(c *Config) { c.Retries = -1 },
		"many":     func(c *Config) { c.Retries = 101 },
		"backoff":  func(c *Config) { c.Backoff = -1 },
		"too long": func(c *Config) { c.Backoff = time.Hour },
	} {
		c := DefaultConfig()
		change(&c)
		if c.Validate() == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}
