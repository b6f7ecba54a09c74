package search

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"assay.dev/assay/internal/spec"
)

var goal = Goal{Trials: spec.DefaultTrials, Width: spec.DefaultWidth, Spare: DefaultSpare}

// below is a system with a capacity.
func below(capacity float64) func(float64, int) Result {
	return func(rate float64, _ int) Result {
		if rate <= capacity {
			return Clear
		}
		return Broken
	}
}

// over gives one result from a limit on.
func over(limit float64, r Result, otherwise func(float64, int) Result) func(float64, int) Result {
	return func(rate float64, n int) Result {
		if rate >= limit {
			return r
		}
		return otherwise(rate, n)
	}
}

// once gives one result in the first trial of each load.
func once(r Result, otherwise func(float64, int) Result) func(float64, int) Result {
	return func(rate float64, n int) Result {
		if n == 0 {
			return r
		}
		return otherwise(rate, n)
	}
}

func (l Load) trials() int {
	return l.Clear + l.Broken + l.undecided() + l.Starved + l.Void + l.Refused
}

func TestHowSearchesEnd(t *testing.T) {
	for name, c := range map[string]struct {
		of    func(rate float64, n int) Result // n: number of earlier trials at this rate
		goal  Goal
		end   End
		tried string // loads in the order of their first trials, with the number of trials
		low   float64
		high  float64 // 0: none

		undecided Zone
	}{
		"found": {
			of: below(150), end: Found, tried: "100x1 200x2 140x1 167x1 153x1", low: 140, high: 153,
		},
		"the narrowest bracket": {
			of: below(150), goal: Goal{Trials: 1, Width: 0.02}, end: Found, tried: "100x1 200x1 140x1 167x1 153x1 146x1 149.5x1 151.2x1", low: 149.5, high: 151.2,
		},
		"below the first load": {
			of: below(30), end: Found, tried: "100x1 50x2 25x1 35x1 29.6x1 32.2x1", low: 29.6, high: 32.2,
		},
		"at the maximum": {
			of: below(1000), end: AtMax, tried: "100x1 200x1 400x1 500x1", low: 500,
		},
		"missed at a hundredth": {
			of: below(0.5), end: Missed, tried: "100x1 50x1 25x1 12.5x1 6.25x1 3.125x1 1.5625x1 1x1", high: 1,
		},
		"a hiccup at the first load": {
			of: func(rate float64, n int) Result {
				if rate == 100 && n == 0 {
					return Broken
				}
				return below(150)(rate, n)
			}, end: Found, tried: "100x3 50x1 200x1 140x1 167x1 153x1", low: 140, high: 153,
		},
		"a hiccup that ends the doubling": {
			of: func(rate float64, n int) Result {
				if rate == 200 && n == 0 {
					return Broken
				}
				return below(310)(rate, n)
			}, end: Found, tried: "100x1 200x3 400x1 280x1 335x1 306x1", low: 306, high: 335,
		},
		"a hiccup in the second trial only": {
			of: func(rate float64, n int) Result {
				if rate == 200 && n == 1 {
					return Clear
				}
				return below(150)(rate, n)
			}, end: Found, tried: "100x1 200x3 140x1 167x1 153x1", low: 140, high: 153,
		},
		"broken once, clear once, then close": {
			of: func(rate float64, n int) Result {
				if rate == 200 {
					return []Result{Broken, Clear, Close}[n]
				}
				return below(150)(rate, n)
			}, end: Found, tried: "100x1 200x3 220x1 181x1 135x1 156x1 145x1", low: 145, high: 156,
		},
		"broken once, then invalid": {
			of: func(rate float64, n int) Result {
				if rate == 200 {
					return []Result{Broken, Void, Void, Starved}[n]
				}
				return below(150)(rate, n)
			}, end: Found, tried: "100x1 200x4 140x1 167x1 153x1", low: 140, high: 153,
		},
		"close, then clear": {
			of: once(Close, below(150)), end: Found, tried: "100x2 200x2 140x2 167x2 153x2", low: 140, high: 153,
		},
		"close twice is no bound": {
			of: over(180, Broken, over(150, Close, below(150))), end: Found, tried: "100x1 200x2 140x1 167x2 153x2 183x1",
			low: 140, high: 183, undecided: Zone{153, 167},
		},
		"close in every trial of four": {
			of: over(180, Broken, over(150, Close, below(150))), goal: Goal{Trials: 4, Width: 0.1}, end: Found,
			tried: "100x1 200x2 140x1 167x4 153x4 183x1", low: 140, high: 183, undecided: Zone{153, 167},
		},
		"close at the first load, as it is near the capacity": {
			of: over(105, Broken, over(97, Close, below(97))), end: Found,
			tried: "100x2 110x1 91x1", low: 91, high: 110, undecided: Zone{100, 100},
		},
		"close at every load": {
			of: over(0, Close, nil), end: Undecided,
			tried: "100x2 110x2 121x1 146x1 210x1 420x1 500x1 50x1 25x1 13x1 6.5x1 3.3x1 1.7x1 1x1", undecided: Zone{1, 500},
		},
		"close at every load below the capacity": {
			of: over(300, Broken, over(0, Close, nil)), end: Undecided,
			tried: "100x2 110x2 121x1 146x1 210x1 420x2 50x1 25x1 13x1 6.5x1 3.3x1 1.7x1 1x1 300x1 250x1 274x1", high: 300, undecided: Zone{1, 274},
		},
		"close at some loads, clear below and broken above": {
			of: over(300, Broken, over(50, Close, below(50))), end: Undecided,
			tried: "100x2 110x2 121x1 146x1 210x1 420x2 50x1 25x1 35x1 42x1 46x1 300x1 250x1 274x1", low: 46, high: 300, undecided: Zone{50, 274},
		},
		"close at low loads, clear above": {
			of: over(300, Broken, over(110, Clear, over(0, Close, nil))), end: Found,
			tried: "100x2 110x1 220x1 440x2 310x1 260x1 284x1", low: 284, high: 310,
		},
		"broken at a low load, clear above": {
			of: over(300, Broken, over(105, Clear, over(97, Close, over(85, Broken, below(85))))), end: Found,
			tried: "100x2 110x1 220x1 440x2 310x1 260x1 284x1", low: 284, high: 310,
		},
		"a hiccup below a close load": {
			of: func(rate float64, n int) Result {
				if rate == 91 && n == 0 {
					return Broken
				}
				return over(105, Broken, over(97, Close, below(97)))(rate, n)
			}, end: Found,
			tried: "100x2 110x1 91x3", low: 91, high: 110, undecided: Zone{100, 100},
		},
		"invalid at a load between close ones": {
			of: over(300, Broken, over(92, Close, over(65, Starved, below(65)))), end: Undecided,
			tried: "100x2 110x2 121x1 146x1 210x1 420x2 50x1 70x3 59x1 64x1 300x1 250x1 274x1", low: 64, high: 300, undecided: Zone{70, 274},
		},
		"close at a doubled load": {
			of: over(400, Close, below(1000)), end: Undecided, tried: "100x1 200x1 400x2 440x2 486x1 500x1 320x1 360x1",
			low: 360, undecided: Zone{400, 500},
		},
		"too few samples below some load": {
			of: func(rate float64, _ int) Result {
				if rate < 30 {
					return Scarce
				}
				return Broken
			}, end: Undecided,
			tried: "100x1 50x2 25x2 35x1 29.6x2", high: 35, undecided: Zone{25, 29.6},
		},
		"too few samples at any load": {
			of: over(0, Scarce, nil), end: Undecided, tried: "100x2", undecided: Zone{100, 100},
		},
		"too few samples in the first trial of a load": {
			of: once(Scarce, below(150)), end: Found, tried: "100x2 200x2 140x2 167x2 153x2", low: 140, high: 153,
		},
		"too few samples at low loads": {
			of: over(90, Broken, over(60, Clear, over(0, Scarce, nil))), end: Found, tried: "100x2 50x2 70x1 84x1 92x1", low: 84, high: 92,
		},
		"the generator's limit": {
			of: over(300, Starved, below(1000)), end: Generator, tried: "100x1 200x1 400x3 280x1 335x3 306x3", low: 280,
		},
		"a system below the generator's limit": {
			of: over(300, Starved, below(210)), end: Found, tried: "100x1 200x1 400x3 280x1 237x1 218x1", low: 200, high: 218,
		},
		"a system above the generator's limit": {
			of: over(300, Broken, over(150, Starved, below(150))), end: Generator, tried: "100x1 200x3 140x1 167x3 153x3", low: 140,
		},
		"a load that cannot start is not tried again": {
			of: over(300, Refused, below(210)), end: Found, tried: "100x1 200x1 400x1 280x1 237x1 218x1", low: 200, high: 218,
		},
		"a generator that cannot start": {
			of: over(0, Refused, nil), end: Generator, tried: "100x1 50x1 25x1 12.5x1 6.25x1 3.125x1 1.5625x1 1x1",
		},
		"a generator that never offers the load": {
			of: over(0, Starved, nil), end: Generator, tried: "100x3 50x3 25x3",
		},
		"an invalid trial is repeated": {
			of: func(rate float64, n int) Result {
				if n < 2 {
					return Void
				}
				return below(150)(rate, n)
			}, end: Found, tried: "100x3 200x4 140x3 167x3 153x3", low: 140, high: 153,
		},
		"close once, then invalid": {
			of: func(rate float64, n int) Result {
				if rate > 150 {
					return []Result{Close, Void, Void, Starved}[n]
				}
				return Clear
			}, end: Undecided, tried: "100x1 200x4 220x4 243x1 295x1 440x1 500x1 140x1 167x1 153x1", low: 140, undecided: Zone{153, 500},
		},
		"invalid trials, mostly for the generator": {
			of: over(200, Refused, func(rate float64, n int) Result {
				if rate < 150 {
					return Clear
				}
				return []Result{Void, Starved, Starved}[n%3]
			}), end: Generator, tried: "100x1 200x1 140x1 167x3 153x3", low: 140,
		},
		"invalid trials, mostly for another reason": {
			of: func(rate float64, n int) Result { return []Result{Starved, Void, Void}[n%3] }, end: Invalid, tried: "100x3",
		},
		"invalid trials": {
			of: over(200, Void, below(1000)), end: Invalid, tried: "100x1 200x3", low: 100,
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := c.goal
			if g == (Goal{}) {
				g = goal
			}
			s, err := New(g, Range{From: 100, Floor: 1, Max: 500})
			if err != nil {
				t.Fatal(err)
			}
			var order []float64 // rates, in the order of the loads' first trials
			for rate, ok := s.Next(); ok; rate, ok = s.Next() {
				l := s.Load(rate)
				n := l.trials()
				if n == 0 {
					order = append(order, rate)
				}
				s.Add(rate, c.of(rate, n))
			}
			var all []string
			for _, rate := range order {
				all = append(all, fmt.Sprintf("%gx%d", rate, s.Load(rate).trials()))
			}
			b := s.bracket()
			if math.IsInf(b.high, 1) {
				b.high = 0
			}
			if tried := strings.Join(all, " "); s.End() != c.end || tried != c.tried || b.low != c.low || b.high != c.high || b.between != c.undecided {
				t.Errorf("%s between %g and %g, undecided %v, after %s", s.End(), b.low, b.high, b.between, tried)
			}
		})
	}
}

// Results may be added in any order, as from another search. Contradictory ones only
// make the bounds more conservative.
func TestResultsOfAnotherSearch(t *testing.T) {
	type results struct {
		rate float64
		r    Result
		n    int
	}
	for name, c := range map[string]struct {
		all  []results
		next float64
		end  End
	}{
		"a generator's limit below a load that it made": {[]results{{50, Starved, 3}, {100, Clear, 1}}, 200, Running},
		"a lower bound over the upper one":              {[]results{{100, Clear, 1}, {104, Broken, 2}, {300, Clear, 1}}, 0, Found},
		"clear and broken at one load: majority":        {[]results{{100, Clear, 1}, {104, Clear, 1}, {104, Broken, 2}}, 0, Found},
		"clear and broken at one load: a third decides": {[]results{{100, Clear, 1}, {104, Clear, 1}, {104, Broken, 1}}, 104, Running},
	} {
		s, err := New(goal, Range{From: 100, Floor: 1, Max: 500})
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range c.all {
			for range a.n {
				s.Add(a.rate, a.r)
			}
		}
		if next, _ := s.Next(); next != c.next || s.End() != c.end {
			t.Errorf("%s: next is %g, %s", name, next, s.End())
		}
	}
}

// The estimate never grows where each load takes one trial.
func TestTrialsLeft(t *testing.T) {
	s, err := New(goal, Range{From: 100, Floor: 1, Max: 500})
	if err != nil {
		t.Fatal(err)
	}
	last, known := 0, false
	for rate, ok := s.Next(); ok; rate, ok = s.Next() {
		s.Add(rate, below(150)(rate, 0))
		left := s.TrialsLeft()
		is := left > 0
		if known && is && left > last {
			t.Errorf("after the trial at %g/s %d are left, %d before", rate, left, last)
		}
		if b := s.bracket(); is != (b.low > 0 && !math.IsInf(b.high, 1) && s.End() == Running) {
			t.Errorf("known: %t, with the bounds %+v", is, b)
		}
		last, known = left, is
	}
}

func TestParametersAreChecked(t *testing.T) {
	for want, c := range map[string]struct {
		goal Goal
		span Range
	}{
		"trials of a close load: 0 is not from 1 to 20":        {Goal{Trials: 0, Width: 0.05}, Range{1, 1, 1}},
		"trials of a close load: 21 is not from 1 to 20":       {Goal{Trials: 21, Width: 0.05}, Range{1, 1, 1}},
		"width of the bracket: 0 % is not from 0.5 % to 50 %":  {Goal{Trials: 1}, Range{1, 1, 1}},
		"width of the bracket: 60 % is not from 0.5 % to 50 %": {Goal{Trials: 1, Width: 0.6}, Range{1, 1, 1}},
		"spare trials: -1 is not from 0 to 20":                 {Goal{Trials: 1, Width: 0.05, Spare: -1}, Range{1, 1, 1}},
		"lowest load: 0/s is not above 0":                      {goal, Range{1, 0, 1}},
		"first load: 1/s is below the lowest, 2/s":             {goal, Range{1, 2, 3}},
		"first load: 100/s is above the highest, 50/s":         {goal, Range{100, 1, 50}},
	} {
		if _, err := New(c.goal, c.span); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
