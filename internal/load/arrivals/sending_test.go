package arrivals

import (
	"errors"
	"net"
	"strings"
	"syscall"
	"testing"

	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/lib/netext"
)

// dialing has the field of k6's VU that is watched.
type dialing struct {
	lib.InitializedVU
	Dialer *netext.Dialer
}

// A transaction has sent something once it looks a name up, opens a connection, whether or not
// that succeeds, writes to an open one, or sends a statement.
func TestSending(t *testing.T) {
	refused := errors.New("refused")
	vu := &dialing{Dialer: &netext.Dialer{Resolver: &countingResolver{}}}
	vu.Dialer.Control = func(string, string, syscall.RawConn) error { return refused }
	s, err := watchSending(vu)
	if err != nil {
		t.Fatal(err)
	}
	pauses, vus := &Pauses{sends: s}, &VUs{}
	vus.all.Store(uint64(7), pauses)
	for name, send := range map[string]func(){
		"a name":                 func() { _, _ = vu.Dialer.Resolver.LookupIP("shop.test") },
		"a connection":           func() { _ = vu.Dialer.Control("tcp", "127.0.0.1:1", nil) },
		"bytes":                  func() { vu.Dialer.BytesWritten = 3 },
		"a statement":            func() { vus.Sends(7) },
		"perhaps by other means": func() { s.unknown = true },
	} {
		vu.Dialer.BytesWritten, s.unknown = 0, false
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
	if err := vu.Dialer.Control("tcp", "127.0.0.1:1", nil); !errors.Is(err, refused) {
		t.Errorf("the connection's guard is gone: %v", err)
	}
	if ip, err := vu.Dialer.Resolver.LookupIP("shop.test"); err != nil || !ip.Equal(net.ParseIP("192.0.2.7")) {
		t.Errorf("%v, %v", ip, err)
	}
	for _, other := range []lib.InitializedVU{nil, &struct{ lib.InitializedVU }{}} {
		if _, err := watchSending(other); err == nil || !strings.HasPrefix(err.Error(), "watch what is sent: ") {
			t.Errorf("%T: %v", other, err)
		}
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
