package endpoints

import (
	"cmp"
	"maps"
	"net/netip"
	"net/url"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// URLs returns a URL for each instance in the EndpointSlices of a Service that is ready,
// serving and not terminating, sorted, each instance once. port is the name of the
// Service's port, empty if it has none, for the target port of that name in each slice; or
// a number, for that port of every instance. Slices without the port have no instances.
//
// An instance may be in several slices: briefly while slices are changed, and if it has an
// IPv4 and an IPv6 address. The IPv4 address is used, because a second one would count the
// instance twice.
func URLs(all []discoveryv1.EndpointSlice, port intstr.IntOrString, path string) []string {
	addresses := map[string]netip.AddrPort{} // by instance
	for _, slice := range all {
		number, ok := targetPort(slice.Ports, port)
		if !ok {
			continue
		}
		for _, e := range slice.Endpoints {
			address, ok := addressOf(e)
			if !ok || !isReady(e.Conditions) {
				continue
			}
			a := netip.AddrPortFrom(address, number)
			id := identity(e, a)
			if other, known := addresses[id]; !known || a.Compare(other) < 0 { // IPv4 sorts before IPv6
				addresses[id] = a
			}
		}
	}
	var urls []string
	for a := range maps.Values(addresses) {
		u := url.URL{Scheme: "http", Host: a.String(), Path: path}
		urls = append(urls, u.String())
	}
	slices.Sort(urls)
	return slices.Compact(urls)
}

// Nodes returns the names of the nodes of all instances in EndpointSlices, sorted.
func Nodes(all []discoveryv1.EndpointSlice) (names []string) {
	for _, slice := range all {
		for _, e := range slice.Endpoints {
			if name := or(e.NodeName, ""); name != "" {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// targetPort returns the number of a TCP port.
func targetPort(ports []discoveryv1.EndpointPort, wanted intstr.IntOrString) (number uint16, ok bool) {
	if wanted.Type == intstr.Int {
		return valid(wanted.IntVal)
	}
	for _, p := range ports {
		if or(p.Name, "") == wanted.StrVal && or(p.Protocol, corev1.ProtocolTCP) == corev1.ProtocolTCP {
			return valid(or(p.Port, 0))
		}
	}
	return 0, false
}

func valid(port int32) (number uint16, ok bool) {
	return uint16(port), 0 < port && port < 1<<16
}

// addressOf returns the address of an endpoint: the first, as further ones have no meaning.
// Host names are not supported: no controller writes them.
func addressOf(e discoveryv1.Endpoint) (address netip.Addr, ok bool) {
	if len(e.Addresses) == 0 {
		return address, false
	}
	address, err := netip.ParseAddr(e.Addresses[0])
	return address, err == nil && address.Zone() == ""
}

// isReady reads conditions whose missing values mean ready, serving and not terminating.
func isReady(c discoveryv1.EndpointConditions) bool {
	return or(c.Ready, true) && or(c.Serving, true) && !or(c.Terminating, false)
}

// identity identifies an instance: by its pod, or without one by its address.
func identity(e discoveryv1.Endpoint, a netip.AddrPort) string {
	if pod := e.TargetRef; pod != nil {
		return cmp.Or(string(pod.UID), pod.Kind+"/"+pod.Namespace+"/"+pod.Name)
	}
	return a.String()
}

func or[T any](p *T, missing T) T {
	if p == nil {
		return missing
	}
	return *p
}
