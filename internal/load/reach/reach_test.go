package reach

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay.dev/assay/internal/observe/metric"
)

// texts are points as "metric host address value".
func texts(points []metric.Point) (all []string) {
	for _, p := range points {
		all = append(all, fmt.Sprintf("%s %s %s %g", p.Series.Name, p.Series.Label("host"), p.Series.Label("address"), p.Value))
	}
	slices.Sort(all)
	return all
}

// Connections and requests are counted by address, under the name that was resolved to it, and
// names are looked up to all their addresses.
func TestReached(t *testing.T) {
	found := map[string][]netip.Addr{"shop.test": {netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")}}
	l := &Log{Lookup: func(_ context.Context, name string) ([]netip.Addr, error) {
		if found[name] == nil {
			return nil, errors.New("no such host")
		}
		return found[name], nil
	}}
	l.Named("Shop.test.", netip.MustParseAddr("::ffff:192.0.2.1"))
	l.Named("gone.test", netip.MustParseAddr("192.0.2.9"))
	first := netip.MustParseAddrPort("192.0.2.1:80")
	l.Connect(first)
	for range 3 {
		l.Request(net.TCPAddrFromAddrPort(first))
	}
	l.Connect(netip.MustParseAddrPort("[::1]:443"))
	l.Request(nil)
	l.Request(&net.UnixAddr{})
	l.Look(t.Context())
	want := []string{
		"worker_connections ::1 [::1]:443 1", "worker_connections shop.test 192.0.2.1:80 1", "worker_requests shop.test 192.0.2.1:80 3",
		"worker_resolved shop.test 192.0.2.1 1", "worker_resolved shop.test 192.0.2.2 1",
	}
	if diff := cmp.Diff(want, texts(l.Take())); diff != "" {
		t.Error(diff)
	}
	found["shop.test"] = found["shop.test"][1:]
	l.Look(t.Context())
	l.Connect(netip.MustParseAddrPort("192.0.2.2:80"))
	want = []string{"worker_connections shop.test 192.0.2.2:80 1", "worker_resolved shop.test 192.0.2.2 1"}
	if diff := cmp.Diff(want, texts(l.Take())); diff != "" {
		t.Error(diff)
	}
	if points := l.Take(); len(points) > 0 {
		t.Errorf("%v", points)
	}
}

// However many addresses there are, what is counted stays small, and nothing is lost.
func TestBounded(t *testing.T) {
	l := &Log{}
	for i := range 100 {
		l.Named(fmt.Sprintf("%d.test", i), netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}))
		l.Connect(netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}), 80))
	}
	sum := 0.0
	points := l.Take()
	for _, p := range points {
		sum += p.Value
	}
	if len(points) != maxAddresses+1 || sum != 100 || len(l.names) != maxNames {
		t.Errorf("%d points of %g connections, %d names", len(points), sum, len(l.names))
	}
}
