package longrun

import (
	"math"
	"math/rand/v2"

	"assay.dev/assay/internal/observe/metric"
)

// lognormal is a component of a mixture distribution.
type lognormal struct {
	share  float64 // share of all values (0,1]
	median float64 // ms
	sigma  float64 // standard deviation of the logarithm
}

// spread is a mixture distribution. Shares that do not add up to 1 leave the rest of the
// values 0.
type spread []lognormal

// draw records n values, and returns for each bound how many are at or above it.
func (s spread) draw(random *rand.Rand, n int64, into *metric.Hist, bounds ...float64) (reach []int64) {
	reach = make([]int64, len(bounds))
	for range n {
		v := s.one(random)
		into.Record(v, 1)
		for b, bound := range bounds {
			if v >= bound {
				reach[b]++
			}
		}
	}
	return reach
}

func (s spread) one(random *rand.Rand) float64 {
	at := random.Float64()
	for _, p := range s {
		if at < p.share {
			return p.median * math.Exp(p.sigma*random.NormFloat64())
		}
		at -= p.share
	}
	return 0
}

// some draws how many of n have a property that each of them may have.
func some(random *rand.Rand, share float64, n int64) (drawn int64) {
	for range n {
		if random.Float64() < share {
			drawn++
		}
	}
	return drawn
}
