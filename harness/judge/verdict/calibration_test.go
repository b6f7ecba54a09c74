package verdict

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

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

// drifting is exponential latency whose mean follows a shape over the window,
// given as a function of the share of the window that has passed.
func drifting(name string, shape func(x float64) float64) source {
	const steps = 1000
	return source{
		name: name,
		quantile: func(q, _ float64) float64 {
			low, high := 0.0, 1000.0
			for range 100 {
				m, share := (low+high)/2, 0.0
				for i := range steps {
					share += math.Exp(-m/shape((float64(i)+0.5)/steps)) / steps
				}
				if share > q {
					low = m
				} else {
					high = m
				}
			}
			return high
		},
		run: func(rng *rand.Rand, rate, seconds float64, visit func(at, latency float64)) {
			for at := rng.ExpFloat64() / rate; at < seconds; at += rng.ExpFloat64() / rate {
				visit(at, rng.ExpFloat64()*shape(at/seconds))
			}
		},
	}
}

// Shapes of sources that are not stationary.
var drifts = []source{
	drifting("slower by half, steadily", func(x float64) float64 { return 1 + 0.5*x }),
	drifting("slower by half, at once in the middle", func(x float64) float64 { return 1 + 0.5*math.Floor(2*x) }),
	drifting("slower and slower from the middle on, to twice", func(x float64) float64 { return 1 + max(0, 2*x-1) }),
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

var shares = []float64{0.05, 0.01, 0.001} // q of p95, p99, p99.9

// tally of the runs of one source under one load, by share: how many of them
// PASS with the percentile exactly at its limit, and with half of the
// violations; and with the plain binomial test.
type calibrated struct {
	atLimit, half, plain [3]int
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
	if slices.ContainsFunc(append(relative("median", medians), relative("mean", means)...), trend.drifts) {
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

// Smokes of a minute, among them the payment's and the ingestion's, and 200 and
// 1,000 transactions a second for ten minutes. For the queues only the number of
// transactions counts.
var loads = []load{{50, 60, 1000}, {100, 60, 1000}, {1000, 60, 1000}, {200, 600, 1000}, {1000, 600, 300}}

// calibrationTable is docs/calibration.md, written with -update.
const calibrationTable = "../../../docs/calibration.md"

// TestCalibration simulates systems whose percentile stands exactly at its
// limit, and holds what a PASS claims to what they show.
func TestCalibration(t *testing.T) {
	var queues, others strings.Builder
	for _, s := range []source{queue(0.5), queue(0.8), queue(0.9), bursty()} {
		for _, l := range loads {
			c := calibrate(s, l)
			fmt.Fprintf(&queues, "| %s | %.0f | %.0f |", s.name, l.rate*l.seconds, l.seconds)
			for i := range shares {
				fmt.Fprintf(&queues, " %s / %s / %s |", l.percent(c.plain[i]), l.percent(c.atLimit[i]), l.percent(c.half[i]))
			}
			fmt.Fprintf(&queues, " %s |\n", l.percent(c.drifted))
			c.check(t, s, l)
		}
	}
	for _, s := range drifts {
		for _, l := range loads[:3] { // it grows easier with more
			l.runs = 300
			c := calibrate(s, l)
			fmt.Fprintf(&others, "| %s | %.0f | %.0f |", s.name, l.rate*l.seconds, l.seconds)
			for i := range shares {
				fmt.Fprintf(&others, " %s |", l.percent(c.atLimit[i]))
			}
			fmt.Fprintf(&others, " %s |\n", l.percent(c.drifted))
			if caught := float64(c.drifted) / float64(l.runs); caught < 0.9 {
				t.Errorf("%s, %.0f transactions in %.0f s: the rule steady catches %g of the runs", s.name, l.rate*l.seconds, l.seconds, caught)
			}
		}
	}
	for i, q := range shares {
		l := load{200, 600, 200}
		s := stalling(q)
		c := calibrate(s, l)
		fmt.Fprintf(&others, "| %s | %.0f | %.0f |%s %s |%s %s |\n", s.name, l.rate*l.seconds, l.seconds,
			strings.Repeat(" |", i), l.percent(c.atLimit[i]), strings.Repeat(" |", len(shares)-1-i), l.percent(c.drifted))
		if c.atLimit[i] > 0 {
			t.Errorf("%s: %d of %d runs PASS", s.name, c.atLimit[i], l.runs)
		}
	}
	tables := map[string]string{"queues": queues.String(), "others": others.String()}
	page, err := os.ReadFile(calibrationTable)
	if err != nil {
		t.Fatal(err)
	}
	want := fill(t, string(page), tables)
	if *update {
		if err := os.WriteFile(calibrationTable, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if !*update && want != string(page) {
		t.Errorf("%s does not show what was simulated (-update writes it anew):\n%s", calibrationTable, cmp.Diff(string(page), want))
	}
}

func (l load) percent(n int) string { return fmt.Sprintf("%.1f", 100*float64(n)/float64(l.runs)) }

// decided is how often a run with half of the allowed violations must PASS, for
// p95 and utilisations up to 0.8.
const decided = 0.7

// check holds one row to what is claimed: few PASS at the limit, many do with
// half of the violations where ten minutes at 200 a second or more were run,
// and the rule steady leaves stationary systems alone.
func (c calibrated) check(t *testing.T, s source, l load) {
	t.Helper()
	of := fmt.Sprintf("%s, %.0f transactions in %.0f s", s.name, l.rate*l.seconds, l.seconds)
	for i, q := range shares {
		if share := float64(c.atLimit[i]) / float64(l.runs); share > 1-stats.Confidence {
			t.Errorf("%s: %g of the runs PASS with p%g at its limit", of, share, 100*(1-q))
		}
		if c.plain[i] < c.atLimit[i] {
			t.Errorf("%s: the plain binomial is stricter than ours", of)
		}
	}
	if busy := s.name == queue(0.9).name; !busy && l.rate*l.seconds >= 120_000 {
		if share := float64(c.half[slices.Index(shares, 0.05)]) / float64(l.runs); share < decided {
			t.Errorf("%s: %g of the runs PASS with half of the violations that p95 allows", of, share)
		}
	}
	if share := float64(c.drifted) / float64(l.runs); share > 1-stats.Confidence {
		t.Errorf("%s: the rule steady is broken in %g of the runs", of, share)
	}
}

// fill puts each table between its marks.
func fill(t *testing.T, page string, tables map[string]string) string {
	t.Helper()
	for name, rows := range tables {
		begin, end := "<!-- "+name+" -->\n", "<!-- /"+name+" -->"
		head, rest, found := strings.Cut(page, begin)
		_, tail, ended := strings.Cut(rest, end)
		if !found || !ended {
			t.Fatalf("%s has no place for %s", calibrationTable, name)
		}
		lines := strings.SplitAfter(rest, "\n")
		page = head + begin + lines[0] + lines[1] + rows + end + tail // the table's two head lines stay
	}
	return page
}
