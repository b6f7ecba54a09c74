package source

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Source is a simulated system whose distribution of latency is known.
type Source struct {
	Name string
	// Limit is the latency that a share v of all transactions reaches or exceeds: the
	// bound of a condition with that share of violations.
	Limit func(v, rate float64) float64
	// Run simulates the load and visits each transaction: when it was due, and how
	// long it took. at is in seconds, latency in the unit of Limit.
	Run func(rng *rand.Rand, rate, seconds float64, visit func(at, latency float64))
}

// where is the x at which a decreasing tail(x) equals v.
func where(tail func(x float64) float64, v float64) float64 {
	high := 1.0
	for tail(high) > v {
		high *= 2
	}
	low := 0.0
	for range 60 {
		if x := (low + high) / 2; tail(x) <= v {
			high = x
		} else {
			low = x
		}
	}
	return high
}

// arrivals visits the points of a Poisson process.
func arrivals(rng *rand.Rand, rate, seconds float64, visit func(at float64)) {
	for at := rng.ExpFloat64() / rate; at < seconds; at += rng.ExpFloat64() / rate {
		visit(at)
	}
}

// OnOff is exponential latency that is slower times as long while it is on. It is on
// for exponential times, on average for a share of the period.
func OnOff(name string, period, share, slower float64) Source {
	return Source{
		Name: name,
		Limit: func(v, _ float64) float64 {
			return where(func(x float64) float64 {
				return (1-share)*math.Exp(-x) + share*math.Exp(-x/slower)
			}, v)
		},
		Run: func(rng *rand.Rand, rate, seconds float64, visit func(at, latency float64)) {
			on := rng.Float64() < share
			lasts := func() float64 {
				if on {
					return rng.ExpFloat64() * period * share
				}
				return rng.ExpFloat64() * period * (1 - share)
			}
			until := lasts()
			arrivals(rng, rate, seconds, func(at float64) {
				for at > until {
					on = !on
					until += lasts()
				}
				latency := rng.ExpFloat64()
				if on {
					latency *= slower
				}
				visit(at, latency)
			})
		},
	}
}

// Modulated is exponential latency whose mean is exp(sigma z), z a first-order
// autoregression with the correlation time given in seconds.
func Modulated(correlation, sigma float64) Source {
	const step = 0.1 // s
	weight := 0.0
	var weights, rates []float64 // by the value of z
	for z := -6.0; z <= 6; z += 0.02 {
		weights, rates = append(weights, math.Exp(-z*z/2)), append(rates, math.Exp(-sigma*z))
		weight += weights[len(weights)-1]
	}
	tail := func(x float64) (sum float64) {
		for i, w := range weights {
			sum += w * math.Exp(-x*rates[i])
		}
		return sum / weight
	}
	// The limits that were asked for, always by one goroutine.
	known := map[float64]float64{}
	return Source{
		Name: fmt.Sprintf("AR(1), %g s, sigma %g", correlation, sigma),
		Limit: func(v, _ float64) float64 {
			if _, ok := known[v]; !ok {
				known[v] = where(tail, v)
			}
			return known[v]
		},
		Run: func(rng *rand.Rand, rate, seconds float64, visit func(at, latency float64)) {
			memory := math.Exp(-step / correlation)
			fresh := math.Sqrt(1 - memory*memory)
			z, next := rng.NormFloat64(), step
			mean := math.Exp(sigma * z)
			arrivals(rng, rate, seconds, func(at float64) {
				for ; at > next; next += step {
					z = memory*z + fresh*rng.NormFloat64()
					mean = math.Exp(sigma * z)
				}
				visit(at, mean*rng.ExpFloat64())
			})
		},
	}
}

// Stalling stalls once per period, for 6 % of it. Transactions that are due during a
// stall wait for its end; all others take up to a hundredth of the stall. Those due in
// the first share v of the period violate Limit(v).
func Stalling(period float64) Source {
	stall := 0.06 * period
	return Source{
		Name:  fmt.Sprintf("a stall every %g s", period),
		Limit: func(v, _ float64) float64 { return stall - v*period },
		Run: func(rng *rand.Rand, rate, seconds float64, visit func(at, latency float64)) {
			phase := rng.Float64() * period
			arrivals(rng, rate, seconds, func(at float64) {
				visit(at, max(stall/100*rng.Float64(), stall-math.Mod(at+phase, period)))
			})
		},
	}
}

// Drifting is exponential latency whose mean follows a shape over the window,
// given as a function of the elapsed share of the window.
func Drifting(name string, shape func(x float64) float64) Source {
	const steps = 1000
	return Source{
		Name: name,
		Limit: func(v, _ float64) float64 {
			return where(func(x float64) float64 {
				share := 0.0
				for i := range steps {
					share += math.Exp(-x/shape((float64(i)+0.5)/steps)) / steps
				}
				return share
			}, v)
		},
		Run: func(rng *rand.Rand, rate, seconds float64, visit func(at, latency float64)) {
			arrivals(rng, rate, seconds, func(at float64) {
				visit(at, rng.ExpFloat64()*shape(at/seconds))
			})
		},
	}
}
