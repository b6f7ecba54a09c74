package search

import (
	"math"
	"slices"
)

// bracket is what is known of where the highest load lies.
type bracket struct {
	low     float64 // largest relevant lower bound; 0: none
	high    float64 // smallest upper bound; +Inf: none
	ceiling float64 // smallest load that the generator does not make; +Inf: none
	open    float64 // smallest load that is not decided yet; 0: none
	void    bool    // a load cannot be judged
	scarce  bool    // a load has too few samples to tell
	starved int     // loads at which trials showed that the generator does not make them
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

// top is the smallest load that is known to be too much, for the system or for
// the generator.
func (b bracket) top() float64 { return min(b.high, b.ceiling) }

// topEnd is the end of a search that has come up to top.
func (b bracket) topEnd(of End) End {
	if b.ceiling < b.high {
		return Generator
	}
	return of
}

// starvedLoads are how many loads that the generator did not make end a search for
// a lower bound, at a quarter of the first: where its machine is too busy for that,
// the loads further down are no better.
const starvedLoads = 3

// next decides what is tried: a load that is not decided yet, then a lower bound,
// then an upper one, which may be in doubt, then what lies between them. A load with
// too few samples ends the search, since lower ones have fewer still, and higher ones
// were tried.
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
	case s.narrow(b.low, b.top()):
		return 0, b.topEnd(Found)
	}
	return middle(b.low, b.top()), Running
}

// down halves the least load: there is no lower bound yet.
func (s *Search) down(b bracket) (float64, End) {
	least := b.top()
	if least <= s.span.Floor || b.starved >= starvedLoads {
		return 0, b.topEnd(Missed)
	}
	return max(s.span.Floor, least/2), Running
}

// up doubles the largest load: there is no upper bound yet.
func (s *Search) up(b bracket) (float64, End) {
	if b.low >= s.span.Max {
		return 0, AtMax
	}
	return min(s.span.Max, 2*b.low), Running
}

// doubtful reports whether one broken trial alone ends the doubling or halving.
// Nothing above an upper bound is tried, so that there a hiccup, or a system that was
// just started, would hide most of what it can do; later it hides no more than lies
// between two bounds. Once such a hiccup was found none is looked for any more, which
// would take more time than is likely to be worth it.
func (s *Search) doubtful(b bracket) bool {
	l := s.Load(b.high)
	return s.goal.Trials > 1 && 2*b.low <= b.high && l.Broken == 1 && l.Clear+l.Close == 0 && l.Starved+l.Void <= s.goal.Spare &&
		!slices.ContainsFunc(s.loads, func(l Load) bool { return l.Broken > 0 && l.Clear > 0 })
}

// narrow reports whether a bracket meets the goal's width.
func (s *Search) narrow(low, high float64) bool { return Width(low, high) <= s.goal.Width }
