package verdict

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"assay/harness/judge/stats"
	"assay/harness/observe/metric"
	"assay/harness/observe/record"
)

var update = flag.Bool("update", false, "write docs/calibration.md anew")

// source is a simulated system whose distribution of latency is known.
type source struct {
	name string
	// quantile is the latency that a share q of all transactions reaches, at
	// the rate.
	quantile func(q, rate float64) float64
	// run simulates the seconds and visits each transaction: when it was
	// scheduled, and how long it took.
	run func(rng *rand.Rand, rate, seconds float64, visit func(at, latency float64))
}

// queue is M/M/1 at utilisation rho: Poisson arrivals, one server with
// exponential service. The time in system is exponential with rate mu - lambda,
// and follows Lindley's recursion W' = max(0, W - A) + S.
func queue(rho float64) source {
	return source{
		name:     fmt.Sprintf("M/M/1, rho %g", rho),
		quantile: func(q, rate float64) float64 { return -math.Log(q) / (rate/rho - rate) },
		run: func(rng *rand.Rand, rate, seconds float64, visit func(at, latency float64)) {
			mu := rate / rho
			w := rng.ExpFloat64() / (mu - rate)
			for at := rng.ExpFloat64() / rate; at < seconds; {
				visit(at, w)
				gap := rng.ExpFloat64() / rate
				at += gap
				w = max(0, w-gap) + rng.ExpFloat64()/mu
			}
		},
	}
}

// Bursts of the bursty source: for half a second in five on average everything
// takes six times as long.
const (
	burst, calm = 0.5, 4.5 // mean seconds, exponential
	slower      = 6
)

func bursty() source {
	tail := func(x float64) float64 {
		slow := burst / (burst + calm)
		return (1-slow)*math.Exp(-x) + slow*math.Exp(-x/slower)
	}
	return source{
		name: "bursty",
		quantile: func(q, _ float64) float64 {
			low, high := 0.0, 1000.0
			for range 100 {
				if m := (low + high) / 2; tail(m) > q {
					low = m
				} else {
					high = m
				}
			}
			return high
		},
		run: func(rng *rand.Rand, rate, seconds float64, visit func(at, latency float64)) {
			slow := rng.Float64() < burst/(burst+calm)
			lasts := func() float64 {
				if slow {
					return rng.ExpFloat64() * burst
				}
				return rng.ExpFloat64() * calm
			}
			until := lasts()
			for at := rng.ExpFloat64() / rate; at < seconds; at += rng.ExpFloat64() / rate {
				for at > until {
					slow = !slow
					until += lasts()
				}
				latency := rng.ExpFloat64()
				if slow {
					latency *= slower
				}
				visit(at, latency)
			}
		},
	}
}

// drift is by how much the drifting source slows down over the window.
const drift = 0.5

// drifting is exponential latency whose mean grows from 1 to 1 + drift.
func drifting(seconds float64) source {
	return source{
		name: "drifting",
		quantile: func(q, _ float64) float64 {
			low, high := 0.0, 1000.0
			for range 100 {
				m, share := (low+high)/2, 0.0
				for i := range 100 {
					share += math.Exp(-m/(1+drift*(float64(i)+0.5)/100)) / 100
				}
				if share > q {
					low = m
				} else {
					high = m
				}
			}
			return high
		},
		run: func(rng *rand.Rand, rate, _ float64, visit func(at, latency float64)) {
			for at := rng.ExpFloat64() / rate; at < seconds; at += rng.ExpFloat64() / rate {
				visit(at, rng.ExpFloat64()*(1+drift*at/seconds))
			}
		},
	}
}

// stalling stands still once, for as long as makes the share q of all
// transactions late by its hand alone: those due while it stands wait for its
// end, or for more than the limit of 10.
func stalling(q float64) source {
	return source{
		name:     fmt.Sprintf("one stall, p%g", 100*(1-q)),
		quantile: func(float64, float64) float64 { return 10 },
		run: func(rng *rand.Rand, rate, seconds float64, visit func(at, latency float64)) {
			from := rng.Float64() * seconds * (1 - q)
			for at := rng.ExpFloat64() / rate; at < seconds; at += rng.ExpFloat64() / rate {
				latency := min(9, rng.ExpFloat64())
				if at >= from && at < from+q*seconds {
					latency = 10 + from + q*seconds - at
				}
				visit(at, latency)
			}
		},
	}
}

// load is the size of a simulated window.
type load struct {
	rate, seconds float64
	runs          int
}

var shares = []float64{0.1, 0.05, 0.01, 0.001} // q of p90, p95, p99, p99.9

// tally of the runs of one source under one load, by share: how many of them
// PASS with the percentile exactly at its limit, and with half of the
// violations; and with the plain binomial test.
type calibrated struct {
	atLimit, half, plain [4]int
	drifted              int
}

// simulate makes one run and judges it as judgeLatency does.
func simulate(s source, l load, seed uint64, c *calibrated) {
	rng := rand.New(rand.NewPCG(seed, uint64(l.rate*l.seconds)))
	d := distribution{cut: cut([]record.Span{{From: 0, To: int64(l.seconds)}}), all: &metric.Hist{}}
	for range d.cut {
		d.batches = append(d.batches, &metric.Hist{})
	}
	counted := make([][]stats.Batch, 2*len(shares)) // at the limit, then at half the share
	limits := make([]float64, len(counted))
	for i, q := range shares {
		limits[2*i], limits[2*i+1] = s.quantile(q, l.rate), s.quantile(q/2, l.rate)
		counted[2*i], counted[2*i+1] = make([]stats.Batch, len(d.cut)), make([]stats.Batch, len(d.cut))
	}
	per := l.seconds / float64(len(d.cut))
	s.run(rng, l.rate, l.seconds, func(at, latency float64) {
		b := min(int(at/per), len(d.cut)-1)
		d.batches[b].Record(latency, 1)
		for i, limit := range limits {
			counted[i][b].N++
			if latency >= limit {
				counted[i][b].K++
			}
		}
	})
	var medians, means []float64
	for _, h := range d.batches {
		d.all.Merge(h)
		median, _ := h.Quantile(0.5)
		mean, _ := h.Mean()
		medians, means = append(medians, median), append(means, mean)
	}
	for i, q := range shares {
		c.atLimit[i] += passes(counted[2*i], q, d)
		c.half[i] += passes(counted[2*i+1], q, d)
		if total := stats.Sum(counted[2*i]); stats.AtMost(total.N, total.K, q) <= stats.Alpha {
			c.plain[i]++
		}
	}
	if relative("median", medians).drifts() || relative("mean", means).drifts() {
		c.drifted++
	}
}

func passes(counted []stats.Batch, q float64, d distribution) int {
	out := SLO{}
	if out.test(q, counted, counted, d); out.Outcome == Pass {
		return 1
	}
	return 0
}

// calibrate makes all runs of a source, each from a seed of its own.
func calibrate(s source, l load) calibrated {
	workers := runtime.GOMAXPROCS(0)
	parts := make([]calibrated, workers)
	var wait sync.WaitGroup
	for w := range workers {
		wait.Go(func() {
			for run := w; run < l.runs; run += workers {
				simulate(s, l, uint64(run), &parts[w])
			}
		})
	}
	wait.Wait()
	var all calibrated
	for _, p := range parts {
		all.drifted += p.drifted
		for i := range shares {
			all.atLimit[i] += p.atLimit[i]
			all.half[i] += p.half[i]
			all.plain[i] += p.plain[i]
		}
	}
	return all
}

// The loads of the profiles: payment and ingestion as smokes, payment's and 200
// and 1,000 transactions a second for ten minutes.
var loads = []load{{50, 60, 1000}, {100, 60, 1000}, {1000, 60, 1000}, {100, 600, 1000}, {200, 600, 1000}, {1000, 600, 300}}

// TestCalibration simulates systems whose percentile stands exactly at its
// limit, and holds the confidence of a PASS to what they show; docs/calibration.md
// is its table.
func TestCalibration(t *testing.T) {
	var table strings.Builder
	percent := func(n, of int) string { return fmt.Sprintf("%.1f", 100*float64(n)/float64(of)) }
	for _, s := range []source{queue(0.5), queue(0.8), queue(0.9), bursty()} {
		for _, l := range loads {
			c := calibrate(s, l)
			fmt.Fprintf(&table, "| %s | %.0f | %.0f |", s.name, l.rate*l.seconds, l.seconds)
			for i, q := range shares {
				fmt.Fprintf(&table, " %s | %s | %s |", percent(c.plain[i], l.runs), percent(c.atLimit[i], l.runs), percent(c.half[i], l.runs))
				if share := float64(c.atLimit[i]) / float64(l.runs); share > 1-stats.Confidence {
					t.Errorf("%s, %.0f transactions in %.0f s: %s %% of the runs PASS with p%g at its limit", s.name, l.rate*l.seconds, l.seconds, percent(c.atLimit[i], l.runs), 100*(1-q))
				}
			}
			fmt.Fprintf(&table, " %s |\n", percent(c.drifted, l.runs))
		}
	}
	t.Log("\n" + table.String())
	for _, l := range loads {
		c := calibrate(drifting(l.seconds), l)
		t.Logf("drifting %v: %d of %d caught, pass %v", l, c.drifted, l.runs, c.atLimit)
		for i, q := range shares {
			c := calibrate(stalling(q), l)
			t.Logf("stall %g %v: pass %d", q, l, c.atLimit[i])
		}
	}
	_ = os.Stdout
}
