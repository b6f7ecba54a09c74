package scrape

import (
	"context"
	"log/slog"
	"net/url"
	"slices"
	"time"

	"assay.dev/assay/internal/crash"
	"assay.dev/assay/internal/observe/collect"
)

const (
	// maxInstances bounds the instances that are read. Each costs a connection, and every
	// second about 1 ms of CPU time for 50 kB of metrics (measured with 1,000 on loopback,
	// the time of the server included).
	maxInstances = 1000
	// askInterval is the time between two lists of the instances.
	askInterval = 5 * time.Second
	// askTimeout bounds one list.
	askTimeout = 3 * time.Second
)

// Instances lists the URLs of the metrics endpoints of a service's instances, such as
// http://10.1.2.3:8080/metrics. Their order does not matter, and repetitions are ignored.
// It must return soon after ctx is done.
type Instances func(ctx context.Context) ([]string, error)

// Group is the endpoints of a service's instances: a single endpoint that never changes,
// or those of a list that is read again about every 5 s. It is used by one goroutine.
type Group struct {
	list     Instances // nil: the endpoint never changes
	members  []*member // sorted by URL
	left     int       // listed instances beyond maxInstances
	interval time.Duration

	asked   time.Time // when the last list was requested
	asking  bool      // a list is under way in the background
	failing bool      // the last list failed
	lists   chan listed
	running crash.Group
	ctx     context.Context // of lists in the background; done after Close
	cancel  context.CancelFunc
}

// member is one endpoint of a group.
type member struct {
	*Endpoint
	failing bool // it did not answer when it was last tried
}

// listed is the result of a list.
type listed struct {
	urls []string
	err  error
}

// Single returns the group of one endpoint.
func Single(e *Endpoint) *Group {
	return &Group{members: []*member{{Endpoint: e}}, cancel: func() {}}
}

// NewGroup returns the group of the instances that list lists.
func NewGroup(list Instances) *Group {
	g := &Group{list: list, interval: askInterval, lists: make(chan listed, 1)}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	return g
}

// Err returns why a single endpoint may not be called; nil if it may, and for a list.
func (g *Group) Err() error {
	if g.list != nil {
		return nil
	}
	return g.members[0].Err()
}

// Open lists the instances, and waits for the answer. Of a single endpoint it returns Err.
func (g *Group) Open(ctx context.Context) error {
	if g.list == nil {
		return g.Err()
	}
	g.asked = time.Now()
	return collect.First(ctx, func(ctx context.Context) error {
		l := g.ask(ctx)
		if l.err == nil {
			g.set(l.urls)
		}
		return l.err
	})
}

// Left returns how many listed instances are not read, because there are too many.
func (g *Group) Left() int { return g.left }

// Close ends a list that is under way, and closes idle connections.
func (g *Group) Close() {
	g.cancel()
	g.running.Wait()
	for _, m := range g.members {
		m.Close()
	}
}

func (g *Group) ask(ctx context.Context) (l listed) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	l.urls, l.err = g.list(ctx)
	return l
}

// refresh takes the result of the last list, and requests the next one in the background
// if it is due, so that a slow list delays no reading. If a list fails, the instances
// known so far stay.
func (g *Group) refresh() {
	if g.list == nil {
		return
	}
	select {
	case l := <-g.lists:
		g.asking = false
		if (l.err != nil) != g.failing {
			g.failing = l.err != nil
			if g.failing {
				slog.Warn("the service's instances cannot be listed; those known are read on", "err", l.err)
			} else {
				slog.Warn("the service's instances can be listed again")
			}
		}
		if l.err == nil {
			g.set(l.urls)
		}
	default:
	}
	if !g.asking && time.Since(g.asked) >= g.interval {
		g.asking, g.asked = true, time.Now()
		g.running.Go(func() { g.lists <- g.ask(g.ctx) })
	}
}

// set keeps the endpoints that are listed again, adds new ones, and closes the others.
func (g *Group) set(urls []string) {
	urls = slices.Compact(slices.Sorted(slices.Values(urls)))
	g.left = max(0, len(urls)-maxInstances)
	before := map[string]*member{}
	for _, m := range g.members {
		before[m.url] = m
	}
	g.members = nil
	for _, u := range urls[:len(urls)-g.left] {
		m, known := before[u]
		if !known {
			m = &member{Endpoint: instance(u)}
		}
		delete(before, u)
		g.members = append(g.members, m)
	}
	for _, gone := range before {
		gone.Close()
	}
}

// instance returns the endpoint of a listed instance. Its host needs no permission of its
// own, because the target forwards the load to it.
func instance(raw string) *Endpoint {
	if u, err := url.Parse(raw); err == nil {
		return New(raw, u.Hostname())
	}
	return New(raw)
}
