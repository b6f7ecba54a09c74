package probe

import (
	"context"
	stdnet "net"
	"slices"

	"github.com/shirou/gopsutil/v4/net"
)

// holding are the states in which a connection holds its local port.
var holding = []string{"ESTABLISHED", "TIME_WAIT"}

// taken counts the connections from this machine to one of the addresses that hold a
// local port. If the table of connections cannot be read it returns 0.
func taken(ctx context.Context, ips []stdnet.IP, port int) (n int) {
	all, _ := net.ConnectionsWithoutUidsWithContext(ctx, "tcp")
	for _, c := range all {
		if slices.Contains(holding, c.Status) && int(c.Raddr.Port) == port && slices.ContainsFunc(ips, stdnet.ParseIP(c.Raddr.IP).Equal) {
			n++
		}
	}
	return n
}
