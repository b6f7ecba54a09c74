package search

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// system answers a trial at a load.
type system func(rt *rapid.T, rate float64) Result

func anyGoal(rt *rapid.T) Goal {
	return Goal{
		Trials: rapid.IntRange(1, 5).Draw(rt, "trials"), Exceed: rapid.SampledFrom([]float64{0, 0.25, 0.5, 0.9}).Draw(rt, "exceed"),
		Width: rapid.Float64Range(0.02, 0.05).Draw(rt, "width"), Spare: rapid.IntRange(0, 3).Draw(rt, "spare"),
	}
}

func anyRange(rt *rapid.T) Range {
	from := math.Pow(10, rapid.Float64Range(-1, 5).Draw(rt, "from"))
	return Range{From: from, Floor: from * FloorShare, Max: from * rapid.Float64Range(1, 1000).Draw(rt, "max")}
}

// shrink is what of a bracket, in logarithms, is left at most after one load.
const shrink = 0.5 + slack

// mostTrials bounds the trials of a whole search.
func mostTrials(s *Search) int {
	up := math.Ceil(math.Log2(s.span.Max / s.span.From))
	down := math.Ceil(math.Log2(s.span.From / s.span.Floor))
	// Between the bounds lie at most as many doublings as undecided loads and one.
	doublings := (greyLoads + 1) * math.Ln2
	width := -math.Log(1 - s.goal.Width)
	steps := max(0, math.Ceil(math.Log(doublings/width)/-math.Log(shrink)))
	ofLoad := s.goal.limit() + s.goal.Spare + 1
	return int(1+up+down+2*steps) * ofLoad
}

// finish searches to the end. All the way the bracket is no inverted one and
// never grows, every load lies in the range, and the trials stay within bounds.
func finish(rt *rapid.T, g Goal, r Range, of system) *Search {
	s, err := New(g, r)
	if err != nil {
		rt.Fatal(err)
	}
	low, high, most := 0.0, math.Inf(1), mostTrials(s)
	for n := 0; ; n++ {
		rate, ok := s.Next()
		if !ok {
			return s
		}
		if n >= most {
			rt.Fatalf("%d trials have not ended it: %+v", n, s.loads)
		}
		if rate < r.Floor || rate > r.Max {
			rt.Fatalf("load %g of %+v", rate, r)
		}
		if rate <= low || rate >= high {
			rt.Fatalf("load %g is outside of %g to %g", rate, low, high)
		}
		s.Add(rate, of(rt, rate))
		if l := s.Load(rate); l.judged() > g.limit() || l.Starved+l.Void > g.Spare+1 {
			rt.Fatalf("too many trials: %+v", l)
		}
		b, _ := s.Bounds()
		was := [2]float64{low, high}
		if b.Lower != nil {
			low = b.Lower.Rate
		}
		if b.Upper != nil {
			high = b.Upper.Rate
		}
		if low < was[0] || high > was[1] || low >= high {
			rt.Fatalf("bounds %g to %g after %g to %g", low, high, was[0], was[1])
		}
	}
}

// Without noise the bounds enclose the capacity, or say on which side of the
// range it lies.
func TestExactSystem(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		g, r := anyGoal(rt), anyRange(rt)
		capacity := r.From * math.Pow(10, rapid.Float64Range(-3, 4).Draw(rt, "capacity"))
		s := finish(rt, g, r, func(_ *rapid.T, rate float64) Result {
			if rate <= capacity {
				return Good
			}
			return Bad
		})
		b, against := s.Bounds()
		switch end := s.End(); {
		case capacity < r.Floor:
			if end != Missed || b.Lower != nil || b.Upper.Rate != r.Floor {
				rt.Fatalf("%s: %+v", endWords[end], s.loads)
			}
		case capacity >= r.Max:
			if end != AtMax || b.Upper != nil || b.Lower.Rate != r.Max {
				rt.Fatalf("%s: %+v", endWords[end], s.loads)
			}
		case end != Found || b.Lower.Rate > capacity || b.Upper.Rate <= capacity || Width(b.Lower.Rate, b.Upper.Rate) > g.Width:
			rt.Fatalf("%s, capacity %g: %+v", endWords[end], capacity, s.loads)
		}
		if len(against) > 0 {
			rt.Fatalf("contradictions: %+v", against)
		}
	})
}

// Whatever a system answers, the search ends within its bounds, and says no more
// than its trials do.
func TestNoisySystem(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		g, r := anyGoal(rt), anyRange(rt)
		capacity := r.From * math.Pow(10, rapid.Float64Range(-2.5, 3).Draw(rt, "capacity"))
		limit := r.From * math.Pow(10, rapid.Float64Range(-1, 4).Draw(rt, "the generator's limit"))
		spread := rapid.SampledFrom([]float64{0, 0.02, 0.1, 0.5}).Draw(rt, "spread")
		grey := rapid.SampledFrom([]float64{0, 0.02, 0.2, 3}).Draw(rt, "grey")
		spoiled := rapid.SampledFrom([]int{0, 0, 5, 30}).Draw(rt, "spoiled, %")
		s := finish(rt, g, r, func(rt *rapid.T, rate float64) Result {
			at := math.Log(rate/capacity) + spread*rapid.Float64Range(-1, 1).Draw(rt, "noise")
			switch spoil := rapid.IntRange(0, 99).Draw(rt, "spoil"); {
			case rate > limit, spoil < spoiled:
				return rapid.SampledFrom([]Result{Starved, Starved, Starved, Void}).Draw(rt, "how")
			case math.Abs(at) < grey:
				return Unclear
			case at <= 0:
				return Good
			}
			return Bad
		})
		b, _ := s.Bounds()
		switch end := s.End(); end {
		case Found:
			if Width(b.Lower.Rate, b.Upper.Rate) > g.Width {
				rt.Fatalf("found within %g to %g", b.Lower.Rate, b.Upper.Rate)
			}
		case AtMax:
			if b.Lower.Rate != r.Max || b.Upper != nil {
				rt.Fatalf("%+v", b)
			}
		case Missed:
			if b.Upper.Rate != r.Floor || b.Lower != nil {
				rt.Fatalf("%+v", b)
			}
		case Generator:
			if math.IsInf(s.bracket().ceiling, 1) {
				rt.Fatal("no load is beyond the generator")
			}
		case Undetermined:
			if len(s.bracket().grey) == 0 {
				rt.Fatal("no load is undecided")
			}
		case Invalid:
			if !s.bracket().void {
				rt.Fatal("every load could be judged")
			}
		default:
			rt.Fatal("it has not ended")
		}
		for _, l := range s.loads {
			if b.Lower != nil && l.Rate == b.Lower.Rate && float64(max(g.Trials, l.judged())-l.Good) > g.Exceed*float64(max(g.Trials, l.judged())) {
				rt.Fatalf("a lower bound by %+v", l)
			}
			if b.Upper != nil && l.Rate == b.Upper.Rate && float64(l.Bad) <= g.Exceed*float64(max(g.Trials, l.judged())) {
				rt.Fatalf("an upper bound by %+v", l)
			}
		}
	})
}

// A load that is decided stays so, whatever trials of it are still to come: that
// is what the two ratios are for. Undecided trials are read both ways.
func TestDecisionsStand(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		g := anyGoal(rt)
		var l Load
		trials := rapid.SliceOfN(rapid.SampledFrom([]Result{Good, Bad, Unclear, Starved, Void}), 0, g.limit()+2).Draw(rt, "trials")
		for _, r := range trials {
			l.add(r)
		}
		class := l.Class(g)
		for _, reading := range []Result{Good, Bad} {
			as := l
			for range l.Unclear {
				as.Unclear--
				as.add(reading)
			}
			for as.judged() < g.Trials {
				as.add(reading)
			}
			if got := as.Class(g); (class == Lower || class == Upper) && got != class {
				rt.Fatalf("%+v is %s, and read otherwise %s", l, classWords[class], classWords[got])
			}
		}
	})
}

// Trials that may not be judged change neither ratio.
func TestSpoiledTrialsCountForNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		g := anyGoal(rt)
		l := Load{Good: rapid.IntRange(0, 5).Draw(rt, "good"), Bad: rapid.IntRange(0, 5).Draw(rt, "bad"), Unclear: rapid.IntRange(0, 5).Draw(rt, "unclear")}
		with := l
		with.Starved, with.Void = rapid.IntRange(0, 9).Draw(rt, "starved"), rapid.IntRange(0, 9).Draw(rt, "void")
		a, b := l.ratios(g)
		if c, d := with.ratios(g); a != c || b != d {
			rt.Fatalf("%+v: %g to %g, with the spoiled %g to %g", with, a, b, c, d)
		}
		decided := func(c Class) bool { return c == Lower || c == Upper }
		if got := with.Class(g); (decided(l.Class(g)) || decided(got)) && got != l.Class(g) {
			rt.Fatalf("%s, with the spoiled %s", classWords[l.Class(g)], classWords[got])
		}
	})
}

// The relevant bounds are the cautious reading of any loads, in any order.
func TestRelevantBounds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		g := Goal{Trials: 1, Exceed: 0.5, Width: 0.05}
		s, err := New(g, Range{From: 1, Floor: 1, Max: 100})
		if err != nil {
			rt.Fatal(err)
		}
		least, want := math.Inf(1), 0.0
		results := map[float64]Result{}
		for _, rate := range rapid.SliceOfNDistinct(rapid.Float64Range(1, 100), 1, 12, rapid.ID[float64]).Draw(rt, "loads") {
			results[rate] = rapid.SampledFrom([]Result{Good, Bad}).Draw(rt, "result")
			s.Add(rate, results[rate])
			if results[rate] == Bad {
				least = min(least, rate)
			}
		}
		over := 0
		for rate, r := range results {
			if r == Good && rate < least {
				want = max(want, rate)
			}
			if r == Good && rate > least {
				over++
			}
		}
		b, against := s.Bounds()
		if got := s.bracket(); got.low != want || got.high != least || len(against) != over || (b.Upper != nil) != !math.IsInf(least, 1) {
			rt.Fatalf("%+v with %d against, want %g to %g with %d", got, len(against), want, least, over)
		}
	})
}

// The middle lies between, is as round as it can be, and makes the bracket
// smaller by what mostTrials counts on.
func TestMiddle(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		low := math.Pow(10, rapid.Float64Range(-2, 6).Draw(rt, "low"))
		high := low * rapid.Float64Range(1.005, 200).Draw(rt, "times")
		m := middle(low, high)
		whole := math.Log(high / low)
		for _, part := range []float64{math.Log(m / low), math.Log(high / m)} {
			if part <= 0 || part > (shrink+1e-9)*whole {
				rt.Fatalf("%g between %g and %g", m, low, high)
			}
		}
	})
	for _, c := range []struct{ low, high, want float64 }{{100, 200, 140}, {100, 400, 200}, {1, 100, 10}, {0.5, 1, 0.7}, {140, 147, 143}, {980, 1010, 995}} {
		if got := middle(c.low, c.high); math.Abs(got-c.want) > 0.005*c.want {
			t.Errorf("middle of %g and %g is %g", c.low, c.high, got)
		}
	}
}
