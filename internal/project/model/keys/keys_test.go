package keys

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cespare/xxhash/v2"
	"pgregory.net/rapid"
)

func hash(key int) uint64 {
	return xxhash.Sum64(binary.LittleEndian.AppendUint64(nil, uint64(key)))
}

// draw requests n keys of a Zipf distribution, and returns the sketch and the counts of all
// keys, the highest first.
func draw(keys int, exponent float64, n int, seed uint64) (*Sketch, []int) {
	random := rand.New(rand.NewPCG(seed, 1))
	cumulative := make([]float64, keys)
	sum := 0.0
	for i := range cumulative {
		sum += math.Pow(float64(i+1), -exponent)
		cumulative[i] = sum
	}
	s, counts := &Sketch{}, make([]int, keys)
	for range n {
		i, _ := slices.BinarySearch(cumulative, random.Float64()*sum)
		counts[i]++
		s.Add(hash(i), 1)
	}
	slices.SortFunc(counts, func(a, b int) int { return b - a })
	return s, counts
}

func TestSkew(t *testing.T) {
	for seed, c := range []struct {
		keys     int
		exponent float64
		n        int
		within   float64 // error of the exponent
	}{
		{100_000, 1.1, 300_000, 0.05},
		{100_000, 0.8, 300_000, 0.05},
		{1000, 1, 100_000, 0.03},
		{500, 1.5, 20_000, 0.03},
		{200, 0, 100_000, 0.05},
		{50_000, 0, 100_000, 0.05},
		{1_000_000, 0, 100_000, 0.05},
		{20, 2, 50_000, 0.03},
	} {
		t.Run(fmt.Sprintf("%d keys, exponent %g", c.keys, c.exponent), func(t *testing.T) {
			s, counts := draw(c.keys, c.exponent, c.n, uint64(seed))
			distinct, _ := slices.BinarySearchFunc(counts, 0, func(n, _ int) int {
				if n > 0 {
					return -1
				}
				return 1
			})
			got := s.Skew()
			if relative(got.Distinct, float64(distinct)) > 0.06 { // four standard errors
				t.Errorf("%g distinct keys, want %d", got.Distinct, distinct)
			}
			if math.Abs(got.Exponent-c.exponent) > c.within {
				t.Errorf("exponent %g, want %g", got.Exponent, c.exponent)
			}
			if relative(got.Keys, float64(c.keys)) > 0.5 {
				t.Errorf("%g keys, want %d", got.Keys, c.keys)
			}
			share := 0.0
			for _, n := range counts[:max(1, distinct/100)] {
				share += float64(n) / float64(c.n)
			}
			// Keys that were each requested a few times have no order but by chance, which
			// the fit leaves out.
			if mean := float64(c.n) / float64(distinct); (mean > leastCount || c.exponent > 0) && relative(got.TopShare, share) > 0.1 {
				t.Errorf("the top 1 %% have %g of the requests (counted: %t), want %g", got.TopShare, got.Counted, share)
			}
		})
	}
	if got := (&Sketch{}).Skew(); got != (Skew{}) {
		t.Errorf("without requests: %+v", got)
	}
	one := &Sketch{}
	one.Add(7, 5)
	if got := one.Skew(); got.Distinct != 1 || got.Keys != 1 || got.TopShare != 1 || !got.Counted {
		t.Errorf("of one key: %+v", got)
	}
	each := &Sketch{}
	for i := range 100_000 {
		each.Add(hash(i), 1)
	}
	if got := each.Skew(); got.Exponent != 0 || got.Keys < 1e6 || got.TopShare > 0.011 {
		t.Errorf("of keys that were requested once: %+v", got)
	}
}

func relative(got, want float64) float64 { return math.Abs(got-want) / want }

// A sketch never counts a key too high, nor too low by more than it says, however requests
// are divided over sketches that are merged; and it stays small.
func TestSketchBounds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		parts := make([]Sketch, rapid.IntRange(1, 4).Draw(rt, "parts"))
		keys := rapid.IntRange(1, 5000).Draw(rt, "keys")
		n := rapid.IntRange(0, 20_000).Draw(rt, "requests")
		truth := map[uint64]uint64{}
		for range n {
			key := hash(int(float64(keys) * math.Pow(random.Float64(), 3)))
			truth[key]++
			parts[random.IntN(len(parts))].Add(key, 1)
		}
		var all Sketch
		for i := range parts {
			all.Merge(&parts[i])
		}
		if all.Total() != uint64(n) || len(all.counts) > size || all.purged > uint64(4*n/size) {
			rt.Fatalf("%d of %d requests, %d counts, %d purged", all.Total(), n, len(all.counts), all.purged)
		}
		for key, want := range truth {
			got := all.counts[key]
			if got > want || got+all.purged < want {
				rt.Fatalf("%d requests of a key, counted %d with %d purged", want, got, all.purged)
			}
		}
		if d := all.Distinct(); len(truth) > 0 && relative(d, float64(len(truth))) > 0.08 {
			rt.Fatalf("%g distinct keys, want %d", d, len(truth))
		}
	})
}

func TestHarmonic(t *testing.T) {
	for _, s := range []float64{0, 0.5, 1, 1.3, 3} {
		sum := 0.0
		for i := 1.0; i <= 100_000; i++ {
			sum += math.Pow(i, -s)
			if i == 10 || i == 64 || i == 65 || i == 1000 || i == 100_000 {
				if got := harmonic(i, s); relative(got, sum) > 1e-5 {
					t.Errorf("sum of %g terms with exponent %g is %g, want %g", i, s, got, sum)
				}
			}
		}
	}
}
