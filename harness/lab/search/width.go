package search

import "math"

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
