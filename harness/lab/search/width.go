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
