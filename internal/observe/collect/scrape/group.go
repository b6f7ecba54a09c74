package scrape

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"assay.dev/assay/internal/crash"
	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/observe/collect"
	"assay.dev/assay/internal/observe/metric"
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
	ctx     context.Context // context of lists in the background; done after Close
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

// Open lists the instances, and waits for the answer. If there is a single endpoint, it returns
// Err.
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
			m = &member{Endpoint: Trusted(u)}
		}
		delete(before, u)
		g.members = append(g.members, m)
	}
	for _, gone := range before {
		gone.Close()
	}
}

const (
	// maxConcurrent bounds the endpoints of a group that are read at the same time, and
	// with maxBody the memory for it.
	maxConcurrent = 32
	// roundTimeout bounds the reading of all endpoints of a group, which is repeated every
	// second.
	roundTimeout = 900 * time.Millisecond
)

// Answer is what was read from one endpoint of a group.
type Answer[T any] struct {
	Endpoint *Endpoint // the same each time, until the instance is no longer listed
	Value    T         // as parse returned it, also with an error; zero if the endpoint did not answer
	Err      error     // it did not answer in time, or its answer is invalid
}

// guarded calls parse, with its panic as an error: it would end the process from the
// goroutine of a reading.
func guarded[T any](parse func(*Endpoint, []byte) (T, error), e *Endpoint, exposition []byte) (v T, err error) {
	defer foreign.Guard(&err)
	return parse(e, exposition)
}

// Read reads all endpoints of a group concurrently, in at most about a second, and returns
// an answer for each, sorted by URL. parse is called concurrently. An endpoint that could
// not be tried in time has an error too.
func Read[T any](ctx context.Context, g *Group, parse func(e *Endpoint, exposition []byte) (T, error)) []Answer[T] {
	g.refresh()
	ctx, cancel := context.WithTimeout(ctx, roundTimeout)
	defer cancel()
	answers := make([]Answer[T], len(g.members))
	var reading errgroup.Group
	reading.SetLimit(maxConcurrent)
	for _, i := range g.order() {
		reading.Go(func() error {
			m, a := g.members[i], &answers[i]
			a.Endpoint = m.Endpoint
			if a.Err = ctx.Err(); a.Err != nil {
				return nil // it was not tried, so that it is not failing
			}
			body, err := m.Fetch(ctx)
			if err == nil {
				a.Value, err = guarded(parse, m.Endpoint, body)
			}
			a.Err, m.failing = err, err != nil
			return nil
		})
	}
	_ = reading.Wait() // errors are in the answers
	return answers
}

// order returns the indices of the members, those that did not answer last, so that
// hanging instances leave the time of a round to the others. If it is too short for all of
// them, chance decides which are tried.
func (g *Group) order() []int {
	var answering, failing []int
	for i, m := range g.members {
		if m.failing {
			failing = append(failing, i)
		} else {
			answering = append(answering, i)
		}
	}
	rand.Shuffle(len(failing), func(i, j int) { failing[i], failing[j] = failing[j], failing[i] })
	return append(answering, failing...)
}

// Largest reads all endpoints and returns the largest value of one metric; see the function
// Largest. It fails if an endpoint does not answer or is not read, because that could have
// a larger value. An endpoint that answers without the metric has no value, but one of them
// must have it.
func (g *Group) Largest(ctx context.Context, name string, labels ...metric.Label) (float64, error) {
	answers := Read(ctx, g, func(_ *Endpoint, exposition []byte) (float64, error) {
		return Largest(exposition, name, labels...)
	})
	if g.left > 0 {
		return 0, fmt.Errorf("scrape metrics: %d of the service's instances are not read: there are more than %d", g.left, maxInstances)
	}
	if len(answers) == 0 {
		return 0, errors.New("scrape metrics: the service has no instance that is ready")
	}
	largest, found := math.Inf(-1), false
	var lacking error
	for _, a := range answers {
		var none *noMetricError
		switch {
		case errors.As(a.Err, &none):
			lacking = fmt.Errorf("%s has %w", a.Endpoint, a.Err)
		case a.Err != nil:
			return 0, a.Err
		default:
			largest, found = max(largest, a.Value), true
		}
	}
	if !found {
		return 0, lacking
	}
	return largest, nil
}
