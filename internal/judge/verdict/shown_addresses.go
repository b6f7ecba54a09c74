// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
)

// reachedHost is a host that the load went to: what of it was reached, and to which addresses
// its name resolved meanwhile. A service behind a name is only shown where the load went.
type reachedHost struct {
	name        string
	of          string // metric of the traffic: its requests, or its connections where it has none
	addresses   []certificate.Address
	shares      map[netip.Addr]float64            // of the traffic to the host
	byWorker    map[string]map[netip.Addr]float64 // the same of each worker's traffic
	first, last map[netip.Addr]bool               // to which the name resolved at the begin and at the end; empty: it was not looked up
}

const (
	// nearlyAll is the share of the traffic to one of several addresses of a name that is a
	// limitation.
	nearlyAll = 0.9
	// someTraffic is the share of a worker's traffic that counts when workers are compared.
	someTraffic = 0.05
	// maxReached limits the addresses that a certificate lists.
	maxReached = 64
)

// reachedHosts lists the hosts by name.
func reachedHosts(e *evidence) (all []*reachedHost) {
	byName := map[string]*reachedHost{}
	for _, of := range []string{metric.WorkerRequests, metric.WorkerConnections} {
		for _, s := range e.Timeline.Series(of) {
			for _, w := range e.Facts.Workers {
				n, _ := e.Timeline.SumOf(w.Source, of, s.Labels, record.All)
				if n <= 0 {
					continue
				}
				name := s.Label("host")
				if byName[name] == nil {
					byName[name] = &reachedHost{name: name, of: of, shares: map[netip.Addr]float64{}, byWorker: map[string]map[netip.Addr]float64{}}
				}
				byName[name].add(s.Label("address"), w.Source, of, n)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		h := byName[name]
		h.share()
		h.first, h.last = resolvedOf(e, name)
		all = append(all, h)
	}
	return all
}

func (h *reachedHost) add(address, worker, of string, n float64) {
	i := slices.IndexFunc(h.addresses, func(a certificate.Address) bool { return a.Address == address })
	if i < 0 {
		i, h.addresses = len(h.addresses), append(h.addresses, certificate.Address{Host: h.name, Address: address})
	}
	a := &h.addresses[i]
	if !slices.Contains(a.Workers, worker) {
		a.Workers = append(a.Workers, worker)
	}
	if of == metric.WorkerRequests {
		a.Requests += int64(n)
	} else {
		a.Connections += int64(n)
	}
	if of != h.of {
		return // connections beside requests
	}
	a.Share += n                                             // until all are known, their number
	if to, err := netip.ParseAddrPort(address); err == nil { // else it is beyond those that are counted each
		if h.byWorker[worker] == nil {
			h.byWorker[worker] = map[netip.Addr]float64{}
		}
		h.byWorker[worker][to.Addr()] += n
		h.shares[to.Addr()] += n
	}
}

// share turns counts into shares, and puts the addresses with most of the traffic first.
func (h *reachedHost) share() {
	for _, counts := range append(slices.Collect(maps.Values(h.byWorker)), h.shares) {
		total := 0.0
		for _, n := range counts {
			total += n
		}
		for a := range counts {
			counts[a] /= total
		}
	}
	total := 0.0
	for _, a := range h.addresses {
		total += a.Share
	}
	for i := range h.addresses {
		h.addresses[i].Share /= total
		slices.Sort(h.addresses[i].Workers)
	}
	slices.SortFunc(h.addresses, func(a, b certificate.Address) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(a.Address, b.Address))
	})
}

// resolvedOf are the addresses of a name in the first and in the last look-up of each worker.
func resolvedOf(e *evidence, name string) (first, last map[netip.Addr]bool) {
	first, last = map[netip.Addr]bool{}, map[netip.Addr]bool{}
	for _, w := range e.Facts.Workers {
		bySecond := map[int64][]netip.Addr{}
		for _, s := range e.Timeline.Series(metric.WorkerResolved) {
			addr, err := netip.ParseAddr(s.Label("address"))
			if err != nil || s.Label("host") != name {
				continue
			}
			for second := range e.Timeline.BySecondOf(w.Source, metric.WorkerResolved, s.Labels) {
				bySecond[second] = append(bySecond[second], addr)
			}
		}
		seconds := slices.Sorted(maps.Keys(bySecond))
		if len(seconds) == 0 {
			continue
		}
		for _, a := range bySecond[seconds[0]] {
			first[a] = true
		}
		for _, a := range bySecond[seconds[len(seconds)-1]] {
			last[a] = true
		}
	}
	return first, last
}

// comparable are the addresses of a kind that the load reached: a name often has addresses of
// IPv4 and of IPv6 that are the same machines.
func (h *reachedHost) comparable(of map[netip.Addr]bool) []netip.Addr {
	return slices.DeleteFunc(sortedAddresses(of), func(a netip.Addr) bool {
		for reached := range h.shares {
			if reached.Is4() == a.Is4() {
				return false
			}
		}
		return true
	})
}

func sortedAddresses[T any](of map[netip.Addr]T) []netip.Addr {
	return slices.SortedFunc(maps.Keys(of), netip.Addr.Compare)
}

// what is what shares are of.
func (h *reachedHost) what() string {
	if h.of == metric.WorkerRequests {
		return "requests"
	}
	return "connections"
}

const pinned = "open connections keep their address: set noConnectionReuse in the script's options to reach what new clients would"

// reachedLimitations say where the load did not go as its names would have it.
func reachedLimitations(e *evidence) (all []string) {
	for _, h := range reachedHosts(e) {
		first, last := h.comparable(h.first), h.comparable(h.last)
		if len(h.first) > 0 && !slices.Equal(first, last) {
			all = append(all, fmt.Sprintf("%s resolved to %s when the load began, and to %s when it ended; its %s went to %s (%s)",
				h.name, addressList(first), addressList(last), h.what(), h.text(), pinned))
		}
		if addr, share := h.largest(); share >= nearlyAll && len(last) > 1 && len(h.unreached()) == 0 {
			all = append(all, fmt.Sprintf("%s of the %s to %s went to %s, one of its %d addresses (%s)", percent(share), h.what(), h.name, addr, len(last), pinned))
		}
		if a, b := h.apart(); a != "" {
			all = append(all, fmt.Sprintf("workers reached different addresses of %s: %s %s, and %s %s",
				h.name, workerName(e, a), addressList(sortedAddresses(h.byWorker[a])), workerName(e, b), addressList(sortedAddresses(h.byWorker[b]))))
		}
	}
	return all
}

// besideTarget says that the load went elsewhere than to the target, all of it or nearly; empty: it
// did not. What is no HTTP, such as gRPC, may have a port of its own.
func besideTarget(e *evidence, hosts []*reachedHost) (text string, requests int64) {
	u, err := url.Parse(e.Plan.Target)
	if err != nil || u.Hostname() == "" {
		return "", 0
	}
	name := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	first, last := resolvedOf(e, name)
	own, _ := netip.ParseAddr(name)
	var others []string
	total := int64(0)
	for _, h := range hosts {
		for _, a := range h.addresses {
			to, err := netip.ParseAddrPort(a.Address)
			local := to.Addr().IsLoopback() && (own.IsLoopback() || name == "localhost")
			if err != nil || h.name == name || to.Addr() == own.Unmap() || local || first[to.Addr()] || last[to.Addr()] {
				switch {
				case err != nil || a.Requests == 0:
					return "", 0
				case fmt.Sprint(to.Port()) == cmp.Or(port, fmt.Sprint(to.Port())):
					total += a.Requests
					continue
				}
			}
			if a.Requests > 0 {
				requests, others = requests+a.Requests, append(others, h.name+" ("+a.Address+")")
			}
		}
	}
	total += requests
	if requests == 0 || float64(requests) < nearlyAll*float64(total) {
		return "", 0
	}
	return fmt.Sprintf("the target %s, to which %d of %d requests went: the script sent the others to %s (by other URLs, or its option hosts)",
		u.Host, total-requests, total, firstOf(others)), requests
}

// text is "10.0.0.1 (99.1 %) and 10.0.0.2 (0.9 %)".
func (h *reachedHost) text() string {
	var all []string
	for _, a := range sortedAddresses(h.shares) {
		all = append(all, fmt.Sprintf("%s (%s)", a, percent(h.shares[a])))
	}
	return firstOf(all)
}

func addressList(of []netip.Addr) string {
	var all []string
	for _, a := range of {
		all = append(all, a.String())
	}
	return firstOf(all)
}

// firstOf is "a, b and c", or "a, b, c, d and 3 more".
func firstOf(all []string) string {
	const shown = 4
	switch more := len(all) - shown; {
	case len(all) == 0:
		return "no address"
	case more > 0:
		all = append(slices.Clone(all[:shown]), fmt.Sprintf("%d more", more))
	}
	return joinAnd(all)
}

func (h *reachedHost) largest() (addr netip.Addr, share float64) {
	for _, a := range sortedAddresses(h.shares) {
		if h.shares[a] > share {
			addr, share = a, h.shares[a]
		}
	}
	return addr, share
}

// unreached are the addresses that the name had when the load ended, and that nothing reached.
func (h *reachedHost) unreached() []netip.Addr {
	return slices.DeleteFunc(h.comparable(h.last), func(a netip.Addr) bool { return h.shares[a] > 0 })
}

// apart are two workers that reached no address of a host in common; empty: there are none.
func (h *reachedHost) apart() (a, b string) {
	workers := slices.Sorted(maps.Keys(h.byWorker))
	for i, a := range workers {
		for _, b := range workers[:i] {
			common := false
			for addr, share := range h.byWorker[a] {
				common = common || share >= someTraffic && h.byWorker[b][addr] >= someTraffic
			}
			if !common {
				return b, a
			}
		}
	}
	return "", ""
}

// unreachedAddresses are the target, and the addresses of its names, that no load reached.
func unreachedAddresses(p *part) (all []certificate.Omission) {
	hosts := reachedHosts(p.evidence)
	if text, n := besideTarget(p.evidence, hosts); text != "" {
		all = append(all, certificate.Omission{What: text, Requests: &n, Weighs: true})
	}
	for _, h := range hosts {
		if missed := h.unreached(); len(missed) > 0 {
			all = append(all, certificate.Omission{
				What:   fmt.Sprintf("%s of %s, which none of the %s reached", addressList(missed), h.name, h.what()),
				Weighs: true,
			})
		}
	}
	return all
}

// describeAddresses are the addresses for the certificate.
func describeAddresses(e *evidence) (all []certificate.Address) {
	for _, h := range reachedHosts(e) {
		for _, a := range h.addresses {
			if to, err := netip.ParseAddrPort(a.Address); err == nil && len(h.first) > 0 {
				a.Resolved = new(h.last[to.Addr()])
			}
			all = append(all, a)
		}
	}
	return all[:min(len(all), maxReached)]
}
