package search

import "math"

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

// TrialsLeft estimates the remaining trials, at one for each load; ok is false unless
// the search is running with both bounds known.
func (s *Search) TrialsLeft() (trials int, ok bool) {
	b := s.bracket()
	if b.low == 0 || math.IsInf(b.top(), 1) || s.End() != Running {
		return 0, false
	}
	return max(1, s.goal.bisections(b.top()/b.low)), true
}

// bisections is the maximum number of loads to narrow a bracket to the goal's width:
// the smallest n with ln(ratio) (1/2 + slack)^n <= -ln(1 - width), where ratio is
// high/low.
func (g Goal) bisections(ratio float64) int {
	const half = 0.5 + slack // share of ln(high/low) that remains after each, at most
	return max(0, int(math.Ceil(math.Log(-math.Log(1-g.Width)/math.Log(ratio))/math.Log(half))))
}
