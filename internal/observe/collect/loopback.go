package collect

import (
	"net"
	"strings"
)

// IsLoopback reports whether a host name or address is this machine's loopback. It looks
// nothing up.
func IsLoopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}
