package host

import (
	"context"
	stdnet "net"
	"slices"

	"github.com/shirou/gopsutil/v4/net"
	running "github.com/shirou/gopsutil/v4/process"
)

// Listener finds the process of this machine that listens on a TCP port, at the
// host's address or at all; not ok where there is none, it may not be looked at, or it
// only passes on to another (a container's).
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
			return int(s.Pid), !passesOn(ctx, s.Pid)
		}
	}
	return 0, false
}

// passesOn tells of the process that Docker puts before a container's port.
func passesOn(ctx context.Context, pid int32) bool {
	p, err := running.NewProcessWithContext(ctx, pid)
	if err != nil {
		return false
	}
	name, err := p.NameWithContext(ctx)
	return err == nil && name == "docker-proxy"
}
