package host

import (
	"context"
	"net"
	"slices"
	"time"
)

// Own reports whether a host name or address is this machine's.
func Own(ctx context.Context, name string) bool {
	if isLoopback(name) {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	found, _ := net.DefaultResolver.LookupIPAddr(ctx, name) // none: the name is not this machine's
	own, _ := net.InterfaceAddrs()                          // none: only loopback is known
	for _, a := range found {
		if a.IP.IsLoopback() || slices.ContainsFunc(own, func(n net.Addr) bool {
			prefix, ok := n.(*net.IPNet)
			return ok && prefix.IP.Equal(a.IP)
		}) {
			return true
		}
	}
	return false
}

func isLoopback(name string) bool {
	ip := net.ParseIP(name)
	return name == "localhost" || ip != nil && ip.IsLoopback()
}
