package host

import (
	"context"
	"net"
	"slices"
	"sort"

	"github.com/prometheus/procfs"
)

// Listener finds the process on this machine that listens on a TCP port, at an address of
// the named host or at all addresses. It returns false if there is none, if this process
// may not see it, or if it is a proxy to a container.
func Listener(ctx context.Context, name string, port int) (pid int, ok bool) {
	addresses, err := net.DefaultResolver.LookupHost(ctx, name)
	if err != nil {
		return 0, false
	}
	addresses = append(addresses, "0.0.0.0", "::")
	sockets, _ := Sockets(procfs.DefaultMountPoint) // those of one table will do
	for _, s := range sockets {
		if s.State != listening || int(s.Local.Port()) != port || !slices.Contains(addresses, s.Local.Addr().String()) {
			continue
		}
		if p, found := owner(s); found {
			name, err := p.Comm()
			return p.PID, err != nil || name != "docker-proxy" // which Docker runs for a container's port
		}
	}
	return 0, false
}

// owner finds the oldest process that has the socket open.
func owner(s Socket) (procfs.Proc, bool) {
	all, err := procfs.AllProcs()
	if err != nil {
		return procfs.Proc{}, false
	}
	sort.Sort(all)
	for _, p := range all {
		open, err := p.FileDescriptorTargets()
		if err == nil && slices.Contains(open, "socket:["+s.inode+"]") {
			return p, true
		}
	}
	return procfs.Proc{}, false
}
