package search

import (
	"fmt"
	"math"
	"slices"
)

// Search is a search under way. What comes next follows from the loads and
// their trials alone, so that the same results give the same search.
type Search struct {
	goal  Goal
	span  Range
	loads []Load // ascending
}

// New begins a search.
func New(g Goal, r Range) (*Search, error) {
	if err := g.check(); err != nil {
		return nil, err
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	return &Search{goal: g, span: r}, nil
}

// Add takes what one trial at a load came to.
func (s *Search) Add(rate float64, r Result) {
	i, found := slices.BinarySearchFunc(s.loads, Load{Rate: rate}, byRate)
	if !found {
		s.loads = slices.Insert(s.loads, i, Load{Rate: rate})
	}
	s.loads[i].add(r)
}

// Next is the load that the next trial has to make; ok is false once the search
// has ended.
func (s *Search) Next() (rate float64, ok bool) {
	rate, end := s.next()
	return rate, end == Running
}

// End is how the search has ended; Running: it has not.
func (s *Search) End() End {
	_, end := s.next()
	return end
}

// Loads are all that were tried, ascending.
func (s *Search) Loads() []Load { return slices.Clone(s.loads) }

// Load is one that was tried.
func (s *Search) Load(rate float64) Load {
	for _, l := range s.loads {
		if l.Rate == rate { //nolint:staticcheck // the load of the trial, not one near it
			return l
		}
	}
	return Load{Rate: rate}
}

// Bounds are the relevant bounds so far, and the loads that contradict them.
func (s *Search) Bounds() (Bounds, []Load) { return relevant(s.Loads(), s.goal) }

// End is how a search ends.
type End int

// The ends.
const (
	Running      End = iota
	Found            // the bracket is as narrow as the goal
	AtMax            // the SLOs hold at the most that may be asked
	Missed           // they do not hold at the least
	Generator        // the generator's limit came first
	Undetermined     // trials did not decide
	Invalid          // trials may not be judged, for a reason that is not the generator
)

var endWords = map[End]string{
	Running: "running", Found: "found", AtMax: "at-max", Missed: "missed",
	Generator: "generator", Undetermined: "undecided", Invalid: "invalid",
}

// MarshalText writes the word.
func (e End) MarshalText() ([]byte, error) { return []byte(endWords[e]), nil }

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

// Width of a bracket, as a share of its upper bound.
func Width(low, high float64) float64 { return (high - low) / high }

// slack is how far from the geometric mean the middle of a bracket may lie, as a
// share of the bracket in logarithms.
const slack = 0.1

// middle is the roundest load near the geometric mean of a bracket, of which
// each half is then as many times as large as the other.
func middle(low, high float64) float64 {
	mean, room := math.Sqrt(low*high), slack*math.Log(high/low)
	for decimals := -int(math.Floor(math.Log10(mean))); decimals < 12; decimals++ {
		unit := math.Pow10(-decimals)
		rounded := math.Round(mean/unit) * unit
		if decimals > 0 {
			rounded = math.Round(mean*math.Pow10(decimals)) / math.Pow10(decimals)
		}
		if math.Abs(math.Log(rounded/mean)) <= room {
			return rounded
		}
	}
	return mean
}

// shrink is what of a bracket, in logarithms, is left at most after one load.
const shrink = 0.5 + slack

// MostTrials bounds the trials of the whole search.
func (s *Search) MostTrials() int {
	up := math.Ceil(math.Log2(s.span.Max / s.span.From))
	down := math.Ceil(math.Log2(s.span.From / s.span.Floor))
	// Between the bounds lie at most as many doublings as undecided loads and one.
	return int(1+up+down+2*s.steps(math.Exp2(greyLoads+1))) * s.mostOfLoad()
}

// mostOfLoad bounds the trials of one load.
func (s *Search) mostOfLoad() int { return s.goal.limit() + s.goal.Spare + 1 }

// steps bounds the loads that make a bracket narrow, whose bounds are so many
// times each other.
func (s *Search) steps(times float64) float64 {
	goal := -math.Log(1 - s.goal.Width)
	return max(0, math.Ceil(math.Log(math.Log(times)/goal)/-math.Log(shrink)))
}

// Left estimates the trials to come, if every load takes as many as the goal
// needs at least; ok is false while there are no two bounds, so that nobody
// knows.
func (s *Search) Left() (trials int, ok bool) {
	b := s.bracket()
	if b.low == 0 || math.IsInf(b.top(), 1) || s.End() != Running {
		return 0, false
	}
	halvings := math.Ceil(math.Log2(math.Log(b.top()/b.low) / -math.Log(1-s.goal.Width)))
	each := 0
	for l := (Load{}); l.Class(s.goal) == Open; each++ {
		l.Good++
	}
	begun := 0
	if b.open > 0 {
		begun = min(each-1, s.Load(b.open).judged())
	}
	return int(max(1, halvings))*each - begun, true
}

// number writes a rate as flags take it.
func number(v float64) string { return fmt.Sprintf("%.12g", v) }
