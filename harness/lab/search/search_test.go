package search

import (
	"fmt"
	"strings"
	"testing"
)

var goal = Goal{Trials: DefaultTrials, Exceed: DefaultExceed, Width: DefaultWidth, Spare: DefaultSpare}

// below answers as a system with a capacity does.
func below(capacity float64) func(float64, int) Result {
	return func(rate float64, _ int) Result {
		if rate <= capacity {
			return Good
		}
		return Bad
	}
}

// over answers in another way from a load on.
func over(limit float64, r Result, otherwise func(float64, int) Result) func(float64, int) Result {
	return func(rate float64, n int) Result {
		if rate >= limit {
			return r
		}
		return otherwise(rate, n)
	}
}

func TestHowSearchesEnd(t *testing.T) {
	for name, c := range map[string]struct {
		of    func(rate float64, n int) Result // n: its trial at this load, from 0
		goal  Goal
		end   End
		tried string // loads in their order, with how many trials each
		low   float64
		high  float64 // 0: none
	}{
		"found": {
			of: below(150), end: Found, tried: "100x2 200x2 140x2 170x2 154x2 147x2", low: 147, high: 154,
		},
		"one bad trial in three is forgiven": {
			of: func(rate float64, n int) Result {
				if n == 0 && rate < 150 {
					return Bad
				}
				return below(150)(rate, n)
			}, end: Found, tried: "100x3 200x2 140x3 170x2 154x2 147x3", low: 147, high: 154,
		},
		"one trial a load": {
			of: below(150), goal: Goal{Trials: 1, Width: 0.2}, end: Found, tried: "100x1 200x1 140x1 170x1", low: 140, high: 170,
		},
		"less than the first load": {
			of: below(30), end: Found, tried: "100x2 50x2 25x2 35x2 30x2 32x2 31x2", low: 30, high: 31,
		},
		"at the most": {
			of: below(1000), end: AtMax, tried: "100x2 200x2 400x2 500x2", low: 500,
		},
		"missed at a hundredth": {
			of: below(0.5), end: Missed, tried: "100x2 50x2 25x2 12.5x2 6.25x2 3.125x2 1.5625x2 1x2", high: 1,
		},
		"the generator's limit": {
			of: over(300, Starved, below(1000)), end: Generator, tried: "100x2 200x2 400x3 300x3 240x2 270x2 285x2", low: 285,
		},
		"a system below the generator's limit": {
			of: over(300, Starved, below(210)), end: Found, tried: "100x2 200x2 400x3 300x3 240x2 220x2 210x2", low: 210, high: 220,
		},
		"what the generator is refused is not tried again": {
			of: over(300, Refused, below(210)), end: Found, tried: "100x2 200x2 400x1 300x1 240x2 220x2 210x2", low: 210, high: 220,
		},
		"a generator that makes nothing": {
			of: over(0, Refused, nil), end: Generator, tried: "100x1 50x1 25x1 12.5x1 6.25x1 3.125x1 1.5625x1 1x1",
		},
		"a generator that never makes it": {
			of: over(0, Starved, nil), end: Generator, tried: "100x3 50x3",
		},
		"trials that never tell": {
			of: over(0, Unclear, nil), end: Undetermined, tried: "100x3 50x3",
		},
		"trials that do not tell near the capacity": {
			of: over(180, Bad, over(150, Unclear, below(150))), end: Undetermined,
			tried: "100x2 200x2 140x2 170x3 154x3 147x2 184x2 177x3", low: 147, high: 184,
		},
		"trials that do not tell at the most": {
			of: over(400, Unclear, below(1000)), end: Undetermined, tried: "100x2 200x2 400x3 500x3 300x2 350x2 370x2 385x2", low: 385,
		},
		"a trial that does not tell is read both ways": {
			of: func(rate float64, n int) Result {
				if n == 0 {
					return Unclear
				}
				return below(150)(rate, n)
			}, end: Found, tried: "100x3 200x3 140x3 170x3 154x3 147x3", low: 147, high: 154,
		},
		"a trial that may not be judged is made again": {
			of: func(rate float64, n int) Result {
				if n < 2 {
					return Void
				}
				return below(150)(rate, n)
			}, end: Found, tried: "100x4 200x4 140x4 170x4 154x4 147x4", low: 147, high: 154,
		},
		"trials that may not be judged, more often for the generator": {
			of: over(200, Refused, func(rate float64, n int) Result {
				if rate < 150 {
					return Good
				}
				return []Result{Void, Starved, Starved}[n%3]
			}), end: Generator, tried: "100x2 200x1 140x2 170x3 154x3 147x2", low: 147,
		},
		"trials that may not be judged, more often for another reason": {
			of: func(rate float64, n int) Result { return []Result{Starved, Void, Void}[n%3] }, end: Invalid, tried: "100x3",
		},
		"trials that do not tell at two loads in a row": {
			of: over(150, Unclear, below(1000)), end: Undetermined, tried: "100x2 200x3 400x3 140x2 170x3 154x3 147x2", low: 147,
		},
		"trials that may not be judged": {
			of: over(200, Void, below(1000)), end: Invalid, tried: "100x2 200x3", low: 100,
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
			var order []string
			for rate, ok := s.Next(); ok; rate, ok = s.Next() {
				l := s.Load(rate)
				n := l.judged() + l.Starved + l.Void + l.None
				if n == 0 {
					order = append(order, "")
				}
				order[len(order)-1] = fmt.Sprintf("%gx%d", rate, n+1)
				s.Add(rate, c.of(rate, n))
			}
			low, high := 0.0, 0.0
			if b, _ := s.Bounds(); b.Lower != nil {
				low = b.Lower.Rate
			}
			if b, _ := s.Bounds(); b.Upper != nil {
				high = b.Upper.Rate
			}
			if tried := strings.Join(order, " "); s.End() != c.end || tried != c.tried || low != c.low || high != c.high {
				t.Errorf("%s between %g and %g after %s", endWords[s.End()], low, high, tried)
			}
		})
	}
}

// Results may come in any order, as of another search: what contradicts others
// moves no bound, and no doubt within a bracket that is narrow enough.
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
		"no generator's limit below a load that it made": {[]results{{50, Starved, 3}, {100, Good, 2}}, 200, Running},
		"undecided within a narrow bracket":              {[]results{{100, Good, 2}, {102, Unclear, 3}, {104, Bad, 2}}, 0, Found},
		"a lower bound over the upper one":               {[]results{{100, Good, 2}, {104, Bad, 2}, {300, Good, 2}}, 0, Found},
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
			t.Errorf("%s: next is %g, %s", name, next, endWords[s.End()])
		}
	}
}

// The estimate counts down to nothing where no load takes more than it must.
func TestLeft(t *testing.T) {
	s, err := New(goal, Range{From: 100, Floor: 1, Max: 500})
	if err != nil {
		t.Fatal(err)
	}
	last, known := 0, false
	for rate, ok := s.Next(); ok; rate, ok = s.Next() {
		s.Add(rate, below(150)(rate, 0))
		left, is := s.Left()
		if known && is && left > last {
			t.Errorf("after a trial at %g %d are left, %d were before", rate, left, last)
		}
		if b, _ := s.Bounds(); is != (b.Lower != nil && b.Upper != nil && s.End() == Running) {
			t.Errorf("known: %t, with the bounds %+v", is, b)
		}
		last, known = left, is
	}
}

func TestWhatIsNoSearch(t *testing.T) {
	for want, c := range map[string]struct {
		goal Goal
		span Range
	}{
		"0 trials a load: from 1 to 20":                     {Goal{Trials: 0, Width: 0.05}, Range{1, 1, 1}},
		"21 trials a load: from 1 to 20":                    {Goal{Trials: 21, Width: 0.05}, Range{1, 1, 1}},
		"a width of 0 %: from 0.5 % to 50 %":                {Goal{Trials: 1}, Range{1, 1, 1}},
		"a width of 60 %: from 0.5 % to 50 %":               {Goal{Trials: 1, Width: 0.6}, Range{1, 1, 1}},
		"an exceed ratio of 1: from 0 to less than 1":       {Goal{Trials: 1, Width: 0.05, Exceed: 1}, Range{1, 1, 1}},
		"-1 spare trials: from 0 to 20":                     {Goal{Trials: 1, Width: 0.05, Spare: -1}, Range{1, 1, 1}},
		"a least load of 0/s is not above 0":                {goal, Range{1, 0, 1}},
		"a first load of 1/s is less than the least, 2/s":   {goal, Range{1, 2, 3}},
		"a first load of 100/s is more than the most, 50/s": {goal, Range{100, 1, 50}},
	} {
		if _, err := New(c.goal, c.span); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
