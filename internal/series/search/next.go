package search

import (
	"math"
	"slices"
)

// bracket is what the trials so far say of the highest rate. Its bounds are the relevant
// ones of MLRsearch: the smallest upper bound, and the largest lower bound below it. A
// lower bound above an upper one is ignored.
type bracket struct {
	low     float64 // relevant lower bound; 0: none
	high    float64 // smallest upper bound; +Inf: none
	ceiling float64 // smallest load that the generator cannot offer; +Inf: none
	between Zone    // undecided loads between low and top
	open    float64 // smallest load between them that needs more trials; 0: none
	void    bool    // the trials of a load are INVALID
	starved int     // number of loads that the generator could not offer in trials
}

// Zone is the range of the undecided loads between the bounds. Zero: none.
type Zone struct {
	From float64 `json:"from" jsonschema:"exclusiveMinimum=0"`
	To   float64 `json:"to" jsonschema:"exclusiveMinimum=0"`
}

func (z Zone) empty() bool { return z.To == 0 }

// inVain reports whether two loads stay undecided after all of their trials, not counting
// as many as longer trials have decided. Trials of others that decide nothing are then not
// repeated: that would take more time than it is likely to be worth.
func (s *Search) inVain() bool {
	n := 0
	for _, l := range s.loads {
		switch class := l.Class(s.goal); {
		case class == TooClose || class == TooShort:
			n++
		case l.undecided() > 0 && (class == Lower || class == Upper):
			n--
		}
	}
	return n >= 2
}

func (s *Search) class(l Load) Class {
	g := s.goal
	if s.inVain() {
		g.Trials = 1
	}
	return l.Class(g)
}

func (s *Search) bracket() bracket {
	b := bracket{high: math.Inf(1), ceiling: math.Inf(1)}
	for _, l := range s.loads {
		switch class := s.class(l); {
		case class == Unjudged:
			b.void = true
		case class == Unmade:
			b.ceiling = min(b.ceiling, l.Rate)
			if l.Refused == 0 {
				b.starved++
			}
		case !math.IsInf(b.high, 1): // above an upper bound
		case class == Upper:
			b.high = l.Rate
		case class == Lower: // what did not hold below it did not by chance
			b.low, b.between, b.ceiling, b.open = l.Rate, Zone{}, math.Inf(1), 0
		case class == Open:
			if b.open == 0 {
				b.open = l.Rate
			}
		default: // The generator can offer it, so what it did not offer below is undecided as well.
			if b.between.empty() {
				b.between.From = l.Rate
			}
			b.between.From, b.between.To, b.ceiling = min(b.between.From, b.ceiling), l.Rate, math.Inf(1)
		}
	}
	return b
}

// top is the smallest load known to be too high, for the system or the generator.
func (b bracket) top() float64 { return min(b.high, b.ceiling) }

// highest is the largest load that is not known to be too high; 0: none.
func (b bracket) highest() float64 { return max(b.low, b.between.To) }

// lowest is the smallest load that is not known to hold; +Inf: none.
func (b bracket) lowest() float64 {
	if !b.between.empty() {
		return b.between.From
	}
	return b.top()
}

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

// next chooses the next load: one that needs more trials, then one to find an upper bound
// above a load that is not too high, then a lower bound, then the repetition of a doubtful
// upper bound, then one between the bounds. Undecided loads are neither: the upper bound is
// sought above them, and the lower bound below. Nothing is known of a load with too few
// samples, above which no unknown load is tried.
func (s *Search) next() (rate float64, end End) {
	b := s.bracket()
	decided := b.between.empty()
	switch {
	case b.void:
		return 0, Invalid
	case b.open > 0:
		return b.open, Running
	case len(s.loads) == 0:
		return s.span.From, Running
	case b.high < b.ceiling && s.contradicted(b.high) && s.doubtful(b.high):
		return b.high, Running
	case b.highest() > 0 && b.highest() < s.span.Max && math.IsInf(b.top(), 1) && !s.scarce(b.highest()):
		return s.up(b), Running
	case b.low == 0 && s.lower(b):
		return s.down(b), Running
	case b.low == 0 && decided:
		return 0, b.endAtTop(Missed)
	case b.high < b.ceiling && 2*b.highest() <= b.high && s.doubtful(b.high):
		return b.high, Running
	case !decided && b.low > 0 && Width(b.low, b.between.From) > s.goal.Width:
		return s.down(b), Running
	case math.IsInf(b.top(), 1):
	case decided && Width(b.low, b.top()) > s.goal.Width:
		return middle(b.low, b.top()), Running
	case !decided && !(s.scarce(b.between.To) && s.inVain()) && Width(b.between.To, b.top()) > s.goal.Width:
		return s.up(b), Running
	}
	return 0, s.ended(b)
}

// ended is the end of a search without a load to try.
func (s *Search) ended(b bracket) End {
	switch z := b.between; {
	case z.empty() && math.IsInf(b.top(), 1):
		return AtMax
	case z.empty():
		return b.endAtTop(Found)
	case b.low == 0, math.IsInf(b.top(), 1), s.scarce(z.From), s.scarce(z.To), Width(z.From, z.To) > s.goal.Width:
		return Undecided
	}
	return b.endAtTop(Found)
}

// lower reports whether a load below all others may hold. A load with too few samples
// ends the search for it: lower loads have fewer still.
func (s *Search) lower(b bracket) bool {
	return b.lowest() > s.span.Floor && b.starved < starvedLoads && !s.scarce(b.lowest())
}

func (s *Search) scarce(rate float64) bool { return s.class(s.Load(rate)) == TooShort }

// down is a load below the upper bound or the undecided loads.
func (s *Search) down(b bracket) float64 {
	z := b.between
	if z.empty() {
		return max(s.span.Floor, b.top()/2)
	}
	step := s.step(z)
	rate := max(s.span.Floor, middle(z.From/(step*step), z.From))
	if b.low > 0 {
		rate = max(rate, middle(b.low, z.From))
	}
	return rate
}

// up is a load above the lower bound or the undecided loads.
func (s *Search) up(b bracket) float64 {
	z := b.between
	if z.empty() {
		return min(s.span.Max, 2*b.low)
	}
	step := s.step(z)
	if s.scarce(z.To) {
		step = 2 // as a load with many more samples may be decided
	}
	rate := min(s.span.Max, middle(z.To, z.To*step*step))
	if top := b.top(); !math.IsInf(top, 1) {
		rate = min(rate, middle(z.To, top))
	}
	return rate
}

// step is how far from the undecided loads the next one is: first within the goal's width,
// because violations grow so fast in most systems that the SLOs hold or are missed there;
// then as far again as the undecided loads reach.
func (s *Search) step(z Zone) float64 {
	width := math.Pow(1-s.goal.Width, 2*slack-1) // middle may be off by slack of two steps
	return min(2, max(width, z.To/z.From))
}

// doubtful reports whether an upper bound rests on a single broken trial, which is repeated
// where it ends the doubling or halving, or contradicts the trials of higher loads. Nothing
// above an upper bound is tried, so that a hiccup, or a cold start, would there hide most
// of the system's capacity; in the bisection it hides at most the width of the bracket.
// After one such hiccup was found no other is looked for: that would take more time than
// it is likely to be worth.
func (s *Search) doubtful(rate float64) bool {
	l := s.Load(rate)
	return s.goal.Trials > 1 && l.Broken == 1 && l.Clear+l.undecided() == 0 && l.Starved+l.Void <= s.goal.Spare &&
		!slices.ContainsFunc(s.loads, func(l Load) bool { return l.Broken > 0 && l.Clear > 0 })
}

// contradicted reports whether a load above a rate held, or is undecided.
func (s *Search) contradicted(rate float64) bool {
	return slices.ContainsFunc(s.loads, func(l Load) bool {
		class := s.class(l)
		return l.Rate > rate && (class == Lower || class == TooClose)
	})
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
	if z := b.between; !z.empty() {
		return max(1, s.goal.bisections(z.From/b.low)+s.goal.bisections(b.top()/z.To))
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
