package arrivals

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/grafana/sobek"
	"go.k6.io/k6/v2/lib/netext"
	"go.k6.io/k6/v2/metrics"

	"assay.dev/assay/internal/observe/metric"
)

// Errors are told by what the system's error in them is, however they are wrapped.
func TestLacked(t *testing.T) {
	dialled := func(err error) error {
		return fmt.Errorf("connect: %w", &net.OpError{Op: "dial", Net: "tcp", Err: fmt.Errorf("connect: %w", err)})
	}
	for err, want := range map[error]string{
		dialled(syscall.EMFILE): metric.ErrorOpenFiles, dialled(syscall.ENFILE): metric.ErrorOpenFiles,
		dialled(syscall.EADDRNOTAVAIL): metric.ErrorNoPort,
		dialled(syscall.ENOBUFS):       metric.ErrorNoMemory, dialled(syscall.ENOMEM): metric.ErrorNoMemory,
		dialled(&net.DNSError{Err: "no such host", Name: "shop"}): metric.ErrorDNS,
		dialled(syscall.ECONNREFUSED):                             "", dialled(syscall.ECONNRESET): "", dialled(syscall.ETIMEDOUT): "",
		dialled(syscall.EHOSTUNREACH): "", context.DeadlineExceeded: "", errors.New("bad handshake"): "",
	} {
		if got := lacked(err); got != want {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
	if lacked(nil) != "" {
		t.Error("no error is one")
	}
}

// reported are the waits of a VU while do runs.
func reported(do func(w watcher)) (all []Wait) {
	out := make(chan metrics.SampleContainer, 100)
	do(watcher{&Pauses{vu: "7", t0: time.Now().Add(-time.Second)}, out})
	close(out)
	for c := range out {
		all = append(all, c.(Wait))
	}
	return all
}

// roundTripper fails, or does not.
type roundTripper struct{ err error }

func (r roundTripper) RoundTrip(*http.Request) (*http.Response, error) {
	time.Sleep(time.Millisecond)
	return &http.Response{Body: http.NoBody}, r.err
}

// k6 times requests that are answered. Those that fail, and connections of other protocols than
// HTTP, are reported with what the generator's host has not got for them.
func TestWatchedConnections(t *testing.T) {
	for name, c := range map[string]struct {
		do    func(w watcher)
		waits int
		kind  WaitKind
		lacks string
	}{
		"a request":         {func(w watcher) { _, _ = (&watchedTransport{roundTripper{}, w}).RoundTrip(nil) }, 0, 0, ""},
		"a failed request":  {func(w watcher) { _, _ = (&watchedTransport{roundTripper{syscall.ECONNRESET}, w}).RoundTrip(nil) }, 1, AtRequest, ""},
		"a request no port": {func(w watcher) { _, _ = (&watchedTransport{roundTripper{syscall.EADDRNOTAVAIL}, w}).RoundTrip(nil) }, 1, AtRequest, metric.ErrorNoPort},
		"a refused connection": {func(w watcher) {
			d := &watchedDialer{&netext.Dialer{}, w}
			_, _ = d.DialContext(context.Background(), "tcp", "127.0.0.1:0")
		}, 1, AtConnection, ""},
		"a connection from no local address": {func(w watcher) {
			d := &watchedDialer{&netext.Dialer{Dialer: net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1)}}}, w}
			_, _ = d.DialContext(context.Background(), "tcp", "127.0.0.1:9")
		}, 1, AtConnection, metric.ErrorNoPort},
	} {
		t.Run(name, func(t *testing.T) {
			all := reported(c.do)
			if len(all) != c.waits {
				t.Fatalf("%+v", all)
			}
			for _, w := range all {
				if w.VU != "7" || w.Kind != c.kind || w.Lacked != c.lacks || w.From < time.Second || w.To < w.From {
					t.Errorf("%+v", w)
				}
			}
		})
	}
}

// A timer is a wait once it has fired; it keeps its arguments and what it throws. One that is
// cleared was none.
func TestWatchedTimers(t *testing.T) {
	rt := sobek.New()
	var fire sobek.Callable
	original := func(call sobek.FunctionCall) sobek.Value {
		fire, _ = sobek.AssertFunction(call.Argument(0))
		return rt.ToValue(len(call.Arguments))
	}
	for _, name := range []string{"setTimeout", "setInterval"} {
		if err := rt.Set(name, original); err != nil {
			t.Fatal(err)
		}
	}
	run := func(script string) sobek.Value {
		v, err := rt.RunString(script)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	waits := reported(func(w watcher) {
		if err := w.watchTimers(rt); err != nil {
			t.Fatal(err)
		}
		run("setTimeout(() => { throw 'of a timer that is cleared'; }, 1000)")
		if n := run("var sum = 0; setInterval((a, b) => { sum += a + b; }, 1, 2, 3)").ToInteger(); n != 4 {
			t.Errorf("%d arguments", n)
		}
		for range 2 {
			time.Sleep(5 * time.Millisecond)
			if _, err := fire(sobek.Undefined(), rt.ToValue(2), rt.ToValue(3)); err != nil {
				t.Fatal(err)
			}
		}
		run("setTimeout(() => { throw new Error('its own'); }, 0)")
		if _, err := fire(sobek.Undefined()); err == nil || !errors.As(err, new(*sobek.Exception)) {
			t.Errorf("it throws %v", err)
		}
		if n := w.timers.Load(); n != 2 {
			t.Errorf("%d timers are set, want the first one and that of the interval", n)
		}
	})
	if sum := run("sum").ToInteger(); sum != 10 {
		t.Errorf("the sum is %d", sum)
	}
	if len(waits) != 2 || waits[0].To-waits[0].From != time.Millisecond || waits[1].From < waits[0].To || waits[0].Kind != AtTimer {
		t.Errorf("%+v", waits)
	}
}

// A transaction that is interrupted may wait for what it has sent and nobody has reported, or for
// a timer; where nothing is left, its script goes on by itself.
func TestInterruptedTransactionsMayWait(t *testing.T) {
	p := &Pauses{}
	one := &Transaction{pauses: p}
	for name, c := range map[string]struct {
		sent, timers int64
		waits        bool
	}{"all is reported": {2, 0, false}, "a request is open": {3, 0, true}, "a timer is set": {2, 1, true}} {
		p.begin()
		p.sent.Add(c.sent)
		p.timers.Add(c.timers)
		if one.Waits(2) != c.waits {
			t.Errorf("%s: %t", name, !c.waits)
		}
	}
	if p.begin(); one.Waits(0) || !(&Transaction{}).Waits(0) {
		t.Error("a transaction that sends nothing waits, or one of which nothing is known does not")
	}
}
