package host

import (
	"context"
	stdnet "net"
	"slices"

	"github.com/shirou/gopsutil/v4/net"
	running "github.com/shirou/gopsutil/v4/process"
)

// Listener finds the process of this machine that listens on a TCP port, at the
// host's address or at any; not ok where there is none, where this process may not
// see it, or where it is a proxy to a container.
func Listener(ctx context.Context, name string, port int) (pid int, ok bool) {
	addresses, err := stdnet.DefaultResolver.LookupHost(ctx, name)
	if err != nil {
		return 0, false
	}
	addresses = append(addresses, "0.0.0.0", "::", "*")
	sockets, err := net.ConnectionsWithContext(ctx, "tcp")
	if err != nil {
		return 0, false
	}
	for _, s := range sockets {
		if s.Status == "LISTEN" && int(s.Laddr.Port) == port && s.Pid != 0 && slices.Contains(addresses, s.Laddr.IP) {
			return int(s.Pid), !isProxy(ctx, s.Pid)
		}
	}
	return 0, false
}

// isProxy: it is the process that Docker runs for a container's port.
func isProxy(ctx context.Context, pid int32) bool {
	p, err := running.NewProcessWithContext(ctx, pid)
	if err != nil {
		return false
	}
	name, err := p.NameWithContext(ctx)
	return err == nil && name == "docker-proxy"
}
