package clustertest

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"

	"github.com/vishvananda/netlink"
)

// The cluster's addresses are a part of the range that is reserved for tests of network
// devices (RFC 2544), so they never are a machine's own.
var (
	// subnet is that of the node's device. It holds the Services' addresses, too: so the
	// node has a route to them, which it needs until the rules of kube-proxy replace the
	// address.
	subnet   = netip.MustParsePrefix("198.18.0.0/16")
	node     = netip.MustParseAddr("198.18.1.1")
	services = netip.MustParsePrefix("198.18.2.0/24")
	pods     = netip.MustParsePrefix("198.18.3.0/24")
	// api is the Service "kubernetes", which gets the first address.
	api = services.Addr().Next()
)

// device is the node's own device; pods are joined to another.
const device = "node0"

// Ports of the cluster's programs. No other process is in the network namespace before.
const (
	etcdPort  = 2379
	apiPort   = 6443
	proxyPort = 10256 // kube-proxy's health
	dnsPort   = 53
)

func address(ip netip.Addr, port int) string {
	return net.JoinHostPort(ip.String(), strconv.Itoa(port))
}

var loopback = netip.MustParseAddr("127.0.0.1")

// addNode gives the network namespace the node's device, unless it has it.
func addNode() error {
	if _, err := netlink.LinkByName(device); err == nil {
		return nil
	}
	bridge := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: device}}
	if err := netlink.LinkAdd(bridge); err != nil {
		return fmt.Errorf("add %s: %w", device, err)
	}
	if err := netlink.AddrAdd(bridge, &netlink.Addr{IPNet: &net.IPNet{
		IP: node.AsSlice(), Mask: net.CIDRMask(subnet.Bits(), node.BitLen()),
	}}); err != nil {
		return fmt.Errorf("set address of %s: %w", device, err)
	}
	if err := netlink.LinkSetUp(bridge); err != nil {
		return fmt.Errorf("set up %s: %w", device, err)
	}
	// Settings of the namespace: pods reach others, also by the address of a Service.
	for _, name := range []string{"ipv4/ip_forward", "bridge/bridge-nf-call-iptables"} {
		if err := os.WriteFile("/proc/sys/net/"+name, []byte("1"), 0o600); err != nil {
			return fmt.Errorf("allow forwarding: %w", err)
		}
	}
	return nil
}
