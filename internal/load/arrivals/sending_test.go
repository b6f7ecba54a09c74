package arrivals

import (
	"errors"
	"net"
	"syscall"
	"testing"

	"go.k6.io/k6/v2/lib/netext"
)

// A transaction has sent something once it looks a name up, opens a connection, whether or not
// that succeeds, writes to an open one, or sends a statement.
func TestSending(t *testing.T) {
	refused := errors.New("refused")
	dialer := &netext.Dialer{Resolver: &countingResolver{}}
	dialer.Control = func(string, string, syscall.RawConn) error { return refused }
	pauses, vus := &Pauses{}, &VUs{}
	s := &pauses.sending
	s.watch(dialer)
	vus.all.Store(uint64(7), pauses)
	for name, send := range map[string]func(){
		"a name":                 func() { _, _ = dialer.Resolver.LookupIP("shop.test") },
		"a connection":           func() { _ = dialer.Control("tcp", "127.0.0.1:1", nil) },
		"bytes":                  func() { dialer.BytesWritten = 3 },
		"a statement":            func() { vus.Sends(7) },
		"perhaps by other means": func() { s.unknown = true },
	} {
		dialer.BytesWritten, s.unknown = 0, false
		if pauses.begin(); !s.nothing() {
			t.Errorf("%s: the transaction has sent something before", name)
		}
		vus.Sends(8) // another VU
		if !s.nothing() {
			t.Errorf("%s: another VU's count", name)
		}
		if send(); s.nothing() {
			t.Errorf("%s: nothing was sent", name)
		}
	}
	if err := dialer.Control("tcp", "127.0.0.1:1", nil); !errors.Is(err, refused) {
		t.Errorf("the connection's guard is gone: %v", err)
	}
	if ip, err := dialer.Resolver.LookupIP("shop.test"); err != nil || !ip.Equal(net.ParseIP("192.0.2.7")) {
		t.Errorf("%v, %v", ip, err)
	}
}

// What JavaScript throws by itself is the script's own error; what the script or a module of Go
// throws may be about an answer.
func TestOwnErrors(t *testing.T) {
	for text, want := range map[string]bool{
		"TypeError: Cannot read property 'b' of undefined\n\tat default": true,
		"ReferenceError: x is not defined":                               true,
		"Uncaught (in promise) RangeError: too long":                     true,
		"Error: the balance is wrong":                                    false,
		"GoError: dial tcp 127.0.0.1:1: connect: connection refused":     false,
		"the answer was TypeError":                                       false,
		"TypeErrors: 3":                                                  false,
		"":                                                               false,
	} {
		if ownError.MatchString(text) != want {
			t.Errorf("%q: want %t", text, want)
		}
	}
}
