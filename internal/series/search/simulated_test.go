package search

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/judge/stats"
	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/synthetic"
)

// The SLO of the simulated systems is p(95)<250.
const (
	allowedShare = 0.05
	limitSeconds = 0.25
)

// served simulates a trial at a rate, and visits each transaction: when it was due, and how
// long it took, in seconds.
type served func(rng *rand.Rand, rate, seconds float64, visit func(at, latency float64))

// queue is M/M/1: the SLO holds below mu - ln(1/0.05)/0.25.
func queue(mu float64) served {
	return func(rng *rand.Rand, rate, seconds float64, visit func(at, latency float64)) {
		const lead = 7.0 // s, of the phases before the hold
		free := -lead
		for at := -lead; at < seconds; at += rng.ExpFloat64() / rate {
			free = max(at, free) + rng.ExpFloat64()/mu
			if at >= 0 {
				visit(at, free-at)
			}
		}
	}
}

// alike is a system in which the same share of transactions is slow at any rate up to a
// capacity, and all of them soon above it.
func alike(share, capacity float64) served {
	return func(rng *rand.Rand, rate, seconds float64, visit func(at, latency float64)) {
		for at := 0.0; at < seconds; at += rng.ExpFloat64() / rate {
			latency := 0.2 * rng.Float64()
			if rng.Float64() < share {
				latency++
			}
			if rate > capacity {
				latency += (at + 6) * (1 - capacity/rate)
			}
			visit(at, latency)
		}
	}
}

// trial simulates a trial, and counts its violations as a verdict does.
func (s served) trial(rng *rand.Rand, rate, seconds float64) Result {
	var due, latencies []float64
	s(rng, rate, seconds, func(at, latency float64) { due, latencies = append(due, at), append(latencies, latency) })
	from := func(limit float64) []stats.Batch {
		all := make([]stats.Batch, int(seconds))
		for i, at := range due {
			second := &all[min(int(at), len(all)-1)]
			second.N++
			if latencies[i] >= limit {
				second.K++
			}
		}
		return all
	}
	var sorted []float64
	return counted(from(limitSeconds), func(largest float64) []stats.Batch {
		if sorted == nil {
			sorted = slices.Sorted(slices.Values(latencies))
		}
		return from(sorted[max(0, len(sorted)-max(1, int(largest)))])
	})
}

func counted(violations []stats.Batch, countLargest func(float64) []stats.Batch) Result {
	total, test := stats.Sum(violations), stats.Test{Q: allowedShare, Alpha: stats.Alpha}
	n, k := int64(total.N), int64(total.K)
	allowed, count := stats.Allowed(test.Q, n), stats.Count(test.Q, n, k)
	switch {
	case k > allowed && count == stats.Broken:
		return Broken
	case k <= allowed && count == stats.Holds:
		return Clear
	}
	inferred := test.Infer(violations, countLargest)
	switch {
	case k > allowed && (inferred.Outcome == stats.Broken || test.LikelyBroken(total, inferred)):
		return Broken
	case k <= allowed && inferred.Outcome == stats.Holds && inferred.LongEnough:
		return Clear
	case allowed < stats.MinAllowed:
		return Scarce
	}
	return Close
}

// judged makes a record of a simulated trial, and has it judged.
func (s served) judged(rng *rand.Rand, rate, seconds float64) (Result, error) {
	p := synthetic.Profile()
	p.Flows[0].SLOs, p.Flows[0].Ledger = []spec.SLO{synthetic.Percentile(metric.TransactionDuration, 95, 1000*limitSeconds)}, nil
	p, _, err := Shorten(p, time.Duration(seconds*float64(time.Second)))
	if err == nil {
		p, err = p.WithRate(rate)
	}
	if err != nil {
		return "", err
	}
	var latencies []float64
	s(rng, rate, 2*seconds+30, func(_, latency float64) { latencies = append(latencies, latency) })
	c := synthetic.New(p, 1, func(n int64) (float64, string) { return 1000 * latencies[n], metric.Completed })
	c.Run.Plan.Scope = spec.ScopeTrial
	return resultOf(verdict.Judge(c.Record())), nil
}

// search searches from a rate, with trials of a length.
func (s served) search(t *testing.T, seed uint64, from, seconds float64, trial func(*rand.Rand, float64, float64) Result) Document {
	rng := rand.New(rand.NewPCG(seed, 1))
	a := Parameters{Unit: "tps", Goal: goal, Range: Range{From: from, Floor: max(from*FloorShare, 1/seconds), Max: spec.MaxRate}}
	d, err := Run(t.Context(), a, Loop{
		Keep: func(Document) error { return nil },
		Trial: func(_ context.Context, rate float64, times int) (Probe, error) {
			return Probe{Rate: rate, Result: trial(rng, rate, seconds*float64(times)), Seconds: seconds * float64(times)}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// A simulated trial has the result that its verdict would give it.
func TestSimulatedTrialsCountAsVerdictsDo(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, share := range []float64{0.01, 0.02, 0.04, 0.06, 0.08, 0.14} {
		for _, rate := range []float64{4, 15, 60} {
			// The share is exact, so that both see the same.
			each := served(func(rng *rand.Rand, rate, seconds float64, visit func(at, latency float64)) {
				slow := rng.Float64()
				for i := range int(rate * seconds) {
					latency := 0.2 * rng.Float64()
					if slow += share; slow >= 1 {
						slow, latency = slow-1, 1
					}
					visit(float64(i)/rate, latency)
				}
			})
			want, err := each.judged(rng, rate, 20)
			if err != nil {
				t.Fatal(err)
			}
			if got := each.trial(rng, rate, 20); got != want {
				t.Errorf("%g at %g/s: %s, the verdict says %s", share, rate, got, want)
			}
		}
	}
}

// Where 3.5 % of transactions are slow at any rate, and 5 % may be, a search finds the
// capacity, or says that the rates below it are undecided. It does not take the first one
// that is close to the limit for the highest.
func TestCloseAtEveryRate(t *testing.T) {
	const capacity = 1000
	s := alike(0.035, capacity)
	for seed := range uint64(8) {
		d := s.search(t, seed, 100, DefaultTrial.Seconds(), s.trial)
		if d.Upper == nil || *d.Upper < capacity || Width(capacity, *d.Upper) > goal.Width {
			t.Errorf("%s", d.Sentence)
			continue
		}
		if low := d.Lower; low != nil && *low >= capacity*3/4 {
			continue // most rates are decided by longer trials
		}
		if z := d.Undecided; d.State != Undecided || d.ExitCode() != 4 || z == nil || Width(z.To, capacity) > goal.Width || !strings.Contains(d.Sentence, "undecided from") {
			t.Errorf("%s: %s", d.State, d.Sentence)
		}
	}
}

// The same, by the verdicts of simulated records.
func TestCloseAtEveryRateByVerdict(t *testing.T) {
	s := alike(0.035, 120)
	d := s.search(t, 1, 30, 10, func(rng *rand.Rand, rate, seconds float64) Result {
		r, err := s.judged(rng, rate, seconds)
		if err != nil {
			t.Fatal(err)
		}
		return r
	})
	if d.Upper == nil || *d.Upper < 120 || *d.Upper > 140 {
		t.Errorf("%s", d.Sentence)
	}
}

// Longer trials never make a result worse: the bounds enclose the capacity as often, and
// are no farther apart on average.
func TestLongerTrialsAreNoWorse(t *testing.T) {
	const each = 15
	for name, c := range map[string]struct {
		of       served
		capacity float64
	}{
		"close at every rate": {alike(0.035, 80), 80},
		"closer":              {alike(0.042, 80), 80},
		"a slow queue":        {queue(50), 50 - math.Log(20)/limitSeconds},
		"a queue":             {queue(90), 90 - math.Log(20)/limitSeconds},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			best, right := math.Inf(1), 0
			for _, seconds := range []float64{15, 60, 240} {
				sum, enclosed := 0.0, 0
				for seed := range uint64(each) {
					d := c.of.search(t, seed, 40, seconds, c.of.trial)
					low, high := 0.4, 1e4
					if d.Lower != nil {
						low = *d.Lower
					}
					if d.Upper != nil {
						high = *d.Upper
					}
					if sum += math.Log(high / low); low <= 1.05*c.capacity && high >= c.capacity/1.05 {
						enclosed++
					}
				}
				t.Logf("%3.0f s: %d of %d right, high/low %.2f", seconds, enclosed, each, math.Exp(sum/each))
				if sum/each > best+0.1 || enclosed < right-1 {
					t.Errorf("longer trials are worse")
				}
				best, right = min(best, sum/each), max(right, enclosed)
			}
		})
	}
}

// Queues are found in about as many trials as there are loads to bisect.
func TestQueues(t *testing.T) {
	const each = 40
	for mu, most := range map[float64]float64{50: 9.5, 150: 7, 300: 8.5} {
		s, capacity := queue(mu), mu-math.Log(20)/limitSeconds
		trials, enclosed := 0, 0
		for seed := range uint64(each) {
			d := s.search(t, seed, 100, DefaultTrial.Seconds(), s.trial)
			trials += len(d.Probes)
			if d.Lower != nil && d.Upper != nil && *d.Lower <= 1.05*capacity && *d.Upper >= capacity/1.05 {
				enclosed++
			}
		}
		t.Logf("mu %g: %.1f trials, %d of %d right", mu, float64(trials)/each, enclosed, each)
		if float64(trials)/each > most || enclosed < each*7/10 {
			t.Errorf("mu %g: %.1f trials, %d of %d right", mu, float64(trials)/each, enclosed, each)
		}
	}
}
