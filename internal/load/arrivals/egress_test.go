package arrivals

import (
	"errors"
	"net"
	"strings"
	"testing"

	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/lib/netext"
)

// fields has the fields of k6's runner that the guard needs.
type fields struct {
	lib.Runner
	BaseDialer net.Dialer
	Resolver   netext.Resolver
}

// countingResolver counts look-ups.
type countingResolver struct{ lookups int }

func (r *countingResolver) LookupIP(string) (net.IP, error) {
	r.lookups++
	return net.ParseIP("192.0.2.7"), nil
}

func TestGuardAllowsTargets(t *testing.T) {
	names := &countingResolver{}
	runner := &fields{Resolver: names}
	g, err := guardEgress(runner, []string{"shop.test", "198.51.100.1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{"127.0.0.1:80", "[::1]:80", "[::ffff:127.0.0.1]:80", "198.51.100.1:443"} {
		if err := runner.BaseDialer.Control("tcp", address, nil); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
	// An address of an allowed name is allowed once the name resolved to it.
	if err := g.control("tcp", "192.0.2.7:80", nil); err == nil {
		t.Error("an address that no name resolved to is allowed")
	}
	if g.violation() == nil {
		t.Error("it was not reported")
	}
	ip, err := runner.Resolver.LookupIP("Shop.test.")
	if err != nil || ip.String() != "192.0.2.7" || names.lookups != 1 {
		t.Errorf("%s, %v, looked up %d times", ip, err, names.lookups)
	}
	if err := g.control("tcp", "192.0.2.7:80", nil); err != nil || g.violation() != nil {
		t.Errorf("an address of an allowed name: %v", err)
	}
}

func TestGuardRefusesOtherHosts(t *testing.T) {
	names := &countingResolver{}
	g, err := guardEgress(&fields{Resolver: names}, []string{"shop.test"})
	if err != nil {
		t.Fatal(err)
	}
	for _, try := range []func() error{
		func() error { _, err := g.LookupIP("other.test"); return err },
		func() error { _, err := g.LookupIP("shop.test.other.test"); return err },
		func() error { return g.control("tcp", "192.0.2.9:80", nil) },
		func() error { return g.control("tcp", "[fe80::1%eth0]:80", nil) },
		func() error { return g.control("unix", "/run/docker.sock", nil) },
	} {
		var violation *egressViolation
		if err := try(); !errors.As(err, &violation) || !strings.Contains(err.Error(), "--allow-target") {
			t.Errorf("refused with %v", err)
		}
	}
	if names.lookups != 0 {
		t.Error("a name that is not allowed was looked up")
	}
	if err := g.violation(); err == nil || !strings.Contains(err.Error(), "load would go to other.test,") {
		t.Errorf("reported %v, want the first violation", err)
	}
}

// A k6 runner without these fields is refused, as it could not be guarded.
func TestGuardNeedsTheRunnersFields(t *testing.T) {
	for _, runner := range []lib.Runner{nil, &struct{ lib.Runner }{}, &struct {
		lib.Runner
		BaseDialer net.Dialer
	}{}} {
		if _, err := guardEgress(runner, nil); err == nil || !strings.HasPrefix(err.Error(), "guard egress: ") {
			t.Errorf("%T: %v", runner, err)
		}
	}
}
