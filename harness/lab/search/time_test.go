package search

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// mostTime is how long a search at the defaults may take whose bounds lie within a
// factor of four of its first load.
const mostTime = 8 * time.Minute

// lasts is how long a trial at the default takes: measured beside its schedule were
// 3 to 4 s, on two cores with a load average of 14. Where the queue of a broken system grows to payment's
// time-out of 10 s within the trial, its last transactions take that long, and a
// rest follows.
func lasts(r Result, rate, capacity float64) time.Duration {
	const beside, timeout = 4 * time.Second, 10 * time.Second
	trial := DefaultTrial + trialWarmup + trialBaseline + trialRamp + trialCooldown
	if queue := 1 - capacity/rate; r == Broken && queue*trial.Seconds() >= timeout.Seconds() {
		return trial + beside + timeout + mostRest
	}
	return trial + beside
}

// timed searches from 100/s at the defaults, and takes the time.
func timed(t interface{ Fatal(...any) }, capacity float64, of func(rate float64) Result) (s *Search, took time.Duration) {
	s, err := New(goal, Range{From: 100, Floor: 1, Max: 1_000_000})
	if err != nil {
		t.Fatal(err)
	}
	for rate, ok := s.Next(); ok; rate, ok = s.Next() {
		r := of(rate)
		s.Add(rate, r)
		took += lasts(r, rate, capacity)
	}
	return s, took
}

// within reports whether a search ended with both bounds, within a factor of four
// of its first load.
func within(s *Search) bool {
	b := s.Bounds()
	return s.End() == Found && b.Lower.Rate >= s.span.From/4 && b.Upper.Rate <= 4*s.span.From
}

// Whatever trials say near the capacity, with one anywhere that is wrong or may not
// be judged, a search that ends within a factor of four has taken no more than eight
// minutes.
func TestWithinEightMinutes(t *testing.T) {
	ended := 0
	rapid.Check(t, func(rt *rapid.T) {
		hiccup := false
		capacity := math.Pow(4, rapid.Float64Range(-1, 1).Draw(rt, "capacity")) * 100
		near := rapid.SampledFrom([]float64{0, 0.05, 0.1, 0.3}).Draw(rt, "near")
		s, took := timed(rt, capacity, func(rate float64) Result {
			away := math.Log(rate / capacity)
			if !hiccup && rapid.IntRange(0, 9).Draw(rt, "hiccup") == 0 {
				hiccup = true
				return rapid.SampledFrom([]Result{Starved, Broken, Close}).Draw(rt, "how")
			}
			switch {
			case away < -near:
				return Clear
			case away > near:
				return Broken
			}
			return rapid.SampledFrom([]Result{Clear, Close, Broken}).Draw(rt, "result")
		})
		if !within(s) {
			return
		}
		if ended++; took > mostTime {
			rt.Fatalf("%s for %+v", took, s.loads)
		}
	})
	if ended == 0 {
		t.Error("no search ended within a factor of four")
	}
}

// shop is a system whose violations grow with its load by a power of it, and are at
// the limit at its capacity; on a machine whose noise moves them, halts it, and
// starves the generator.
type shop struct {
	capacity float64
	power    float64 // 3: latency rises slowly; 40: it breaks down
	spread   float64 // of the violations, in logarithms
	halts    float64 // share of trials in which all stands still for 2 s
	starved  float64 // share of trials that may not be judged
	rng      *rand.Rand
}

func (s shop) answer(rate float64) Result {
	if s.rng.Float64() < s.starved {
		return Starved
	}
	share := math.Pow(rate/s.capacity, s.power) * math.Exp(s.spread*s.rng.NormFloat64())
	if s.rng.Float64() < s.halts {
		share += 2
	}
	switch { // of what is allowed, as RULEBOOK section 2a counts
	case share <= 0.5:
		return Clear
	case share >= 2:
		return Broken
	}
	return Close
}

// The same for systems as there are, with as much noise as a shared machine has; and
// what is found is the capacity, or less by what caution takes.
func TestTimeOfSearches(t *testing.T) {
	const each = 2000
	for name, s := range map[string]shop{
		"breaks down, quiet":        {power: 40, spread: 0.05},
		"breaks down, noisy":        {power: 40, spread: 0.7, starved: 0.05},
		"slows down, quiet":         {power: 8, spread: 0.05},
		"slows down, noisy":         {power: 8, spread: 0.7, starved: 0.05},
		"slowly, noisy":             {power: 3, spread: 0.7, starved: 0.05},
		"slows down, halts as well": {power: 8, spread: 0.3, halts: 0.02, starved: 0.05},
	} {
		t.Run(name, func(t *testing.T) {
			s.rng = rand.New(rand.NewPCG(1, uint64(len(name))))
			longest, sum, found, right := time.Duration(0), time.Duration(0), 0, 0
			for range each {
				s.capacity = 100 * math.Pow(4, 2*s.rng.Float64()-1)
				of, took := timed(t, s.capacity, s.answer)
				if b := of.Bounds(); b.Lower != nil && b.Upper != nil {
					found++
					if b.Lower.Rate <= s.capacity*1.1 && b.Upper.Rate >= s.capacity*math.Pow(0.25, 1/s.power)/1.1 {
						right++
					}
				}
				if within(of) {
					longest = max(longest, took)
				}
				sum += took
			}
			t.Logf("%s at most, %s in the mean, bounds in %d of %d, right in %d", longest, (sum / each).Round(time.Second), found, each, right)
			if longest > mostTime {
				t.Errorf("%s", longest)
			}
			if found < each*99/100 || right < each*9/10 {
				t.Errorf("bounds in %d of %d, right in %d", found, each, right)
			}
		})
	}
}
