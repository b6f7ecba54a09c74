package search

import "math"

// Width of a bracket, as a share of its upper bound.
func Width(low, high float64) float64 { return (high - low) / high }

// slack is how far from the geometric mean the middle of a bracket may lie, as a
// share of the bracket in logarithms: so little that Loads counts on it.
const slack = 0.03

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

// Left estimates the trials to come, if one decides each load; ok is false while
// there are no two bounds, so that nobody knows.
func (s *Search) Left() (trials int, ok bool) {
	b := s.bracket()
	if b.low == 0 || math.IsInf(b.top(), 1) || s.End() != Running {
		return 0, false
	}
	return max(1, s.goal.bisections(b.top()/b.low)), true
}

// bisections are how many loads at most it takes to make a bracket narrow of which
// one bound is so many times the other.
func (g Goal) bisections(times float64) int {
	const left = 0.5 + slack // of a bracket, at most, after each
	return max(0, int(math.Ceil(math.Log(-math.Log(1-g.Width)/math.Log(times))/math.Log(left))))
}
