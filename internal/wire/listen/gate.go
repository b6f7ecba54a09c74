package listen

import (
	"cmp"
	"container/list"
	"crypto/tls"
	"net"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/time/rate"
)

// gate is the listener. It closes connections over a limit before they cost more than
// their accept, and keeps account of those that have not shown the token yet.
type gate struct {
	net.Listener
	tls      *tls.Config
	limits   Limits
	refusals *refusals

	mu      sync.Mutex
	closed  bool
	pending *list.List // *conn, the oldest first
	peers   map[netip.Prefix]*peer
	swept   time.Time // when peers was last rid of those like new
}

// peer is one address, or one /64.
type peer struct {
	pending int
	arrived *rate.Limiter
}

func newGate(l net.Listener, t *tls.Config, limits Limits, r *refusals) *gate {
	return &gate{Listener: l, tls: t, limits: limits, refusals: r, pending: list.New(), peers: map[netip.Prefix]*peer{}}
}

// Accept returns the next connection within the limits.
func (g *gate) Accept() (net.Conn, error) {
	for {
		socket, err := g.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &conn{Conn: socket, gate: g, from: socket.RemoteAddr().(*net.TCPAddr).AddrPort().Addr().Unmap()}
		oldest, why := g.admit(c, time.Now())
		if oldest != nil {
			oldest.abort()
			g.refusals.add(TooMany, oldest.from)
		}
		if why == "" {
			return c, nil
		}
		c.abort()
		g.refusals.add(why, c.from)
	}
}

// admit counts a connection, or says why not. It returns the connection that had to make room, if any.
func (g *gate) admit(c *conn, now time.Time) (oldest *conn, why Refusal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sweep(now)
	p := g.peers[network(c.from)]
	if p == nil {
		p = &peer{arrived: rate.NewLimiter(rate.Limit(g.limits.Rate), g.limits.Burst)}
		g.peers[network(c.from)] = p
	}
	switch {
	case g.closed:
		return nil, Ended
	case !p.arrived.AllowN(now, 1):
		return nil, TooFast
	case p.pending >= g.limits.PendingPerAddress:
		return nil, TooMany
	case g.pending.Len() >= g.limits.Pending:
		oldest = g.pending.Front().Value.(*conn)
		g.forget(oldest)
	}
	p.pending++
	c.peer, c.place = p, g.pending.PushBack(c)
	c.late = time.AfterFunc(g.limits.Authorize, func() { c.refuse(TooLate) })
	return oldest, ""
}

// forget ends the account of a connection, which has shown the token or ends. It says
// whether the connection was still pending.
func (g *gate) forget(c *conn) bool {
	if c.place == nil {
		return false
	}
	g.pending.Remove(c.place)
	c.place = nil
	c.peer.pending--
	c.late.Stop()
	return true
}

// sweep drops the peers that are no different from new ones, once a second.
func (g *gate) sweep(now time.Time) {
	if now.Sub(g.swept) < time.Second {
		return
	}
	g.swept = now
	for key, p := range g.peers {
		if p.pending == 0 && p.arrived.TokensAt(now) >= float64(g.limits.Burst) {
			delete(g.peers, key)
		}
	}
}

// network is what limits per address count by.
func network(a netip.Addr) netip.Prefix {
	bits := 32
	if a.Is6() {
		bits = 64
	}
	p, _ := a.Prefix(bits) // fails for other numbers of bits only
	return p
}

// end admits nothing more, and closes what has not shown the token.
func (g *gate) end() {
	g.mu.Lock()
	g.closed = true
	var all []*conn
	for e := g.pending.Front(); e != nil; e = g.pending.Front() {
		c := e.Value.(*conn)
		g.forget(c)
		all = append(all, c)
	}
	g.mu.Unlock()
	for _, c := range all {
		c.abort()
	}
}

// Limits bound what clients cost. Where a field is 0, the default holds. An address of
// IPv6 stands for its /64, of which a client may have every address.
type Limits struct {
	// Connections that have not shown the token yet, in total and of one address. One
	// more in total closes the oldest, so that a few addresses cannot lock out others.
	Pending, PendingPerAddress int

	// New connections of one address: at once, and a second after that.
	Burst, Rate int

	Authorize time.Duration // from the connection to its first request with the token
	Header    time.Duration // for the header of a further request
	Body      time.Duration // for a body
	Write     time.Duration // for a client to take what is written at once, 16 KiB at most
	Idle      time.Duration // between two requests
}

// The defaults let 2,000 clients behind one address connect at once, and bound what a
// flood from one address costs, after its burst, to about an eighth of a core: a new TLS
// connection takes about 0.5 ms of CPU, one over the limit 0.04 ms (BenchmarkRefused).
func (l Limits) orDefault() Limits {
	l.Pending = cmp.Or(l.Pending, min(4000, descriptors()/4))
	l.PendingPerAddress = cmp.Or(l.PendingPerAddress, min(1500, l.Pending/2))
	l.Burst = cmp.Or(l.Burst, 2000)
	l.Rate = cmp.Or(l.Rate, 200)
	l.Authorize = cmp.Or(l.Authorize, 5*time.Second)
	l.Header = cmp.Or(l.Header, 10*time.Second)
	l.Body = cmp.Or(l.Body, time.Minute)
	l.Write = cmp.Or(l.Write, 30*time.Second)
	l.Idle = cmp.Or(l.Idle, 3*time.Minute) // SDKs export each minute
	return l
}

// descriptors is how many this process may have open.
func descriptors() int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 1024
	}
	return int(min(limit.Cur, 1<<20))
}
