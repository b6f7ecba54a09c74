package host

import (
	"context"
	"net"
	"slices"
	"time"

	"assay.dev/assay/internal/observe/collect"
)

// IsLocal reports whether a host name or address belongs to this machine.
func IsLocal(ctx context.Context, name string) bool {
	if collect.IsLoopback(name) {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	found, _ := net.DefaultResolver.LookupIPAddr(ctx, name) // none: the name does not belong to this machine
	local, _ := net.InterfaceAddrs()                        // none: only loopback is known
	for _, a := range found {
		if a.IP.IsLoopback() || slices.ContainsFunc(local, func(n net.Addr) bool {
			prefix, ok := n.(*net.IPNet)
			return ok && prefix.IP.Equal(a.IP)
		}) {
			return true
		}
	}
	return false
}
