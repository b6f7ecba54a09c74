package search

import (
	"fmt"
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
	return l.Clear + l.Broken + l.Close + l.Scarce + l.Starved + l.Void + l.Refused
}

func TestHowSearchesEnd(t *testing.T) {
	for name, c := range map[string]struct {
		of    func(rate float64, n int) Result // n: number of earlier trials at this rate
		goal  Goal
		end   End
		tried string // loads in the order of their first trials, with the number of trials
		low   float64
		high  float64 // 0: none
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
			}, end: Found, tried: "100x1 200x3 140x1 167x1 153x1", low: 140, high: 153,
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
		"close twice counts as not sustained": {
			of: over(180, Broken, over(150, Close, below(150))), end: Found, tried: "100x1 200x2 140x1 167x2 153x2", low: 140, high: 153,
		},
		"close in every trial of four": {
			of: over(180, Broken, over(150, Close, below(150))), goal: Goal{Trials: 4, Width: 0.1}, end: Found,
			tried: "100x1 200x2 140x1 167x4 153x4", low: 140, high: 153,
		},
		"close at every load": {
			of: over(0, Close, nil), end: Missed, tried: "100x2 50x2 25x2 12.5x2 6.25x2 3.125x2 1.5625x2 1x2", high: 1,
		},
		"close at a doubled load": {
			of: over(400, Close, below(1000)), end: Found, tried: "100x1 200x1 400x2 280x1 335x1 366x1", low: 366, high: 400,
		},
		"too few samples below some load": {
			of: func(rate float64, _ int) Result {
				if rate < 30 {
					return Scarce
				}
				return Broken
			}, end: Undecided, tried: "100x1 50x1 25x1", high: 50,
		},
		"too few samples at the first load": {
			of: over(0, Scarce, nil), end: Undecided, tried: "100x1",
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
			}, end: Found, tried: "100x1 200x4 140x1 167x4 153x4", low: 140, high: 153,
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
			low, high, b := 0.0, 0.0, s.Bounds()
			if b.Lower != nil {
				low = b.Lower.Rate
			}
			if b.Upper != nil {
				high = b.Upper.Rate
			}
			if tried := strings.Join(all, " "); s.End() != c.end || tried != c.tried || low != c.low || high != c.high {
				t.Errorf("%s between %g and %g after %s", s.End(), low, high, tried)
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
		if b := s.Bounds(); is != (b.Lower != nil && b.Upper != nil && s.End() == Running) {
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
