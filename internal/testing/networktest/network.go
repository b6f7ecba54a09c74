package networktest

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"testing"

	"github.com/vishvananda/netlink"

	"assay.dev/assay/internal/hint"
)

// prefix is the subnet of every network: a part of the range that is reserved for tests
// of network devices (RFC 2544), so it never is a machine's own.
var prefix = netip.MustParsePrefix("198.18.0.0/24")

// maxHosts is the number of addresses in prefix.
const maxHosts = 254

// Network is a switch (a bridge in a namespace of its own) to which hosts are joined.
type Network struct {
	t      testing.TB
	hub    *namespace
	bridge *netlink.Bridge
	hosts  []*Host
}

// New makes a network, which is removed when the test ends: first the processes on its
// hosts are killed. New and the methods of Network and Host that return no error end the
// test if they fail; they must be called by the test's own goroutine.
func New(t testing.TB) *Network {
	t.Helper()
	hub, err := newNamespace()
	fatal(t, err)
	n := &Network{t: t, hub: hub, bridge: &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "bridge"}}}
	t.Cleanup(n.close)
	fatal(t, hub.netlink.LinkAdd(n.bridge), "add bridge")
	fatal(t, hub.netlink.LinkSetUp(n.bridge), "set up bridge")
	return n
}

// Host adds a host that is joined by a pair of virtual Ethernet devices: as fast as the
// machine, without loss.
func (n *Network) Host(name string) *Host {
	n.t.Helper()
	return n.join(name, newCable)
}

// RemoteHost adds a host behind a link that delays and loses packets. This process
// copies each packet, so such a host is not for heavy load.
func (n *Network) RemoteHost(name string, link Link) *Host {
	n.t.Helper()
	return n.join(name, func(h *Host, port string) (wire, error) { return newRelay(h, port, link) })
}

// join adds a host. connect makes the host's device, which is named device, and the
// hub's, which is named port.
func (n *Network) join(name string, connect func(h *Host, port string) (wire, error)) *Host {
	n.t.Helper()
	number := len(n.hosts) + 1
	if number > maxHosts {
		n.t.Fatalf("add host %s: a network has at most %d hosts", name, maxHosts)
	}
	address := prefix.Addr().As4()
	address[3] = byte(number)
	ns, err := newNamespace()
	fatal(n.t, err, "add host "+name)
	h := &Host{
		name: name, network: n, namespace: ns, address: netip.AddrFrom4(address),
		hardware: append(net.HardwareAddr{2, 0}, address[:]...),
	}
	n.hosts = append(n.hosts, h)
	port := "port" + strconv.Itoa(number)
	joined, err := connect(h, port)
	fatal(n.t, err, "add host "+name)
	h.wire = joined
	fatal(n.t, n.attach(port), "add host "+name)
	fatal(n.t, h.configure(), "add host "+name)
	fatal(n.t, h.wire.restore(), "add host "+name)
	for _, other := range n.hosts[:number-1] {
		fatal(n.t, h.learn(other), "add host "+name)
		fatal(n.t, other.learn(h), "add host "+name)
	}
	return h
}

// attach joins a device of the hub to the bridge.
func (n *Network) attach(port string) error {
	return n.hub.onLink(port, func(link netlink.Link) error { return n.hub.netlink.LinkSetMaster(link, n.bridge) })
}

func (n *Network) close() {
	for _, h := range n.hosts {
		if err := h.namespace.killProcesses(); err != nil {
			n.t.Errorf("end the processes of host %s: %v", h.name, err)
		}
		h.closeListeners()
		if err := h.namespace.giveUpConnections(); err != nil {
			n.t.Errorf("host %s: %v", h.name, err)
		}
	}
	for _, h := range n.hosts {
		if h.wire != nil {
			if err := h.wire.close(); err != nil {
				n.t.Errorf("link of host %s: %v", h.name, err)
			}
		}
		h.namespace.close()
	}
	n.hub.close()
}

// fatal ends the test where err is not nil, with one line: what was done, the error,
// and its hint.
func fatal(t testing.TB, err error, doing ...string) {
	t.Helper()
	if err == nil {
		return
	}
	for _, what := range doing {
		err = fmt.Errorf("%s: %w", what, err)
	}
	if next := hint.Of(err); next != "" {
		t.Fatalf("%v: %s", err, next)
	}
	t.Fatal(err)
}
