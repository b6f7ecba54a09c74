package probe

import (
	"net"
	"net/netip"
	"slices"

	"assay.dev/assay/internal/observe/collect/host"
)

// taken counts the connections from this machine to one of the addresses that hold a
// local port. If the table of connections cannot be read it returns 0. The tables are
// those of the folder /proc, or of a copy.
func taken(proc string, ips []net.IP, port int) (n int) {
	var to []netip.AddrPort
	for _, ip := range ips {
		if a, ok := netip.AddrFromSlice(ip); ok {
			to = append(to, netip.AddrPortFrom(a.Unmap(), uint16(port)))
		}
	}
	all, _ := host.Sockets(proc)
	for _, s := range all {
		if (s.State == host.Established || s.State == host.TimeWait) && slices.Contains(to, s.Remote) {
			n++
		}
	}
	return n
}
