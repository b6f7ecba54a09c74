package k6

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestGCPercent(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		name string
		live uint64
		rate float64
		want int
	}{
		{"a small heap at a small rate", 20 * mib, 100, 400},
		{"a small heap at a high rate has room for five seconds", 20 * mib, 6400, 2500},
		{"a small heap at a higher rate, up to the bound", 32 * mib, 1e6, 3200},
		{"a large heap, up to the bound", 512 * mib, 6400, 200},
		{"at least Go's default", 4096 * mib, 6400, 100},
	} {
		if got := gcPercent(c.live, c.rate); got != c.want {
			t.Errorf("%s: %d %%, want %d", c.name, got, c.want)
		}
	}
}

// A heap that grows after the target was set must not multiply the room.
func TestGCTunerFollowsTheLiveHeap(t *testing.T) {
	t.Setenv("GOGC", "")
	runtime.GC()
	g := newGCTuner(6400)
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	g.adjust()
	small, limit := g.percent, g.limit
	kept := make([]byte, 256<<20) // over a tenth of the limit
	runtime.GC()
	g.adjust()
	if g.percent >= small || g.percent < minPercent {
		t.Errorf("the target is %d %%, and %d %% with 256 MiB more", small, g.percent)
	}
	if more := g.limit - limit; more < 200<<20 || debug.SetMemoryLimit(-1) != g.limit || limit < 2*maxRoom {
		t.Errorf("the limit is %d, and %d more with 256 MiB more", limit, more)
	}
	runtime.KeepAlive(kept)
	t.Setenv("GOGC", "100")
	g = newGCTuner(6400)
	if g.adjust(); g.percent != 0 {
		t.Errorf("the environment's target was replaced by %d %%", g.percent)
	}
}
