package probe

import (
	"net"
	"slices"

	"github.com/prometheus/procfs"
)

// States of a connection that holds its local port (include/net/tcp_states.h).
const (
	tcpEstablished = 1
	tcpTimeWait    = 6
)

// taken counts connections from here to one of the addresses that hold a local
// port. A table that cannot be read counts as empty.
func taken(proc procfs.FS, ips []net.IP, port int) (n int) {
	tcp4, _ := proc.NetTCP()
	tcp6, _ := proc.NetTCP6()
	for _, c := range append(tcp4, tcp6...) {
		held := c.St == tcpEstablished || c.St == tcpTimeWait
		if held && c.RemPort == uint64(port) && slices.ContainsFunc(ips, c.RemAddr.Equal) {
			n++
		}
	}
	return n
}
