// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"cmp"
	"fmt"
	"maps"
	"math"
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
	addresses   []certificate.Address
	requests    bool                              // shares are of requests; else of connections
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
	host := func(s metric.Series) *reachedHost {
		name := s.Label("host")
		if byName[name] == nil {
			byName[name] = &reachedHost{name: name, shares: map[netip.Addr]float64{}, byWorker: map[string]map[netip.Addr]float64{}}
		}
		return byName[name]
	}
	for _, of := range []string{metric.WorkerRequests, metric.WorkerConnections} {
		for _, s := range e.Timeline.Series(of) {
			for _, w := range e.Facts.Workers {
				if n, _ := e.Timeline.SumOf(w.Source, of, s.Labels, record.All); n > 0 {
					host(s).add(s.Label("address"), w.Source, of == metric.WorkerRequests, n)
				}
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

func (h *reachedHost) add(address, worker string, requests bool, n float64) {
	i := slices.IndexFunc(h.addresses, func(a certificate.Address) bool { return a.Address == address })
	if i < 0 {
		i, h.addresses = len(h.addresses), append(h.addresses, certificate.Address{Host: h.name, Address: address})
	}
	a := &h.addresses[i]
	if !slices.Contains(a.Workers, worker) {
		a.Workers = append(a.Workers, worker)
	}
	if requests {
		a.Requests, h.requests = a.Requests+int64(n), true
	} else {
		a.Connections += int64(n)
	}
	to, err := netip.ParseAddrPort(address)
	if err != nil || requests != h.requests {
		return // what is beyond those that are counted each, or connections beside requests
	}
	if h.byWorker[worker] == nil {
		h.byWorker[worker] = map[netip.Addr]float64{}
	}
	h.byWorker[worker][to.Addr()] += n
	h.shares[to.Addr()] += n
}

// share turns counts into shares.
func (h *reachedHost) share() {
	divide := func(counts map[netip.Addr]float64) {
		total := 0.0
		for _, a := range slices.SortedFunc(maps.Keys(counts), netip.Addr.Compare) {
			total += counts[a]
		}
		for a := range counts {
			counts[a] /= total
		}
	}
	divide(h.shares)
	for _, counts := range h.byWorker {
		divide(counts)
	}
	for i := range h.addresses {
		a := &h.addresses[i]
		slices.Sort(a.Workers)
		total, own := int64(0), a.Connections
		for _, other := range h.addresses {
			if h.requests {
				total += other.Requests
			} else {
				total += other.Connections
			}
		}
		if h.requests {
			own = a.Requests
		}
		a.Share = float64(own) / float64(total)
	}
	slices.SortFunc(h.addresses, func(a, b certificate.Address) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(a.Address, b.Address))
	})
}

// resolvedOf are the addresses of a name in the first and in the last look-up of each worker.
func resolvedOf(e *evidence, name string) (first, last map[netip.Addr]bool) {
	first, last = map[netip.Addr]bool{}, map[netip.Addr]bool{}
	for _, w := range e.Facts.Workers {
		firstOf, lastOf, begin, end := map[netip.Addr]bool{}, map[netip.Addr]bool{}, int64(math.MaxInt64), int64(math.MinInt64)
		for _, s := range e.Timeline.Series(metric.WorkerResolved) {
			addr, err := netip.ParseAddr(s.Label("address"))
			if err != nil || s.Label("host") != name {
				continue
			}
			seconds := slices.Sorted(maps.Keys(e.Timeline.BySecondOf(w.Source, metric.WorkerResolved, s.Labels)))
			if len(seconds) == 0 {
				continue
			}
			from, to := seconds[0], seconds[len(seconds)-1]
			if from < begin {
				clear(firstOf)
			}
			if to > end {
				clear(lastOf)
			}
			begin, end = min(begin, from), max(end, to)
			firstOf[addr], lastOf[addr] = from == begin, to == end
		}
		for addr, is := range firstOf {
			first[addr] = first[addr] || is
		}
		for addr, is := range lastOf {
			last[addr] = last[addr] || is
		}
	}
	maps.DeleteFunc(first, func(_ netip.Addr, is bool) bool { return !is })
	maps.DeleteFunc(last, func(_ netip.Addr, is bool) bool { return !is })
	return first, last
}

// comparable are the addresses of a kind that the load reached: a name often has addresses of
// IPv4 and of IPv6 that are the same machines.
func (h *reachedHost) comparable(of map[netip.Addr]bool) (all []netip.Addr) {
	for a := range of {
		for reached := range h.shares {
			if reached.Is4() == a.Is4() {
				all = append(all, a)
				break
			}
		}
	}
	slices.SortFunc(all, netip.Addr.Compare)
	return all
}

// what is what shares are of.
func (h *reachedHost) what() string {
	if h.requests {
		return "requests"
	}
	return "connections"
}

const pinned = "open connections keep their address: set noConnectionReuse in the script's options to reach what new clients would"

// reachedLimitations say where the load did not go as its names would have it.
func reachedLimitations(e *evidence) (all []string) {
	hosts := reachedHosts(e)
	if text := besideTarget(e.Plan.Target, hosts); text != "" {
		all = append(all, text)
	}
	for _, h := range hosts {
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
				h.name, workerName(e, a), addressList(slices.SortedFunc(maps.Keys(h.byWorker[a]), netip.Addr.Compare)), workerName(e, b), addressList(slices.SortedFunc(maps.Keys(h.byWorker[b]), netip.Addr.Compare))))
		}
	}
	return all
}

// besideTarget says that requests went elsewhere than to the target's name; empty: some did,
// or the target has no name.
func besideTarget(target string, hosts []*reachedHost) string {
	u, err := url.Parse(target)
	if err != nil {
		return ""
	}
	name := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	if _, err := netip.ParseAddr(name); err == nil {
		return ""
	}
	var others []string
	for _, h := range hosts {
		if h.name == name {
			return ""
		}
		if h.requests {
			others = append(others, h.name)
		}
	}
	if len(others) == 0 {
		return ""
	}
	return fmt.Sprintf("no connection went to %s by its name: the script sent its requests to %s (by other URLs, or its option hosts)", name, firstOf(others))
}

// text is "10.0.0.1 (99.1 %) and 10.0.0.2 (0.9 %)".
func (h *reachedHost) text() string {
	var all []string
	for _, a := range slices.SortedFunc(maps.Keys(h.shares), netip.Addr.Compare) {
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
	for _, a := range slices.SortedFunc(maps.Keys(h.shares), netip.Addr.Compare) {
		if h.shares[a] > share {
			addr, share = a, h.shares[a]
		}
	}
	return addr, share
}

// unreached are the addresses that the name had when the load ended, and that nothing reached.
func (h *reachedHost) unreached() (all []netip.Addr) {
	for _, a := range h.comparable(h.last) {
		if h.shares[a] == 0 {
			all = append(all, a)
		}
	}
	return all
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

// unreachedAddresses are the addresses of the target's names that no load reached.
func unreachedAddresses(p *part) (all []certificate.Omission) {
	for _, h := range reachedHosts(p.evidence) {
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
