package k6

import "testing"

func TestCollectorsTarget(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		name string
		live uint64
		rate float64
		want int
	}{
		{"a small heap at a small rate", 20 * mib, 100, leastGC},
		{"a small heap at a high rate has room for five seconds", 20 * mib, 6400, 2500},
		{"up to the bound", 32 * mib, 1e6, 3200},
		{"a large heap is room enough", 512 * mib, 6400, leastGC},
		{"nothing known", 0, 0, leastGC},
	} {
		if got := gcPercent(c.live, c.rate); got != c.want {
			t.Errorf("%s: %d %%, want %d", c.name, got, c.want)
		}
	}
}
