package model

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// level is a rate for a number of seconds, at which it may have changed linearly from the one
// before.
type level struct {
	seconds int
	rate    float64
	ramp    bool
}

// series is requests of each second at random times.
func series(random *rand.Rand, levels ...level) (all []uint32) {
	before := 0.0
	for _, l := range levels {
		for i := range l.seconds {
			rate := l.rate
			if l.ramp {
				rate = before + (l.rate-before)*float64(i)/float64(l.seconds)
			}
			all = append(all, poisson(random, rate))
		}
		before = l.rate
	}
	return all
}

// poisson draws a number of arrivals: by their exponential distances, or for many from the
// normal distribution that is close to it.
func poisson(random *rand.Rand, mean float64) (n uint32) {
	if mean > 50 {
		return uint32(max(0, math.Round(mean+math.Sqrt(mean)*random.NormFloat64())))
	}
	for at := random.ExpFloat64(); at < mean; at += random.ExpFloat64() {
		n++
	}
	return n
}

func TestSteps(t *testing.T) {
	for seed, c := range []struct {
		name  string
		flows [][]level
		want  []int // where steps begin, but for the first
		peak  int
		near  int // seconds
	}{
		{"a flat log", [][]level{{{3600, 100, false}}}, nil, 0, 0},
		{"a short log", [][]level{{{20, 5, false}, {20, 50, false}}}, nil, 0, 0},
		{"one second", [][]level{{{1, 5, false}}}, nil, 0, 0},
		{"a match", [][]level{{{3600, 50, false}, {1800, 200, false}, {180, 900, false}, {3600, 300, false}, {600, 20, false}}}, []int{3600, 5400, 5580, 9180}, 2, 20},
		{"a spike of two minutes in ten hours", [][]level{{{18_000, 50, false}, {120, 200, false}, {18_000, 50, false}}}, []int{18_000, 18_120}, 1, 15},
		{"few requests", [][]level{{{1800, 0.5, false}, {1800, 3, false}}}, []int{1800}, 1, 120},
		{"the peak at the start", [][]level{{{600, 300, false}, {1800, 100, false}}}, []int{600}, 0, 15},
		{"one flow for another", [][]level{{{1800, 100, false}, {1800, 20, false}}, {{1800, 20, false}, {1800, 100, false}}, {{300, 5, false}, {120, 60, false}, {3180, 5, false}}}, []int{300, 420, 1800}, 1, 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(uint64(seed), 1))
			var flows [][]uint32
			var total []uint32
			for _, levels := range c.flows {
				flows = append(flows, series(random, levels...))
				total = append(total, make([]uint32, len(flows[0])-len(total))...)
				for i, n := range flows[len(flows)-1] {
					total[i] += n
				}
			}
			spans, peak := steps(total, flows, peakOf(total, 60))
			var begins []int
			for _, s := range spans[1:] {
				begins = append(begins, s.from)
			}
			far := len(begins) != len(c.want)
			for i := range min(len(begins), len(c.want)) {
				far = far || abs(begins[i]-c.want[i]) > c.near
			}
			if far || peak != c.peak {
				t.Errorf("steps begin at %v, the peak is %d; want %v, %d", begins, peak, c.want, c.peak)
			}
		})
	}
}

func abs(n int) int { return max(n, -n) }

// Steps follow each other and cover the time, and one has the peak minute, of any series.
func TestStepsCoverTheTime(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		var levels []level
		for range rapid.IntRange(1, 6).Draw(rt, "levels") {
			levels = append(levels, level{1 + random.IntN(1000), math.Exp(8*random.Float64() - 4), random.IntN(2) == 0})
		}
		total := series(random, levels...)
		spans, peak := steps(total, [][]uint32{total}, peakOf(total, 60))
		if len(spans) > 7 || peak < 0 || peak >= len(spans) {
			rt.Fatalf("%v, the peak is %d", spans, peak)
		}
		at := 0
		for i, s := range spans {
			if s.from != at || s.seconds() < 1 {
				rt.Fatalf("%v", spans)
			}
			at = s.to
			if i > 0 {
				if r := rise(total, spans[i-1], s); r < 1 || r > spans[i-1].seconds()+s.seconds() {
					rt.Fatalf("a rise of %d s", r)
				}
			}
		}
		if top := peakOf(total, 60); at != len(total) || top.at < spans[peak].from || top.at+top.seconds > spans[peak].to {
			rt.Fatalf("%v of %d s, peak %d at %+v", spans, len(total), peak, top)
		}
	})
}

func TestRise(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct{ ramp, least, most int }{{0, 1, 10}, {60, 35, 65}} {
		total := series(random, level{600, 100, false}, level{c.ramp, 500, true}, level{600, 500, false})
		if got := rise(total, span{0, 600 + c.ramp/2}, span{600 + c.ramp/2, len(total)}); got < c.least || got > c.most {
			t.Errorf("a ramp of %d s is a rise of %d s", c.ramp, got)
		}
	}
}

func TestDispersion(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	even := slices.Repeat([]uint32{20}, 600)
	for _, c := range []struct {
		name       string
		seconds    []uint32
		want, near float64
	}{
		{"Poisson", series(random, level{3600, 20, false}), 1, 0.1},
		{"Poisson with few requests", series(random, level{36_000, 0.7, false}), 1, 0.1},
		{"steps and ramps", series(random, level{600, 20, false}, level{1200, 90, true}, level{90, 500, false}), 1, 0.1},
		{"even", even, 0, 0},
		{"batches of five", func() []uint32 {
			all := series(random, level{3600, 4, false})
			for i := range all {
				all[i] *= 5
			}
			return all
		}(), 5, 0.5},
	} {
		if got, ok := dispersionOf(c.seconds); !ok || math.Abs(got-c.want) > c.near {
			t.Errorf("%s: %g, %t, want %g", c.name, got, ok, c.want)
		}
	}
	for _, few := range [][]uint32{nil, even[:59], make([]uint32, 600), series(random, level{600, 0.1, false})} {
		if got, ok := dispersionOf(few); ok {
			t.Errorf("of %d requests: %g", sumOf(few), got)
		}
	}
}

func TestGaps(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	busy := func(seconds int) []uint32 { return series(random, level{seconds, 5, false}) }
	for _, c := range []struct {
		name    string
		seconds []uint32
		want    []span
	}{
		{"none", busy(600), nil},
		{"one of a minute", slices.Concat(busy(600), make([]uint32, 60), []uint32{1}, busy(600)), []span{{600, 660}}},
		{"too short", slices.Concat(busy(600), []uint32{1}, make([]uint32, 59), []uint32{1}, busy(600)), nil},
		{"few requests", series(random, level{36_000, 0.02, false}), nil},
		{"at the end", slices.Concat(busy(600), []uint32{1}, make([]uint32, 100)), []span{{601, 701}}},
	} {
		if got := gapsOf(c.seconds); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestPeakOf(t *testing.T) {
	seconds := []uint32{1, 5, 2, 4, 3, 0, 7}
	for length, want := range map[int]peak{1: {6, 1, 7}, 2: {1, 2, 7}, 3: {1, 3, 11}, 7: {0, 7, 22}, 60: {0, 7, 22}} {
		if got := peakOf(seconds, length); got != want {
			t.Errorf("of %d s: %+v, want %+v", length, got, want)
		}
	}
}

func TestRounding(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 1234.56: "1235", 0.00123456: "0.001235", 99.996: "100", 7: "7", 123456: "123500"} {
		if got := fmt.Sprint(significant(v)); got != want {
			t.Errorf("%g is rounded to %s, want %s", v, got, want)
		}
	}
	for v, want := range map[float64]string{0: "0", 10: "10", 10.1: "12", 0.021: "0.025", 0.02: "0.02", 79: "80", 81: "100", 4e3: "4000"} {
		if got := fmt.Sprint(roundUp(v)); got != want {
			t.Errorf("%g is rounded up to %s, want %s", v, got, want)
		}
	}
}
