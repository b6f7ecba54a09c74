package stats

import (
	"math"
	"math/rand/v2"

	"assay.dev/assay/internal/judge/stats/source"
)

// series is a simulated run: for each second the number of transactions, the number over
// each limit, and a histogram.
type series struct {
	n       []float64
	reached [][]float64 // by limit, then second
	buckets [][]uint16  // by second
	all     []float64   // buckets of all seconds
	top     int         // no bucket holds anything from there on
	known   map[float64][]Second
}

// Buckets are a 16th of a power of two wide, from 2^-20 to 2^20.
const (
	mantissa    = 4 // bits
	lowest      = 1023 - 20
	highest     = 1023 + 20
	bucketCount = (highest - lowest) << mantissa
)

func bucketOf(v float64) int {
	return min(max(int(math.Float64bits(v)>>(52-mantissa))-lowest<<mantissa, 0), bucketCount-1)
}

// simulate runs a source, and counts transactions over each of the limits.
func simulate(s source.Source, rate, seconds float64, limits []float64, rng *rand.Rand) *series {
	length := int(seconds)
	out := &series{n: make([]float64, length)}
	flat := make([]uint16, length*bucketCount)
	for i := range length {
		out.buckets = append(out.buckets, flat[i*bucketCount:(i+1)*bucketCount])
	}
	for range limits {
		out.reached = append(out.reached, make([]float64, length))
	}
	least := math.Inf(1)
	for _, limit := range limits {
		least = min(least, limit)
	}
	s.Run(rng, rate, seconds, func(at, latency float64) {
		second := min(int(at), length-1)
		out.n[second]++
		out.buckets[second][bucketOf(latency)]++
		if latency < least {
			return
		}
		for i, limit := range limits {
			if latency >= limit {
				out.reached[i][second]++
			}
		}
	})
	return out.until(length)
}

// until are the first seconds of a series.
func (s *series) until(length int) *series {
	out := &series{n: s.n[:length], buckets: s.buckets[:length], all: make([]float64, bucketCount), known: map[float64][]Second{}}
	for _, r := range s.reached {
		out.reached = append(out.reached, r[:length])
	}
	for _, b := range out.buckets {
		for i, n := range b {
			out.all[i] += float64(n)
			if n > 0 && i >= out.top {
				out.top = i + 1
			}
		}
	}
	return out
}

// violations are the samples over one limit in each second.
func (s *series) violations(limit int) []Second {
	all := make([]Second, len(s.n))
	for i, n := range s.n {
		all[i] = Second{N: n, K: s.reached[limit][i]}
	}
	return all
}

// countLargest counts about this many of the largest samples, by second.
func (s *series) countLargest(largest float64) []Second {
	if all, ok := s.known[largest]; ok {
		return all
	}
	from, sum := len(s.all), 0.0
	for from > 0 && sum < largest {
		from--
		sum += s.all[from]
	}
	all := make([]Second, len(s.n))
	for i, n := range s.n {
		all[i].N = n
		for _, k := range s.buckets[i][from:s.top] {
			all[i].K += float64(k)
		}
	}
	s.known[largest] = all
	return all
}
