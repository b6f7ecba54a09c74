package longrun

import (
	"math"
	"math/rand/v2"
	"slices"

	"assay.dev/assay/internal/observe/metric"
)

// lognormal is a component of a mixture distribution.
type lognormal struct {
	share  float64 // of all values (0,1]
	median float64 // ms
	sigma  float64 // of the logarithm
}

// spread is a mixture distribution in the buckets of a histogram. Shares that do not add
// up to 1 leave the rest of the values 0.
type spread struct {
	values []float64
	share  []float64 // of all values, by value
	below  []float64 // cumulative shares, including this one
}

// minShare is the smallest share of a bucket that is kept. A smaller one expects less
// than one of the run's 18 million values.
const minShare = 1e-8

func newSpread(parts ...lognormal) *spread {
	s := &spread{}
	const perOctave = 1 << metric.Scale
	zeros := 1.0
	for _, p := range parts {
		zeros -= p.share
	}
	if zeros > minShare {
		s.values, s.share = append(s.values, 0), append(s.share, zeros)
	}
	for i := -20 * perOctave; i < 20*perOctave; i++ { // from a nanosecond to a quarter of an hour
		v, share := math.Exp2((float64(i)+0.5)/perOctave), 0.0
		for _, p := range parts {
			z := (math.Log(v) - math.Log(p.median)) / p.sigma
			share += p.share * math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) / p.sigma * math.Ln2 / perOctave
		}
		if share > minShare {
			s.values, s.share = append(s.values, v), append(s.share, share)
		}
	}
	sum := 0.0
	for _, share := range s.share {
		sum += share
		s.below = append(s.below, sum)
	}
	return s
}

// draw records n values, and returns for each bound how many are at or above it.
func (s *spread) draw(random *rand.Rand, n int64, into *metric.Hist, bounds ...float64) (reach []int64) {
	reach = make([]int64, len(bounds))
	if n == 0 {
		return reach
	}
	took := func(i int, times int64) {
		into.Record(s.values[i], uint64(times))
		for b, bound := range bounds {
			if s.values[i] >= bound {
				reach[b] += times
			}
		}
	}
	whole := s.below[len(s.below)-1]
	left := n
	if n > int64(len(s.values))/4 {
		// Most of them by bucket, as Poisson counts; the rest one by one.
		few := float64(n) - 3*math.Sqrt(float64(n))
		for i, share := range s.share {
			if times := min(poisson(random, max(0, few)*share/whole), left); times > 0 {
				took(i, times)
				left -= times
			}
		}
	}
	for ; left > 0; left-- {
		took(s.one(random), 1)
	}
	return reach
}

// one draws the index of a value.
func (s *spread) one(random *rand.Rand) int {
	i, _ := slices.BinarySearch(s.below, random.Float64()*s.below[len(s.below)-1])
	return min(i, len(s.values)-1)
}

// poisson draws from the Poisson distribution, by the normal approximation if the mean is
// large.
func poisson(random *rand.Rand, mean float64) (n int64) {
	if mean > 20 {
		return max(0, int64(math.Round(mean+math.Sqrt(mean)*random.NormFloat64())))
	}
	// Knuth's algorithm: the number of factors that keep the product above e^-mean.
	end, product := math.Exp(-mean), random.Float64()
	for ; product > end; n++ {
		product *= random.Float64()
	}
	return n
}
