package search

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// maxSearchTime limits a search at the defaults whose bounds lie within a factor of
// four of its first load.
const maxSearchTime = 13 * time.Minute

// trialTime is how long a trial at the defaults takes, with 4 s of overhead (see
// DefaultTrial). If the queue of an overloaded system reaches payment's time-out of
// 10 s within the trial, its last transactions take that long, and a rest follows.
func trialTime(r Result, rate, capacity float64, times int) time.Duration {
	const overhead, timeout = 4 * time.Second, 10 * time.Second
	trial := time.Duration(times)*DefaultTrial + trialWarmup + trialBaseline + trialRamp + trialCooldown
	if queue := 1 - capacity/rate; r == Broken && queue*trial.Seconds() >= timeout.Seconds() {
		return trial + overhead + timeout + maxRest
	}
	return trial + overhead
}

// timedSearch searches from 100/s at the defaults, and adds up the trials' time.
func timedSearch(t interface{ Fatal(...any) }, capacity float64, of func(rate float64, times int) Result) (s *Search, took time.Duration) {
	s, err := New(goal, Range{From: 100, Floor: 1, Max: 1_000_000})
	if err != nil {
		t.Fatal(err)
	}
	for rate, ok := s.Next(); ok; rate, ok = s.Next() {
		times := s.Load(rate).Length()
		r := of(rate, times)
		s.Add(rate, r)
		took += trialTime(r, rate, capacity, times)
	}
	return s, took
}

// foundNear reports whether a search found both bounds within a factor of four of its
// first load.
func foundNear(s *Search) bool {
	b := s.bracket()
	return s.End() == Found && b.low >= s.span.From/4 && b.high <= 4*s.span.From
}

// Whatever the results near the capacity, and with one wrong or INVALID trial
// anywhere, a search that ends within a factor of four keeps the time limit.
func TestTimeLimit(t *testing.T) {
	ended := 0
	rapid.Check(t, func(rt *rapid.T) {
		hiccup := false
		capacity := math.Pow(4, rapid.Float64Range(-1, 1).Draw(rt, "capacity")) * 100
		near := rapid.SampledFrom([]float64{0, 0.05, 0.1, 0.3}).Draw(rt, "near")
		s, took := timedSearch(rt, capacity, func(rate float64, _ int) Result {
			distance := math.Log(rate / capacity)
			if !hiccup && rapid.IntRange(0, 9).Draw(rt, "hiccup") == 0 {
				hiccup = true
				return rapid.SampledFrom([]Result{Starved, Broken, Close}).Draw(rt, "how")
			}
			switch {
			case distance < -near:
				return Clear
			case distance > near:
				return Broken
			}
			return rapid.SampledFrom([]Result{Clear, Close, Broken}).Draw(rt, "result")
		})
		if !foundNear(s) {
			return
		}
		if ended++; took > maxSearchTime {
			rt.Fatalf("%s for %+v", took, s.loads)
		}
	})
	if ended == 0 {
		t.Error("no search ended within a factor of four")
	}
}

// simulated is a system whose violations grow with a power of its load and reach the
// limit at its capacity, on a machine with noise, stalls and a starved generator.
type simulated struct {
	capacity float64
	power    float64 // 3: latency rises slowly; 40: it breaks down
	spread   float64 // standard deviation of the logarithm of the violations of the first trial of a load
	stalls   float64 // share of trials in which everything stalls for 2 s
	starved  float64 // share of INVALID trials
	rng      *rand.Rand
}

func (s simulated) trial(rate float64, times int) Result {
	if s.rng.Float64() < s.starved {
		return Starved
	}
	share := math.Pow(rate/s.capacity, s.power) * math.Exp(s.spread/math.Sqrt(float64(times))*s.rng.NormFloat64())
	if s.rng.Float64() < s.stalls {
		share += 2 / float64(times)
	}
	switch { // share of the allowed violations
	case share <= 0.5:
		return Clear
	case share >= 2:
		return Broken
	}
	return Close
}

// The same time limit for simulated systems, with the noise of a shared machine; and
// the bounds enclose the capacity, but for the width of the goal and the noise of a trial.
func TestTimeOfSearches(t *testing.T) {
	const each = 2000
	for name, s := range map[string]simulated{
		"breaks down, quiet":      {power: 40, spread: 0.05},
		"breaks down, noisy":      {power: 40, spread: 0.7, starved: 0.05},
		"slows down, quiet":       {power: 8, spread: 0.05},
		"slows down, noisy":       {power: 8, spread: 0.7, starved: 0.05},
		"slowly, noisy":           {power: 3, spread: 0.7, starved: 0.05},
		"slows down, with stalls": {power: 8, spread: 0.3, stalls: 0.02, starved: 0.05},
	} {
		t.Run(name, func(t *testing.T) {
			s.rng = rand.New(rand.NewPCG(1, uint64(len(name))))
			longest, sum, found, right := time.Duration(0), time.Duration(0), 0, 0
			off := 1.1 * math.Exp(s.spread/s.power)
			for range each {
				s.capacity = 100 * math.Pow(4, 2*s.rng.Float64()-1)
				search, took := timedSearch(t, s.capacity, s.trial)
				if b := search.bracket(); b.low > 0 && !math.IsInf(b.high, 1) {
					found++
					if b.low <= s.capacity*off && b.high >= s.capacity/off {
						right++
					}
				}
				if foundNear(search) {
					longest = max(longest, took)
				}
				sum += took
			}
			t.Logf("time: max %s, mean %s; bounds in %d of %d, right in %d", longest, (sum / each).Round(time.Second), found, each, right)
			if longest > maxSearchTime {
				t.Errorf("longest search: %s, want at most %s", longest, maxSearchTime)
			}
			if found < each*99/100 || right < each*95/100 {
				t.Errorf("bounds in %d of %d, right in %d", found, each, right)
			}
		})
	}
}
