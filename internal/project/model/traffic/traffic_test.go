package traffic

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"assay.dev/assay/internal/project/model/accesslog"
	"assay.dev/assay/internal/project/model/route"
)

// start is a whole minute.
const start = int64(1_716_041_520)

// request is one of a second after start.
func request(method accesslog.Method, target string, status int, at int64) *Request {
	path, _, _ := strings.Cut(target, "?")
	return &Request{
		At: (start + at) * second, Latency: accesslog.NoLatency, Status: status, Shape: route.AppendShape(nil, byte(method), []byte(target)),
		PathKey: xxhash.Sum64String(path), TargetKey: xxhash.Sum64String(target),
	}
}

// templates are those of a tally with their requests.
func templates(t *Tally) (all []string) {
	for _, e := range t.Endpoints() {
		all = append(all, fmt.Sprintf("%d %s %s", e.Requests, e.Method, e.Template()))
	}
	return all
}

func TestTemplates(t *testing.T) {
	// many repeats paths with a number in each; %d in a name hides it from the shape.
	word := func(i int) string { return fmt.Sprintf("%c%c%c-name", 'a'+i/676%26, 'a'+i/26%26, 'a'+i%26) }
	for _, c := range []struct {
		name   string
		routes []string
		add    func(add func(target string, status, n int))
		want   []string
	}{
		{"identifiers by their text", nil, func(add func(string, int, int)) {
			add("/products/17", 200, 1)
			add("/products/6f1b1f3e-93d2-4b44-9a5c-0d5a3b1e7f10", 200, 1)
			add("/products/", 200, 1)
			add("/products", 200, 3)
			add("/img/9f3a2c1b.js", 200, 1)
		}, []string{"3 GET /products", "2 GET /products/{id}", "1 GET /img/{id}.js", "1 GET /products/"}},
		{"too many names below a prefix", nil, func(add func(string, int, int)) {
			for i := range 200 {
				add("/users/"+word(i)+"/orders", 200, 10)
				add("/users/"+word(i), 200, 10)
			}
			add("/users/search", 200, 500)
			add("/carts", 200, 10)
		}, []string{"2500 GET /users/{id}", "2000 GET /users/{id}/orders", "10 GET /carts"}},
		{"few names that are seen once or twice", nil, func(add func(string, int, int)) {
			for i := range 12 {
				add("/users/"+word(i), 200, 1+i/7)
			}
			add("/users/search", 200, 100)
			add("/users/", 200, 1)
		}, []string{"117 GET /users/{id}", "1 GET /users/"}},
		{"functions are requested again and again", nil, func(add func(string, int, int)) {
			for i := range 6 {
				add("/api/"+word(i), 200, 10-i)
			}
		}, []string{"10 GET /api/aaa-name", "9 GET /api/aab-name", "8 GET /api/aac-name", "7 GET /api/aad-name", "6 GET /api/aae-name", "5 GET /api/aaf-name"}},
		{"a rare literal among many requests", nil, func(add func(string, int, int)) {
			add("/api/list", 200, 400)
			add("/api/joe", 200, 2)
		}, []string{"400 GET /api/list", "2 GET /api/{id}"}},
		{"files keep their extension", nil, func(add func(string, int, int)) {
			for i := range 200 {
				add("/img/"+word(i)+".png", 200, 10)
				add("/img/"+word(i)+".css", 200, 5)
			}
		}, []string{"2000 GET /img/{id}.png", "1000 GET /img/{id}.css"}},
		{"paths that only scanners ask for", nil, func(add func(string, int, int)) {
			add("/shop", 200, 10)
			for i := range 1000 {
				add("/"+word(i)+"/admin", 404, 1)
				add("/shop/"+word(i), 404, 1)
			}
			add("/shop", 404, 1)
		}, []string{"11 GET /shop"}},
		{"routes that the user knows", []string{"/users/{name}/orders", "/users/me"}, func(add func(string, int, int)) {
			add("/users/joe/orders", 200, 3)
			add("/users/7/orders", 200, 1)
			for i := range 200 {
				add("/users/"+word(i), 200, 10)
				add("/"+word(i), 200, 10)
			}
			add("/users/me", 200, 5)
		}, []string{"2000 GET /users/{id}", "2000 GET /{id}", "5 GET /users/me", "4 GET /users/{id}/orders"}},
		{"names that are requested alike", nil, func(add func(string, int, int)) {
			for i := range 20 {
				add("/users/"+word(i), 200, 120-i)
				add("/v1/members/"+word(i)+"/orders", 200, 20+i)
			}
			add("/v1/members/search", 200, 5000)
		}, []string{"5000 GET /v1/members/{id}", "2210 GET /users/{id}", "590 GET /v1/members/{id}/orders"}},
		{"functions, which are requested unequally or have different ones below them", nil, func(add func(string, int, int)) {
			for i := range 13 {
				add("/api/"+word(i), 200, 3<<i)
				add("/v1/"+word(i)+"/"+word(100+i), 200, 10)
			}
			for i := range 12 {
				add("/v2/"+word(i), 200, 10)
			}
			for i := range 20 {
				add("/"+word(i), 200, 10)
				add("/static/"+word(i)+".js", 200, 10)
			}
		}, func() (all []string) {
			for i := range 13 {
				all = append(all, fmt.Sprintf("%d GET /api/%s", 3<<(12-i), word(12-i)))
			}
			last := all[11:] // with less than 10 requests
			all = append([]string{}, all[:11]...)
			var tens []string
			for i := range 20 {
				tens = append(tens, "10 GET /"+word(i), "10 GET /static/"+word(i)+".js")
			}
			for i := range 13 {
				tens = append(tens, "10 GET /v1/"+word(i)+"/"+word(100+i))
			}
			for i := range 12 {
				tens = append(tens, "10 GET /v2/"+word(i))
			}
			slices.Sort(tens)
			return append(append(all, tens...), last...)
		}()},
		{"a route that others begin with", []string{"/users/{name}", "/users/me"}, func(add func(string, int, int)) {
			add("/users/joe/orders", 200, 4)
			add("/users/jane/orders/last", 200, 3)
			add("/users/me", 200, 2)
			add("/users/me/orders", 200, 1)
		}, []string{"4 GET /users/{id}/orders", "3 GET /users/{id}/orders/last", "2 GET /users/me", "1 GET /users/me/orders"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			tally := New(Options{Routes: c.routes})
			c.add(func(target string, status, n int) {
				for range n {
					tally.Add(request(accesslog.GET, target, status, 0))
				}
			})
			if diff := cmp.Diff(c.want, templates(tally)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// Places at which names may be left are said, without a name; so are those where they were
// replaced.
func TestPlaces(t *testing.T) {
	tally := New(Options{Routes: []string{"/api/one", "/api/two", "/api/three"}})
	for _, name := range []string{"wilma", "fred", "betty", "barney", "pebbles"} {
		for _, below := range []string{"", "/orders", "/cart", "/likes", "/votes", "/seats"} {
			for range 10 {
				tally.Add(request(accesslog.GET, "/users/"+name+below, 200, 0))
			}
		}
	}
	for i := range 13 {
		for range 10 {
			tally.Add(request(accesslog.GET, fmt.Sprintf("/teams/%c%c/score", 'a'+i, 'x'), 200, 0))
		}
	}
	for _, path := range []string{
		"/api/one", "/api/two", "/api/three", "/api/four", "/api/five", "/api/six", "/api/seven",
		"/owners/wilma.flintstone/pets", "/owners/7", "/img/a.png", "/img/b.min.js", "/v/v2.10", "/a", "/b", "/c", "/d",
	} {
		for range 10 {
			tally.Add(request(accesslog.GET, path, 200, 0))
		}
	}
	if diff := cmp.Diff(Places{Replaced: []string{"/teams"}, Left: []string{"/owners", "/users", "/users/{name}"}}, tally.Places()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestEndpoint(t *testing.T) {
	tally := New(Options{Window: &Window{start * second, (start + 100) * second}})
	for i, r := range []*Request{
		request(accesslog.POST, "/orders?by=web", 201, 99),
		request(accesslog.POST, "/orders?by=web&x=1", 503, 5),
		request(accesslog.POST, "/orders?joe%40=1", 0, 5),
		request(accesslog.GET, "/orders", 200, 5),
		request(accesslog.POST, "/orders", 201, -1),
		request(accesslog.POST, "/orders", 201, 100),
	} {
		r.Latency = int64(i+1) * 1000
		tally.Add(r)
	}
	all := tally.Endpoints()
	if len(all) != 2 || tally.Outside != 2 || tally.Disorder != 3 || tally.Requests != 4 {
		t.Fatalf("%d endpoints, %d outside, %d out of order, %d requests", len(all), tally.Outside, tally.Disorder, tally.Requests)
	}
	e := all[0]
	latency, _ := e.Latency.Max()
	if e.Requests != 3 || e.Errors() != 2 || e.Status != [Classes]uint64{0: 1, 2: 1, 5: 1} || e.Latency.Count() != 1 || latency != 1 || e.variable || e.Keys.Distinct() != 3 {
		t.Errorf("%+v", e)
	}
	if diff := cmp.Diff(map[string]uint64{"by": 2, "x": 1, "": 1}, e.Names); diff != "" {
		t.Error(diff)
	}
	seconds := make([]uint32, 95)
	e.AddTo(seconds, start+5)
	if seconds[0] != 2 || seconds[94] != 1 {
		t.Errorf("%v", seconds)
	}
	if diff := cmp.Diff([]Minute{{start, 3}, {start + 60, 1}}, tally.Minutes()); diff != "" {
		t.Error(diff)
	}
}

// Every request is counted once, in its endpoint and in its second, whatever becomes a
// placeholder; endpoints do not depend on the order of requests that were answered.
func TestNothingIsLost(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		segment := rapid.OneOf(
			rapid.SampledFrom([]string{"users", "orders", "v1", "", "7", "x.js", "3f2a9c1b.js"}),
			rapid.StringMatching("[a-d][a-d][a-d]?"),
		)
		target := rapid.Custom(func(t *rapid.T) string {
			return "/" + strings.Join(rapid.SliceOfN(segment, 1, 4).Draw(t, "segments"), "/")
		})
		targets := rapid.SliceOfN(target, 1, 300).Draw(rt, "targets")
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		var requests []*Request
		for _, target := range targets {
			for range 1 + random.IntN(4) {
				requests = append(requests, request(accesslog.Method(random.IntN(accesslog.Methods)), target, 200, random.Int64N(600)))
			}
		}
		count := func(requests []*Request) []string {
			tally := New(Options{})
			for _, r := range requests {
				tally.Add(r)
			}
			found := templates(tally)
			seconds, whole := make([]uint32, 600), make([]uint32, 600)
			tally.all.addTo(whole, start)
			sum, keys := uint64(0), uint64(0)
			for _, e := range tally.Endpoints() {
				e.AddTo(seconds, start)
				sum += e.Requests
				keys += e.Keys.Total()
			}
			if sum != uint64(len(requests)) || keys != sum || tally.Requests != sum || !slices.Equal(seconds, whole) {
				rt.Fatalf("%d requests, %d in endpoints, %d of keys; seconds %v of %v", len(requests), sum, keys, seconds, whole)
			}
			if tally.tree.nodes != below(&tally.tree.root) || tally.tree.endpoints != len(found) {
				rt.Fatalf("%d nodes, %d endpoints, counted %d and %d", below(&tally.tree.root), len(found), tally.tree.nodes, tally.tree.endpoints)
			}
			return found
		}
		want := count(requests)
		random.Shuffle(len(requests), func(i, j int) { requests[i], requests[j] = requests[j], requests[i] })
		if diff := cmp.Diff(want, count(requests)); diff != "" {
			rt.Fatalf("in another order:\n%s", diff)
		}
	})
}

// below is the number of nodes below one.
func below(n *node) (all int) {
	for _, c := range n.children {
		all += 1 + below(c)
	}
	return all
}

// A series counts as many requests in a second as there are, also where it is merged with
// another one, and says how much room it takes.
func TestSeries(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		left := room{1000, 1000}
		want := make([]uint32, 180)
		one := rapid.Custom(func(t *rapid.T) *series {
			s := &series{}
			for _, at := range rapid.SliceOfN(rapid.Int64Range(0, 179), 1, 10).Draw(t, "seconds") {
				for range rapid.SampledFrom([]int{1, 2, 254, 255, 256, 257, 700}).Draw(t, "requests") {
					if !s.add((start+at)*second, &left) {
						t.Fatal("no room")
					}
					want[at]++
				}
			}
			return s
		})
		all := &series{}
		for _, s := range rapid.SliceOfN(one, 1, 4).Draw(rt, "series") {
			all.merge(s, &left)
		}
		got := make([]uint32, 180)
		all.addTo(got, start)
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Fatalf("-want +got:\n%s", diff)
		}
		if used := all.used(); left.pages+used.pages != 1000 || left.highs+used.highs != 1000 {
			rt.Fatalf("%+v left of 1000, %+v used", left, used)
		}
		minutes := map[int64]uint64{}
		for at, n := range want {
			if n > 0 {
				minutes[start+int64(at)/60*60] += uint64(n)
			}
		}
		for _, m := range all.minutes() {
			if minutes[m.Start] != m.Requests {
				rt.Fatalf("%+v, want %v", m, minutes)
			}
		}
	})
	full := &series{}
	if left := (room{1, 0}); !full.add(0, &left) || full.add(minute, &left) {
		t.Error("two pages in the room of one")
	}
	for range carry - 2 {
		full.add(0, &room{})
	}
	if full.add(0, &room{}) || full.pages[0].at(0) != carry-1 {
		t.Errorf("%d requests without room for a high page", full.pages[0].at(0))
	}
}
