package probe

import (
	"context"
	stdnet "net"
	"slices"

	"github.com/shirou/gopsutil/v4/net"
)

// holding are the states of a connection that holds its local port.
var holding = []string{"ESTABLISHED", "TIME_WAIT"}

// taken counts connections from here to one of the addresses that hold a local
// port. A table that cannot be read counts as empty.
func taken(ctx context.Context, ips []stdnet.IP, port int) (n int) {
	all, _ := net.ConnectionsWithoutUidsWithContext(ctx, "tcp")
	for _, c := range all {
		if slices.Contains(holding, c.Status) && int(c.Raddr.Port) == port && slices.ContainsFunc(ips, stdnet.ParseIP(c.Raddr.IP).Equal) {
			n++
		}
	}
	return n
}
