package search

import "math"

// bracket is what is known of where the highest load lies.
type bracket struct {
	low     float64   // largest relevant lower bound; 0: none
	high    float64   // smallest upper bound; +Inf: none
	ceiling float64   // smallest load that the generator does not make; +Inf: none
	grey    []float64 // undecided loads between low and the smaller of both
	open    float64   // smallest load that is not decided yet; 0: none
	void    bool      // a load cannot be judged
	starved int       // loads at which trials showed that the generator does not make them
}

func (s *Search) bracket() bracket {
	b := bracket{high: math.Inf(1), ceiling: math.Inf(1)}
	bounds, _ := relevant(s.loads, s.goal)
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
			if l.None == 0 {
				b.starved++
			}
		case Unjudged:
			b.void = true
		}
	}
	for _, l := range s.loads {
		if l.Class(s.goal) == Undecided && l.Rate > b.low && l.Rate < b.top() {
			b.grey = append(b.grey, l.Rate)
		}
	}
	return b
}

// top is the smallest load that is known to be too much, for the system or for
// the generator.
func (b bracket) top() float64 { return min(b.high, b.ceiling) }

// topEnd is the end of a search that has come up to top.
func (b bracket) topEnd(of End) End {
	switch {
	case len(b.grey) > 0:
		return Undetermined
	case b.ceiling < b.high:
		return Generator
	}
	return of
}

// greyLoads are how many loads that trials could not decide end a search for a
// bound: where trials are too short to tell, or the generator's machine is too
// busy, the loads further on are no better.
const greyLoads = 2

// next decides what is tried: a load that is not decided yet, then a lower
// bound, then an upper one, then what lies between them.
func (s *Search) next() (rate float64, end End) {
	b := s.bracket()
	switch {
	case b.void:
		return 0, Invalid
	case b.open > 0:
		return b.open, Running
	case len(s.loads) == 0:
		return s.span.From, Running
	case b.low == 0:
		return s.down(b)
	case math.IsInf(b.top(), 1):
		return s.up(b)
	case s.narrow(b.low, b.high):
		return 0, Found
	}
	return s.between(b)
}

// down halves the least load: there is no lower bound yet.
func (s *Search) down(b bracket) (float64, End) {
	least := b.top()
	if len(b.grey) > 0 {
		least = min(least, b.grey[0])
	}
	if least <= s.span.Floor || len(b.grey) >= greyLoads || b.starved >= greyLoads {
		return 0, b.topEnd(Missed)
	}
	return max(s.span.Floor, least/2), Running
}

// up doubles the largest load: there is no upper bound yet.
func (s *Search) up(b bracket) (float64, End) {
	most := b.low
	if n := len(b.grey); n > 0 {
		most = b.grey[n-1]
	}
	switch {
	case b.low >= s.span.Max:
		return 0, AtMax
	case most < s.span.Max && len(b.grey) < greyLoads:
		return min(s.span.Max, 2*most), Running
	case s.narrow(b.low, b.grey[0]):
		return 0, Undetermined
	}
	return middle(b.low, b.grey[0]), Running
}

// between bisects the bracket. Where undecided loads lie in it, what is below
// them, and then what is above them, is made narrow instead.
func (s *Search) between(b bracket) (float64, End) {
	below, above := b.top(), b.low
	if n := len(b.grey); n > 0 {
		below, above = b.grey[0], b.grey[n-1]
	}
	switch {
	case !s.narrow(b.low, below):
		return middle(b.low, below), Running
	case len(b.grey) > 0 && !s.narrow(above, b.top()):
		return middle(above, b.top()), Running
	}
	return 0, b.topEnd(Found)
}

// narrow reports whether a bracket meets the goal's width; without a bound on
// either side it does not.
func (s *Search) narrow(low, high float64) bool {
	return low > 0 && !math.IsInf(high, 1) && Width(low, high) <= s.goal.Width
}
