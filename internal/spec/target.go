// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

var hostName = regexp.MustCompile(`^[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*$`)

// Allows reports whether load may be sent to a host (a name or address, with or
// without a port): this machine always, others if the file or extra, the command
// line's list, contains them. A load test aimed at the wrong system is an outage, so
// a malformed host is not allowed.
func (f File) Allows(host string, extra []string) bool {
	h := normalHost(host)
	if h == "" {
		return false
	}
	if h == "localhost" {
		return true
	}
	if addr, err := netip.ParseAddr(h); err == nil && addr.IsLoopback() {
		return true
	}
	return slices.ContainsFunc(slices.Concat(f.Targets, extra), func(listed string) bool { return normalHost(listed) == h })
}

// normalHost is the host in lower case without port, brackets and final dot;
// empty if it is malformed. Addresses are in their shortest form.
func normalHost(host string) string {
	if i := strings.LastIndexByte(host, ':'); i >= 0 && (strings.HasSuffix(host[:i], "]") || !strings.Contains(host[:i], ":")) {
		host = host[:i] // not of an IPv6 address without brackets
	}
	if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		host = host[1 : len(host)-1]
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.Unmap().String()
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if len(host) > 253 || !hostName.MatchString(host) {
		return ""
	}
	return host
}
