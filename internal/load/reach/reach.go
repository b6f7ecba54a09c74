// Package reach notes which addresses a worker's connections and requests reach, and to which
// addresses the names of the target resolve meanwhile: open connections keep their address, so
// that a load may never reach one that a name has got since, or reach one of several only.
//
// Input: what dialers and the output see. Output: counters of the time since the last call.
// They are those of the process, as its dialers are.
package reach

import (
	"cmp"
	"context"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"assay.dev/assay/internal/observe/metric"
)

const (
	maxAddresses = 32 // of connections and requests; further ones count together
	maxNames     = 8  // names that are looked up
	maxResolved  = 64 // addresses of a name

	lookupEvery   = 5 * time.Second
	lookupTimeout = 2 * time.Second
)

// Log is what a process has reached.
type Log struct {
	// Lookup resolves a name to all its addresses; nil: by the system's resolver.
	Lookup func(ctx context.Context, name string) ([]netip.Addr, error)

	mu       sync.Mutex
	fresh    chan struct{} // a name has been added; nil: nobody watches
	names    []string
	hosts    map[netip.Addr]string // names by the addresses that they resolved to
	reached  map[netip.AddrPort]*traffic
	others   traffic
	resolved map[resolved]int64 // look-ups since the last call
}

// resolved is a name with one of its addresses.
type resolved struct {
	name string
	addr netip.Addr
}

// traffic is the traffic to one address since the last call.
type traffic struct{ connections, requests int64 }

// Of is that of this process.
var Of = &Log{}

// Named notes that a name was resolved to an address.
func (l *Log) Named(name string, addr netip.Addr) {
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.names) < maxNames && !slices.Contains(l.names, name) {
		l.names = append(l.names, name)
		select {
		case l.fresh <- struct{}{}:
		default: // it is awake, or nobody watches
		}
	}
	l.note(name, addr)
}

// note notes that an address is one of a name.
func (l *Log) note(name string, addr netip.Addr) {
	if l.hosts == nil {
		l.hosts = map[netip.Addr]string{}
	}
	if len(l.hosts) < maxNames*maxResolved {
		l.hosts[plain(addr)] = name
	}
}

// plain is an address of IPv4 as such, and without a zone.
func plain(addr netip.Addr) netip.Addr { return addr.Unmap().WithZone("") }

// Connect notes a connection that is made to an address.
func (l *Log) Connect(to netip.AddrPort) { l.traffic(to, func(t *traffic) { t.connections++ }) }

// Request notes a request that was sent over a connection to an address.
func (l *Log) Request(to net.Addr) {
	if tcp, ok := to.(*net.TCPAddr); ok {
		l.traffic(tcp.AddrPort(), func(t *traffic) { t.requests++ })
	}
}

func (l *Log) traffic(to netip.AddrPort, count func(*traffic)) {
	to = netip.AddrPortFrom(plain(to.Addr()), to.Port())
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.reached[to]
	switch {
	case t == nil && len(l.reached) >= maxAddresses:
		t = &l.others
	case t == nil:
		if l.reached == nil {
			l.reached = map[netip.AddrPort]*traffic{}
		}
		t = &traffic{}
		l.reached[to] = t
	}
	count(t)
}

// Watch looks the names up at once and then again and again, until ctx is done.
func (l *Log) Watch(ctx context.Context) {
	fresh := make(chan struct{}, 1)
	l.mu.Lock()
	l.fresh = fresh
	l.mu.Unlock()
	tick := time.NewTicker(lookupEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		l.Look(ctx)
		select {
		case <-ctx.Done():
		case <-tick.C:
		case <-fresh:
		}
	}
}

// Look looks the names up once. A name that cannot be resolved is left out.
func (l *Log) Look(ctx context.Context) {
	l.mu.Lock()
	names := slices.Clone(l.names)
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	lookup := l.Lookup
	if lookup == nil {
		lookup = func(ctx context.Context, name string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", name)
		}
	}
	for _, name := range names {
		addresses, err := lookup(ctx, name)
		if err != nil {
			continue
		}
		l.mu.Lock()
		if l.resolved == nil {
			l.resolved = map[resolved]int64{}
		}
		for _, a := range addresses[:min(len(addresses), maxResolved)] {
			l.resolved[resolved{name, plain(a)}]++
			l.note(name, a)
		}
		l.mu.Unlock()
	}
}

// Take returns what was counted since the last call.
func (l *Log) Take() (points []metric.Point) {
	l.mu.Lock()
	defer l.mu.Unlock()
	add := func(name, host, address string, n int64) {
		if n > 0 {
			points = append(points, metric.CounterPoint(metric.Of(name, "address", address, "host", host), float64(n)))
		}
	}
	for to, t := range l.reached {
		host := cmp.Or(l.hosts[to.Addr()], to.Addr().String())
		add(metric.WorkerConnections, host, to.String(), t.connections)
		add(metric.WorkerRequests, host, to.String(), t.requests)
		*t = traffic{}
	}
	add(metric.WorkerConnections, metric.OtherAddresses, metric.OtherAddresses, l.others.connections)
	add(metric.WorkerRequests, metric.OtherAddresses, metric.OtherAddresses, l.others.requests)
	l.others = traffic{}
	for of, n := range l.resolved {
		add(metric.WorkerResolved, of.name, of.addr.String(), n)
	}
	l.resolved = nil
	slices.SortFunc(points, func(a, b metric.Point) int { return cmp.Compare(a.Series.Key(), b.Series.Key()) })
	return points
}
