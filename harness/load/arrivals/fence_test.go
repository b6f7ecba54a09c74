package arrivals

import (
	"errors"
	"net"
	"strings"
	"testing"

	"go.k6.io/k6/lib"
	"go.k6.io/k6/lib/netext"
)

// fields has what the fence needs of k6's runner.
type fields struct {
	lib.Runner
	BaseDialer net.Dialer
	Resolver   netext.Resolver
}

// book is a resolver that counts what it is asked.
type book struct{ asked int }

func (b *book) LookupIP(string) (net.IP, error) {
	b.asked++
	return net.ParseIP("192.0.2.7"), nil
}

func TestFenceLetsThroughWhatIsAllowed(t *testing.T) {
	names := &book{}
	runner := &fields{Resolver: names}
	f, err := raise(runner, []string{"shop.test", "198.51.100.1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{"127.0.0.1:80", "[::1]:80", "[::ffff:127.0.0.1]:80", "198.51.100.1:443"} {
		if err := runner.BaseDialer.Control("tcp", address, nil); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
	// An address of an allowed name is allowed once the name led there.
	if err := f.control("tcp", "192.0.2.7:80", nil); err == nil {
		t.Error("an address that no name has led to is let through")
	}
	if f.breached() == nil {
		t.Error("it was not reported")
	}
	ip, err := runner.Resolver.LookupIP("Shop.test.")
	if err != nil || ip.String() != "192.0.2.7" || names.asked != 1 {
		t.Errorf("%s, %v, asked %d times", ip, err, names.asked)
	}
	if err := f.control("tcp", "192.0.2.7:80", nil); err != nil || f.breached() != nil {
		t.Errorf("an address of an allowed name: %v", err)
	}
}

func TestFenceRefusesTheRest(t *testing.T) {
	names := &book{}
	f, err := raise(&fields{Resolver: names}, []string{"shop.test"})
	if err != nil {
		t.Fatal(err)
	}
	for _, try := range []func() error{
		func() error { _, err := f.LookupIP("other.test"); return err },
		func() error { _, err := f.LookupIP("shop.test.other.test"); return err },
		func() error { return f.control("tcp", "192.0.2.9:80", nil) },
		func() error { return f.control("tcp", "[fe80::1%eth0]:80", nil) },
		func() error { return f.control("unix", "/run/docker.sock", nil) },
	} {
		var breach *BreachError
		if err := try(); !errors.As(err, &breach) || !strings.Contains(err.Error(), "--allow-target") {
			t.Errorf("refused with %v", err)
		}
	}
	if names.asked != 0 {
		t.Error("a name that is not allowed was looked up")
	}
	if err := f.breached(); err == nil || !strings.Contains(err.Error(), "load would go to other.test,") {
		t.Errorf("reported is %v, not the first", err)
	}
}

// A k6 that is not built as we know it is not run unguarded.
func TestFenceNeedsTheRunnersFields(t *testing.T) {
	for _, runner := range []lib.Runner{nil, &struct{ lib.Runner }{}, &struct {
		lib.Runner
		BaseDialer net.Dialer
	}{}} {
		if _, err := raise(runner, nil); err == nil || !strings.HasPrefix(err.Error(), "guard the load: ") {
			t.Errorf("%T: %v", runner, err)
		}
	}
}
