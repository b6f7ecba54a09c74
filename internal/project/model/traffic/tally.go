package traffic

import (
	"cmp"
	"slices"

	"assay.dev/assay/internal/project/model/accesslog"
	"assay.dev/assay/internal/project/model/route"
)

// Limits of a tally.
const (
	maxMinutes = 200_000 // with requests: 139 days
	// Pages of all endpoints: as many as all of them have in a day, of which few have more
	// than 255 requests in a second.
	maxPages, maxHighs = maxEndpoints * 24 * 60, 50_000

	maxShapes = 50_000 // shapes that are found without a walk through the tree
	// disorder is how much older than the latest request one must be to count as out of
	// order, in µs: servers log requests when they end.
	disorder = minute
)

// Request is one request. Shape may be reused after the call that takes it.
type Request struct {
	At                 int64 // µs since 1970
	Latency            int64 // µs; negative: unknown
	Status             int   // 0: none was sent
	Shape              []byte
	PathKey, TargetKey uint64 // hashes of the path, and of path and query
}

// Options are what is counted.
type Options struct {
	Window *Window  // requests of other times are not counted; nil: those of all times are
	Routes []string // templates that the user knows: in /users/{name}, all users are one endpoint
}

// Window is a time, µs since 1970, [From, To).
type Window struct{ From, To int64 }

// Tally counts requests.
type Tally struct {
	options Options
	tree    tree
	shapes  map[string]*shape
	all     series
	minutes room // room left for the pages of all
	latest  int64

	Requests uint64 // counted, in endpoints or not
	Outside  uint64 // requests outside of the times that are counted
	Apart    uint64 // at a time for which there was no room: the log spans too many days
	Coarse   uint64 // counted in an endpoint, but not in its seconds, for which there was no room
	Disorder uint64 // older than a request before it by more than a minute
	// Unknown are requests for paths that the service may not have: they were answered as not
	// found or not valid, and no other request for such a path was answered otherwise.
	Unknown Endpoint
	// Others are requests that exceed the number of endpoints.
	Others Endpoint
}

type shape struct {
	endpoint *Endpoint
	requests uint64
}

// New returns an empty tally.
func New(o Options) *Tally {
	t := &Tally{options: o, shapes: map[string]*shape{}, minutes: room{maxMinutes, maxMinutes}, tree: tree{left: room{maxPages, maxHighs}}}
	for _, r := range o.Routes {
		t.tree.pin(r)
	}
	return t
}

// Add counts a request.
func (t *Tally) Add(r *Request) {
	if w := t.options.Window; w != nil && (r.At < w.From || r.At >= w.To) {
		t.Outside++
		return
	}
	if !t.all.add(r.At, &t.minutes) {
		t.Apart++
		return
	}
	t.Requests++
	if r.At < t.latest-disorder {
		t.Disorder++
	}
	t.latest = max(t.latest, r.At)
	s := t.shapes[string(r.Shape)]
	if s == nil {
		method, segments, _ := route.Split(r.Shape)
		e, full := t.tree.find(accesslog.Method(method), segments, tells(r.Status))
		switch {
		case full:
			e = &t.Others
		case e == nil:
			e = &t.Unknown
		case len(t.shapes) < maxShapes:
			s = &shape{endpoint: e}
			t.shapes[string(r.Shape)] = s
		}
		if s == nil {
			t.count(e, r)
			return
		}
	}
	s.requests++
	s.endpoint = s.endpoint.final()
	t.count(s.endpoint, r)
}

func (t *Tally) count(e *Endpoint, r *Request) {
	if !e.add(r, &t.tree.left) {
		t.Coarse++
	}
}

// tells reports whether a status shows that the service has the path: what scanners look
// for are not endpoints.
func tells(status int) bool {
	switch status {
	case 0, 400, 404, 405, 410, 414, 499:
		return false
	}
	return true
}

// Minutes are those with requests, in order of time.
func (t *Tally) Minutes() []Minute { return t.all.minutes() }

// Endpoints are all of them, the most requested first. No request can be added after it.
func (t *Tally) Endpoints() []*Endpoint {
	t.tree.settle()
	for text, s := range t.shapes {
		_, _, names := route.Split([]byte(text))
		e := s.endpoint.final()
		known := map[string]bool{}
		for _, name := range names {
			if isPlaceholder(string(name)) {
				name = nil
			}
			known[string(name)] = true
		}
		for name := range known {
			if e.Names == nil {
				e.Names = map[string]uint64{}
			}
			e.Names[name] += s.requests
		}
	}
	all := t.tree.root.all(nil)
	slices.SortStableFunc(all, func(a, b *Endpoint) int {
		return cmp.Or(cmp.Compare(b.Requests, a.Requests), cmp.Compare(a.Template(), b.Template()), cmp.Compare(a.Method, b.Method))
	})
	return all
}
