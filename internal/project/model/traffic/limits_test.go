//go:build live

package traffic

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"assay.dev/assay/internal/project/model/accesslog"
	"assay.dev/assay/internal/testing/budget"
)

// Requests with a new path, name, method and minute each need no more memory than the limits.
func TestBounds(t *testing.T) {
	budget.CPUs(t, 0.5)
	tally := New(Options{})
	random := rand.New(rand.NewPCG(1, 1))
	word := func() string {
		b := make([]byte, 1+random.IntN(7))
		for i := range b {
			b[i] = byte('a' + random.IntN(26))
		}
		return string(b)
	}
	const n = 215_000 // in more than maxMinutes minutes
	for range n {
		target := ""
		for range 1 + random.IntN(11) {
			target += "/" + word()
		}
		tally.Add(request(accesslog.Method(random.IntN(accesslog.Methods)), target+"?"+word()+"&"+word(), 200, random.Int64N(1e9)))
	}
	var used room
	for _, e := range append(tally.Endpoints(), &tally.Others, &tally.Unknown) {
		used.pages += e.seconds.used().pages
		used.highs += e.seconds.used().highs
	}
	if len(tally.shapes) > maxShapes || tally.tree.nodes > maxNodes || tally.tree.endpoints > maxEndpoints || tally.all.used().pages > maxMinutes || used.pages > maxPages || used.highs > maxHighs {
		t.Errorf("%d shapes, %d nodes, %d endpoints, %d minutes, %+v", len(tally.shapes), tally.tree.nodes, tally.tree.endpoints, tally.all.used().pages, used)
	}
	if tally.Apart == 0 || tally.Requests+tally.Apart != n {
		t.Errorf("%d requests and %d apart, want %d", tally.Requests, tally.Apart, n)
	}
}

// There is room for every second of a day of as many endpoints as are counted.
func TestDay(t *testing.T) {
	budget.CPUs(t, 0.5)
	tally := New(Options{})
	requests := make([]*Request, maxEndpoints)
	for i := range requests {
		requests[i] = request(accesslog.Method(i%2), fmt.Sprintf("/%c%c/%c%c", 'a'+i/2%5, 'a'+i/10%10, 'a'+i/100%5, 'a'+i/500), 200, 0)
	}
	for m := range int64(24 * 60) {
		for _, r := range requests {
			r.At = (start + 60*m) * second
			tally.Add(r)
		}
	}
	if n := len(tally.Endpoints()); n != maxEndpoints || tally.Coarse != 0 || tally.Others.Requests != 0 {
		t.Errorf("%d endpoints, %d requests without seconds, %d without an endpoint", n, tally.Coarse, tally.Others.Requests)
	}
}
