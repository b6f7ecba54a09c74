package search

import (
	"math"
	"slices"
)

type bracket struct {
	low     float64 // relevant lower bound; 0: none
	high    float64 // smallest upper bound; +Inf: none
	ceiling float64 // smallest load that the generator cannot offer; +Inf: none
	open    float64 // smallest undecided load; 0: none
	void    bool    // the trials of a load are INVALID
	scarce  bool    // the trials of a load have too few samples to decide
	starved int     // number of loads that the generator could not offer in trials
}

func (s *Search) bracket() bracket {
	b := bracket{high: math.Inf(1), ceiling: math.Inf(1)}
	bounds := s.Bounds()
	if bounds.Lower != nil {
		b.low = bounds.Lower.Rate
	}
	if bounds.Upper != nil {
		b.high = bounds.Upper.Rate
	}
	for _, l := range s.loads {
		switch l.Class(s.goal) {
		case Open:
			if b.open == 0 {
				b.open = l.Rate
			}
		case Unmade:
			if l.Rate > b.low {
				b.ceiling = min(b.ceiling, l.Rate)
			}
			if l.Refused == 0 {
				b.starved++
			}
		case Unjudged:
			b.void = true
		case TooShort:
			b.scarce = true
		}
	}
	return b
}

// top is the smallest load known to be too high, for the system or the generator.
func (b bracket) top() float64 { return min(b.high, b.ceiling) }

// endAtTop is the end of a search that cannot go above top: Generator if the
// generator limits it, else bySystem.
func (b bracket) endAtTop(bySystem End) End {
	if b.ceiling < b.high {
		return Generator
	}
	return bySystem
}

// starvedLoads is how many loads the generator may fail to offer before the search
// for a lower bound ends: a machine too busy for a quarter of the first load is too
// busy for less.
const starvedLoads = 3

// next chooses the next load: one that is undecided, then one to find a lower bound,
// then an upper bound, then the repetition of a doubtful upper bound, then one
// between the bounds. A load with too few samples ends the search: lower loads have
// fewer still, and higher ones were tried.
func (s *Search) next() (rate float64, end End) {
	b := s.bracket()
	switch {
	case b.void:
		return 0, Invalid
	case b.open > 0:
		return b.open, Running
	case b.scarce:
		return 0, Undecided
	case len(s.loads) == 0:
		return s.span.From, Running
	case b.low == 0:
		return s.down(b)
	case math.IsInf(b.top(), 1):
		return s.up(b)
	case b.high < b.ceiling && s.doubtful(b):
		return b.high, Running
	case Width(b.low, b.top()) <= s.goal.Width:
		return 0, b.endAtTop(Found)
	}
	return middle(b.low, b.top()), Running
}

func (s *Search) down(b bracket) (float64, End) {
	lowest := b.top()
	if lowest <= s.span.Floor || b.starved >= starvedLoads {
		return 0, b.endAtTop(Missed)
	}
	return max(s.span.Floor, lowest/2), Running
}

func (s *Search) up(b bracket) (float64, End) {
	if b.low >= s.span.Max {
		return 0, AtMax
	}
	return min(s.span.Max, 2*b.low), Running
}

// doubtful reports whether a single broken trial ends the doubling or halving, and
// should be repeated. Nothing above an upper bound is tried, so that a hiccup, or a
// cold start, would there hide most of the system's capacity; in the bisection it
// hides at most the width of the bracket. After one such hiccup was found no other
// is looked for: that would take more time than it is likely to be worth.
func (s *Search) doubtful(b bracket) bool {
	l := s.Load(b.high)
	return s.goal.Trials > 1 && 2*b.low <= b.high && l.Broken == 1 && l.Clear+l.Close == 0 && l.Starved+l.Void <= s.goal.Spare &&
		!slices.ContainsFunc(s.loads, func(l Load) bool { return l.Broken > 0 && l.Clear > 0 })
}

// Width is the width of a bracket, as a share of its upper bound.
func Width(low, high float64) float64 { return (high - low) / high }

// slack is how far the split of a bracket may be from the geometric mean, as a share
// of ln(high/low): little enough for the estimate of bisections.
const slack = 0.03

// middle is the load with the fewest digits near the geometric mean of a bracket,
// which divides it in equal ratios.
func middle(low, high float64) float64 {
	mean, tolerance := math.Sqrt(low*high), slack*math.Log(high/low)
	for decimals := -int(math.Floor(math.Log10(mean))); decimals < 12; decimals++ {
		unit := math.Pow10(-decimals)
		rounded := math.Round(mean/unit) * unit
		if decimals > 0 {
			rounded = math.Round(mean*math.Pow10(decimals)) / math.Pow10(decimals)
		}
		if math.Abs(math.Log(rounded/mean)) <= tolerance {
			return rounded
		}
	}
	return mean
}

// TrialsLeft estimates the remaining trials, at one for each load; 0 unless the search is
// running with both bounds known.
func (s *Search) TrialsLeft() int {
	b := s.bracket()
	if b.low == 0 || math.IsInf(b.top(), 1) || s.End() != Running {
		return 0
	}
	return max(1, s.goal.bisections(b.top()/b.low))
}

// bisections is the maximum number of loads to narrow a bracket to the goal's width:
// the smallest n with ln(ratio) (1/2 + slack)^n <= -ln(1 - width), where ratio is
// high/low.
func (g Goal) bisections(ratio float64) int {
	const half = 0.5 + slack // share of ln(high/low) that remains after each, at most
	return max(0, int(math.Ceil(math.Log(-math.Log(1-g.Width)/math.Log(ratio))/math.Log(half))))
}
