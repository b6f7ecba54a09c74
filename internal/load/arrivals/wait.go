package arrivals

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"reflect"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/grafana/sobek"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/lib/netext"
	"go.k6.io/k6/v2/metrics"

	"assay.dev/assay/internal/observe/metric"
)

// WaitKind is what a script waited for.
type WaitKind uint8

const (
	// AtTimer is a sleep() or a timer of the script. A request may be open meanwhile.
	AtTimer WaitKind = iota
	// AtRequest is a request that failed before it was answered: k6 does not time all of it.
	AtRequest
	// AtConnection is a connection that was made for gRPC or WebSockets, or was not. The script
	// goes on waiting for what is agreed on it, which nobody times.
	AtConnection
)

// Wait is a time in which the script of a VU waited, and which k6 itself does not report.
type Wait struct {
	VU       string // value of VUTag
	Kind     WaitKind
	From, To time.Duration // since t0
	// Failed is why there is no connection; empty: there is one, or it is another kind of wait.
	Failed string
	// Lacked is the class of an error of the generator's own host; empty: there was none.
	Lacked string
}

// GetSamples is empty: only our output reads it.
func (Wait) GetSamples() []metrics.Sample { return nil }

// lacks are the classes of the operating system's errors that say what the generator's host
// has not got.
var lacks = map[syscall.Errno]string{
	syscall.EMFILE: metric.ErrorOpenFiles, syscall.ENFILE: metric.ErrorOpenFiles,
	syscall.EADDRNOTAVAIL: metric.ErrorNoPort,
	syscall.ENOBUFS:       metric.ErrorNoMemory, syscall.ENOMEM: metric.ErrorNoMemory,
}

// lacked is the class of an error for which the generator's host, or the names that it looks
// up, are to blame rather than the target; empty: it is none.
func lacked(err error) string {
	var errno syscall.Errno
	var dns *net.DNSError
	switch {
	case errors.As(err, &errno) && lacks[errno] != "":
		return lacks[errno]
	case errors.As(err, &dns):
		return metric.ErrorDNS
	}
	return ""
}

// watcher reports what the script of a VU waits for.
type watcher struct {
	*Pauses
	out chan<- metrics.SampleContainer
}

func (w watcher) waited(kind WaitKind, from time.Time, err error) {
	wait := Wait{VU: w.vu, Kind: kind, From: from.Sub(w.t0), To: time.Since(w.t0), Lacked: lacked(err)}
	if err != nil && kind == AtConnection {
		wait.Failed = err.Error()
	}
	w.out <- wait
}

// watch has a VU report its waits, and what it sends. It must not run yet. k6 offers no way to, but its VU has exported fields, and
// the state that it shares with its modules is a pointer.
func (w watcher) watch(vu any) error {
	fields := reflect.Indirect(reflect.ValueOf(vu))
	if fields.Kind() != reflect.Struct {
		return fmt.Errorf("watch a VU: it is a %T", vu)
	}
	runtime, isRuntime := pointerTo[*sobek.Runtime](fields.FieldByName("Runtime"))
	dialer, isDialer := pointerTo[*netext.Dialer](fields.FieldByName("Dialer"))
	shared := fields.FieldByName("state")
	if !isRuntime || !isDialer || !shared.IsValid() || shared.Type() != reflect.TypeFor[*lib.State]() {
		return fmt.Errorf("watch a VU: %T has no Runtime, Dialer or state", vu)
	}
	w.sending.watch(*dialer)
	state := (*lib.State)(shared.UnsafePointer())
	state.Dialer = &watchedDialer{*dialer, w}
	state.Transport = &watchedTransport{state.Transport, w}
	return w.watchTimers(*runtime)
}

// watchedDialer is that of gRPC and WebSockets; HTTP has its own, and reports its times. Of a gRPC
// client that cannot connect k6 reports nothing, and the script may go on.
type watchedDialer struct {
	*netext.Dialer
	watcher
}

// DialContext connects.
func (d *watchedDialer) DialContext(ctx context.Context, proto, address string) (net.Conn, error) {
	from := time.Now()
	conn, err := d.Dialer.DialContext(ctx, proto, address)
	d.waited(AtConnection, from, err)
	return conn, err
}

// watchedTransport is that of HTTP.
type watchedTransport struct {
	http.RoundTripper
	watcher
}

// RoundTrip sends a request.
func (t *watchedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	from := time.Now()
	t.sent.Add(1)
	resp, err := t.RoundTripper.RoundTrip(r)
	if err != nil {
		t.waited(AtRequest, from, err)
	}
	return resp, err
}

// CloseIdleConnections closes those of the transport, as http.Client does.
func (t *watchedTransport) CloseIdleConnections() {
	if c, ok := t.RoundTripper.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// timersScript replaces the functions of timers. A timer that is cleared was no wait.
const timersScript = `(function (waited) {
  for (const name of ['setTimeout', 'setInterval']) {
    const original = globalThis[name];
    globalThis[name] = function (callback, delay, ...given) {
      if (typeof callback !== 'function') return original(callback, delay, ...given);
      let fired = waited(0, 0);
      return original(function (...args) {
        fired = waited(fired, +delay || 0);
        if (name === 'setInterval') fired = waited(0, 0); // it is set again
        callback(...args);
      }, delay, ...given);
    };
  }
})`

func (w watcher) watchTimers(runtime *sobek.Runtime) error {
	made, err := runtime.RunString(timersScript)
	if err != nil {
		return fmt.Errorf("watch timers: %w", err)
	}
	watch, _ := sobek.AssertFunction(made)
	// It returns the current instant, in ms since t0. Given an earlier one, and a delay in ms,
	// it reports the wait of a timer.
	waited := func(set, delay float64) float64 {
		now := time.Since(w.t0)
		if set == 0 {
			w.timers.Add(1)
		} else if w.timers.Add(-1); delay > 0 {
			from := time.Duration(set * float64(time.Millisecond))
			to := min(now, from+time.Duration(min(delay, 1e9)*float64(time.Millisecond)))
			w.out <- Wait{VU: w.vu, Kind: AtTimer, From: from, To: to}
		}
		return float64(now) / float64(time.Millisecond)
	}
	if _, err := watch(sobek.Undefined(), runtime.ToValue(waited)); err != nil {
		return fmt.Errorf("watch timers: %w", err)
	}
	return nil
}

// untimed is set once a script has loaded a module that waits and that nobody times, as an
// extension of k6. What a transaction takes beside its requests may then be such a wait.
var untimed atomic.Bool

// Untimed notes that the scripts of this process wait for what nobody times.
func Untimed() { untimed.Store(true) }

// IsUntimed reports whether Untimed was called.
func IsUntimed() bool { return untimed.Load() }
