package host

import (
	"context"
	stdnet "net"
	"slices"

	"github.com/shirou/gopsutil/v4/net"
	running "github.com/shirou/gopsutil/v4/process"
)

// Listener finds the process on this machine that listens on a TCP port, at an address of
// the named host or at all addresses. It returns false if there is none, if this process
// may not see it, or if it is a proxy to a container.
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

// isProxy reports whether it is the process that Docker runs for a container's port.
func isProxy(ctx context.Context, pid int32) bool {
	p, err := running.NewProcessWithContext(ctx, pid)
	if err != nil {
		return false
	}
	name, err := p.NameWithContext(ctx)
	return err == nil && name == "docker-proxy"
}
