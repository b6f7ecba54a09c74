package source

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// MM1 is M/M/1 at utilisation rho: Poisson arrivals, one server with
// exponential service. The time in system is exponential with rate mu - lambda.
func MM1(rho float64) Source {
	return Source{
		Name:  fmt.Sprintf("M/M/1, rho %g", rho),
		Limit: func(v, rate float64) float64 { return -math.Log(v) / (rate/rho - rate) },
		Run:   lindley(rho, func(rng *rand.Rand) float64 { return rng.ExpFloat64() }),
	}
}

// lindley runs a queue with one server: the wait follows W' = max(0, W + S - A).
// Service has a mean of 1 and is scaled to the utilisation. The first 5,000 arrivals,
// from an idle start, are not visited.
func lindley(rho float64, service func(*rand.Rand) float64) func(*rand.Rand, float64, float64, func(at, latency float64)) {
	return func(rng *rand.Rand, rate, seconds float64, visit func(at, latency float64)) {
		const lead = 5000
		mean, wait := rho/rate, 0.0
		for i, at := 0, 0.0; at < seconds; i++ {
			took := wait + service(rng)*mean
			gap := rng.ExpFloat64() / rate
			if i >= lead {
				visit(at, took)
				at += gap
			}
			wait = max(0, took-gap)
		}
	}
}

// general is M/G/1 for a service of mean 1 with the tail G(x) and its residual
// (equilibrium) tail H(x). The wait is a geometric sum of residuals
// (Pollaczek-Khinchine), summed on a grid by Panjer's recursion.
func general(name string, rho float64, service func(*rand.Rand) float64, tail, residual func(x float64) float64) Source {
	const h, points = 0.05, 24_000
	var waits []float64 // probability of each point
	total := func(x float64) float64 {
		sum, cumulative := 0.0, 0.0
		for i, p := range waits {
			w := float64(i) * h
			if w >= x {
				break
			}
			sum += p * tail(x-w)
			cumulative += p
		}
		return sum + 1 - cumulative
	}
	known := map[float64]float64{}
	return Source{
		Name: name,
		Limit: func(v, rate float64) float64 {
			if waits == nil {
				r := make([]float64, points)
				r[0] = 1 - residual(h/2)
				for i := 1; i < points; i++ {
					r[i] = residual((float64(i)-0.5)*h) - residual((float64(i)+0.5)*h)
				}
				waits = make([]float64, points)
				waits[0] = (1 - rho) / (1 - rho*r[0])
				for i := 1; i < points; i++ {
					sum := 0.0
					for j := 1; j <= i; j++ {
						sum += r[j] * waits[i-j]
					}
					waits[i] = rho / (1 - rho*r[0]) * sum
				}
			}
			if _, ok := known[v]; !ok {
				known[v] = where(total, v)
			}
			return known[v] * rho / rate
		},
		Run: lindley(rho, service),
	}
}

// Pareto is M/G/1 with Pareto service of shape a > 1: tail (x0/x)^a.
func Pareto(rho, a float64) Source {
	least := (a - 1) / a
	return general(fmt.Sprintf("M/G/1, Pareto %g, rho %g", a, rho), rho,
		func(rng *rand.Rand) float64 { return least * math.Pow(1-rng.Float64(), -1/a) },
		func(x float64) float64 { return min(1, math.Pow(max(x, least)/least, -a)) },
		func(x float64) float64 {
			if x < least {
				return 1 - max(x, 0)
			}
			return least / (a - 1) * math.Pow(x/least, 1-a)
		})
}

// Lognormal is M/G/1 with lognormal service whose logarithm has the deviation
// sigma.
func Lognormal(rho, sigma float64) Source {
	above := func(z float64) float64 { return math.Erfc(z/math.Sqrt2) / 2 }
	mu := -sigma * sigma / 2
	tail := func(x float64) float64 {
		if x <= 0 {
			return 1
		}
		return above((math.Log(x) - mu) / sigma)
	}
	return general(fmt.Sprintf("M/G/1, lognormal %g, rho %g", sigma, rho), rho,
		func(rng *rand.Rand) float64 { return math.Exp(mu + sigma*rng.NormFloat64()) },
		tail,
		func(x float64) float64 {
			if x <= 0 {
				return 1
			}
			// E(S; S > x) - x P(S > x)
			return above((math.Log(x)-mu)/sigma-sigma) - x*tail(x)
		})
}

// MMC is M/M/c at utilisation rho: with C the probability of waiting (Erlang's
// second formula), the wait is 0 or exponential with rate theta = c mu - lambda.
func MMC(c int, rho float64) Source {
	load := float64(c) * rho
	sum, term := 0.0, 1.0
	for i := range c {
		sum += term
		term *= load / float64(i+1)
	}
	term /= 1 - rho
	waits := term / (sum + term)
	return Source{
		Name: fmt.Sprintf("M/M/%d, rho %g", c, rho),
		Limit: func(v, rate float64) float64 {
			mu := rate / load
			theta := float64(c)*mu - rate
			return where(func(x float64) float64 {
				both := (theta*math.Exp(-mu*x) - mu*math.Exp(-theta*x)) / (theta - mu)
				return (1-waits)*math.Exp(-mu*x) + waits*both
			}, v)
		},
		Run: func(rng *rand.Rand, rate, seconds float64, visit func(at, latency float64)) {
			const lead = 20 // s, to be stationary
			mu, free := rate/load, make([]float64, c)
			arrivals(rng, rate, seconds+lead, func(at float64) {
				first := 0
				for i, f := range free {
					if f < free[first] {
						first = i
					}
				}
				free[first] = max(at, free[first]) + rng.ExpFloat64()/mu
				if at >= lead {
					visit(at-lead, free[first]-at)
				}
			})
		},
	}
}
