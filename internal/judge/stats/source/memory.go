package source

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/dsp/fourier"
)

// LongMemory is exponential latency whose mean is exp(sigma z), z fractional Gaussian noise
// with steps of a second and the Hurst exponent h: the variance of its mean over n seconds
// falls with n^(2h-2), and no batch is long enough to be independent of the next.
func LongMemory(h, sigma float64) Source {
	s := Modulated(1, sigma) // the same stationary distribution
	return Source{
		Name:  fmt.Sprintf("fractional noise, H %g, sigma %g", h, sigma),
		Limit: s.Limit,
		Run: func(rng *rand.Rand, rate, seconds float64, visit func(at, latency float64)) {
			z := fractionalNoise(rng, h, int(math.Ceil(seconds)))
			arrivals(rng, rate, seconds, func(at float64) {
				visit(at, math.Exp(sigma*z[int(at)])*rng.ExpFloat64())
			})
		},
	}
}

// fractionalNoise are n values of fractional Gaussian noise of variance 1, by circulant
// embedding (Davies and Harte 1987).
func fractionalNoise(rng *rand.Rand, h float64, n int) []float64 {
	size := 1
	for size < n {
		size *= 2
	}
	row := make([]float64, 2*size)
	for k := range size + 1 {
		x := float64(k)
		c := (math.Pow(x+1, 2*h) - 2*math.Pow(x, 2*h) + math.Pow(math.Abs(x-1), 2*h)) / 2
		row[k] = c
		if k > 0 && k < size {
			row[2*size-k] = c
		}
	}
	eigen := fourier.NewFFT(len(row)).Coefficients(nil, row)
	spectrum := make([]complex128, len(row))
	at := func(k int, scale float64) float64 { return math.Sqrt(math.Max(0, real(eigen[k])) * scale) }
	spectrum[0] = complex(at(0, 1)*rng.NormFloat64(), 0)
	spectrum[size] = complex(at(size, 1)*rng.NormFloat64(), 0)
	for k := 1; k < size; k++ {
		x := complex(at(k, 0.5)*rng.NormFloat64(), at(k, 0.5)*rng.NormFloat64())
		spectrum[k], spectrum[2*size-k] = x, complex(real(x), -imag(x))
	}
	all := fourier.NewCmplxFFT(len(row)).Sequence(nil, spectrum)
	z := make([]float64, n)
	for i := range z {
		z[i] = real(all[i]) / math.Sqrt(float64(len(row)))
	}
	return z
}

// Superposed is exponential latency that grows with the number of jobs at work beside it, of
// ten. Each works and rests for Pareto times of shape a, on average for 3 s and 7 s: for a
// below 2 the number has a long memory, of the Hurst exponent (3 - a)/2 (Taqqu, Willinger and
// Sherman 1997).
func Superposed(a float64) Source {
	const jobs, on, off, slower = 10, 3.0, 7.0, 0.5
	share := on / (on + off)
	tail := func(x float64) (sum float64) {
		p := math.Pow(1-share, jobs)
		for k := range jobs + 1 {
			sum += p * math.Exp(-x/(1+slower*float64(k)))
			p *= float64(jobs-k) / float64(k+1) * share / (1 - share)
		}
		return sum
	}
	lasts := func(rng *rand.Rand, mean float64) float64 {
		return mean * (a - 1) / a * math.Pow(1-rng.Float64(), -1/a)
	}
	residual := func(rng *rand.Rand, mean float64) float64 { // of a period under way
		least, u := mean*(a-1)/a, rng.Float64()
		if within := least / mean; u < within {
			return u * mean
		}
		return least * math.Pow((1-u)*a, 1/(1-a))
	}
	return Source{
		Name:  fmt.Sprintf("ten jobs at work for Pareto times, shape %g", a),
		Limit: func(v, _ float64) float64 { return where(tail, v) },
		Run: func(rng *rand.Rand, rate, seconds float64, visit func(at, latency float64)) {
			var works [jobs]bool
			var until [jobs]float64
			count := 0
			for i := range works {
				if works[i] = rng.Float64() < share; works[i] {
					until[i], count = residual(rng, on), count+1
				} else {
					until[i] = residual(rng, off)
				}
			}
			arrivals(rng, rate, seconds, func(at float64) {
				for i := range works {
					for at > until[i] {
						if works[i] = !works[i]; works[i] {
							until[i], count = until[i]+lasts(rng, on), count+1
						} else {
							until[i], count = until[i]+lasts(rng, off), count-1
						}
					}
				}
				visit(at, (1+slower*float64(count))*rng.ExpFloat64())
			})
		},
	}
}

// Pauses is a system that stops for a share of the time, in pauses of equal length, one per period: a
// garbage collection, or a failover. Regular pauses come at equal intervals, give or take a tenth of
// the period; the others come at random. Transactions that are due in a pause take at least
// PauseLimit; all others take less than half of it.
func Pauses(share, period float64, regular bool) Source {
	// Pauses that come at random may overlap.
	lasts := share * period
	if !regular {
		lasts = -math.Log1p(-share) * period
	}
	return Source{
		Name:  fmt.Sprintf("a pause every %g s", period),
		Limit: func(_, _ float64) float64 { return PauseLimit },
		Run: func(rng *rand.Rand, rate, seconds float64, visit func(at, latency float64)) {
			var from []float64
			if regular {
				for i, phase := -1.0, rng.Float64(); i*period < seconds; i++ {
					from = append(from, (i+phase+0.2*(rng.Float64()-0.5))*period)
				}
			} else {
				for at := -lasts + rng.ExpFloat64()*period; at < seconds; at += rng.ExpFloat64() * period {
					from = append(from, at)
				}
			}
			arrivals(rng, rate, seconds, func(at float64) {
				for len(from) > 0 && at >= from[0]+lasts {
					from = from[1:]
				}
				latency := PauseLimit / 2 * rng.Float64()
				if len(from) > 0 && at >= from[0] {
					latency = PauseLimit * (1 + rng.Float64())
				}
				visit(at, latency)
			})
		},
	}
}

// PauseLimit is the bound that the transactions of Pauses exceed in a pause.
const PauseLimit = 1.0
