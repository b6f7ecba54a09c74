package source

import (
	"fmt"
	"math/rand/v2"
)

// The machine is a small virtual host: every 20 s on average, for a second on average
// (both exponential), everything takes up to 60 ms longer. The delay is about the same
// within a burst and differs between bursts (the square of a uniform variable), so
// that the largest values come from few bursts.
const (
	betweenBursts, burstLasts = 20.0, 1.0   // s
	largestBurst, slowest     = 60.0, 100.0 // ms; no bound is less than slowest
)

// Jitter is a healthy system on such a machine. Its own slow transactions, a tenth of
// the share q that may violate the bound, take at least 100 ms. They occur at any time
// (bursts = 0), or only within the given share of the bursts, the largest ones. All
// others take a few milliseconds plus the jitter. Limit is for shares up to q/10.
func Jitter(q, bursts float64) Source {
	own := q / 10
	name := "tail at any time"
	if bursts > 0 {
		name = "tail in all bursts"
	}
	if bursts > 0 && bursts < 1 {
		name = fmt.Sprintf("tail in 1 of %.0f bursts", 1/bursts)
	}
	return Source{
		Name:  name,
		Limit: func(v, _ float64) float64 { return slowest * own / v }, // v <= own
		Run: func(rng *rand.Rand, rate, seconds float64, visit func(at, latency float64)) {
			next := func(after float64) (from, to, size float64) {
				from = after + rng.ExpFloat64()*betweenBursts
				size = rng.Float64()
				return from, from + rng.ExpFloat64()*burstLasts, size
			}
			from, to, size := next(-10 * betweenBursts)
			arrivals(rng, rate, seconds, func(at float64) {
				for at > to {
					from, to, size = next(to)
				}
				latency, slow := 2+rng.ExpFloat64(), own
				if bursts > 0 {
					slow = 0
				}
				if at >= from {
					latency += largestBurst * size * size * (0.8 + 0.2*rng.Float64())
					if bursts > 0 && size >= 1-bursts {
						slow = own * (betweenBursts + burstLasts) / burstLasts / bursts
					}
				}
				latency = min(latency, 0.9*slowest)
				if rng.Float64() < slow {
					latency = slowest / (1 - rng.Float64())
				}
				visit(at, latency)
			})
		},
	}
}
