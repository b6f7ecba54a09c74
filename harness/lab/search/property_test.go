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
		Trials: rapid.IntRange(1, 5).Draw(rt, "trials"), Width: rapid.Float64Range(0.02, 0.2).Draw(rt, "width"), Spare: rapid.IntRange(0, 3).Draw(rt, "spare"),
	}
}

func anyRange(rt *rapid.T) Range {
	from := math.Pow(10, rapid.Float64Range(-1, 5).Draw(rt, "from"))
	return Range{From: from, Floor: from * FloorShare, Max: from * rapid.Float64Range(1, 1000).Draw(rt, "max")}
}

// mostTrials bounds the trials of a whole search: each load that was an upper bound
// may have been one by mistake, and the search then goes on above it.
func mostTrials(s *Search) int {
	up := int(math.Ceil(math.Log2(s.span.Max / s.span.From)))
	down := int(math.Ceil(math.Log2(s.span.From / s.span.Floor)))
	bisected := s.goal.bisections(2)
	return (1 + up + down + bisected*(1+up+down+bisected)) * mostOfLoad(s.goal)
}

// mostOfLoad is a trial that is broken, one that contradicts it and one that decides,
// or as many that are close; and those that may not be judged.
func mostOfLoad(g Goal) int { return max(g.Trials, 3) + g.Spare + 1 }

// finish searches to the end. All the way the bracket is no inverted one and never
// grows but where a load is contradicted, every load lies in the range, and the
// trials stay within bounds.
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
		if rate <= low || rate > high || rate == high && s.Load(rate).Broken > 1 {
			rt.Fatalf("load %g is outside of %g to %g", rate, low, high)
		}
		s.Add(rate, of(rt, rate))
		if l := s.Load(rate); l.trials() > mostOfLoad(g) {
			rt.Fatalf("too many trials: %+v", l)
		}
		b := s.Bounds()
		was := [2]float64{low, high}
		if b.Lower != nil {
			low = b.Lower.Rate
		}
		if high = math.Inf(1); b.Upper != nil {
			high = b.Upper.Rate
		}
		if low < was[0] || high > was[1] && s.Load(was[1]).Clear == 0 || low >= high {
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
				return Clear
			}
			return Broken
		})
		b := s.Bounds()
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
				return Close
			case at <= 0:
				return Clear
			}
			return Broken
		})
		b := s.Bounds()
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
		case Invalid:
			if !s.bracket().void {
				rt.Fatal("every load could be judged")
			}
		default:
			rt.Fatal("it has not ended")
		}
		if b.Lower != nil && b.Lower.Clear <= b.Lower.Broken {
			rt.Fatalf("a lower bound by %+v", b.Lower)
		}
		if b.Upper != nil && (b.Upper.Broken+b.Upper.Close == 0 || b.Upper.Clear > b.Upper.Broken) {
			rt.Fatalf("an upper bound by %+v", b.Upper)
		}
	})
}

// A load is never better than its trials: taking any of them for a worse one moves
// it to no lower bound.
func TestWorseTrialsNeverRaiseALoad(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		g := anyGoal(rt)
		var as, worse Load
		for _, r := range rapid.SliceOfN(rapid.SampledFrom([]Result{Clear, Broken, Close, Scarce, Starved, Void}), 0, 8).Draw(rt, "trials") {
			as.add(r)
			if (r == Clear || r == Close) && rapid.Bool().Draw(rt, "worse") {
				r = map[Result]Result{Clear: Close, Close: Broken}[r]
			}
			worse.add(r)
		}
		if as.Class(g) != Lower && worse.Class(g) == Lower {
			rt.Fatalf("%+v is %s, and worse %s", as, classWords[as.Class(g)], classWords[worse.Class(g)])
		}
		if as.Class(g).upper() && as.Broken > 0 && !worse.Class(g).upper() {
			rt.Fatalf("%+v is %s, and worse %s", as, classWords[as.Class(g)], classWords[worse.Class(g)])
		}
	})
}

// A trial that decides does so whatever other trials could not be judged.
func TestSpoiledTrialsCountForNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		g := anyGoal(rt)
		l := Load{Clear: rapid.IntRange(0, 2).Draw(rt, "clear"), Broken: rapid.IntRange(0, 2).Draw(rt, "broken"), Close: rapid.IntRange(0, 5).Draw(rt, "close")}
		with := l
		with.Starved, with.Void = rapid.IntRange(0, 9).Draw(rt, "starved"), rapid.IntRange(0, 9).Draw(rt, "void")
		was, is := l.Class(g), with.Class(g)
		if was != Open && is != was || is == Lower && was != Lower || is == Upper && was != Upper {
			rt.Fatalf("%s, with the spoiled %s", classWords[was], classWords[is])
		}
	})
}

// The relevant bounds are the cautious reading of any loads, in any order.
func TestRelevantBounds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		g := Goal{Trials: 1, Width: 0.05}
		s, err := New(g, Range{From: 1, Floor: 1, Max: 100})
		if err != nil {
			rt.Fatal(err)
		}
		least, want := math.Inf(1), 0.0
		results := map[float64]Result{}
		for _, rate := range rapid.SliceOfNDistinct(rapid.Float64Range(1, 100), 1, 12, rapid.ID[float64]).Draw(rt, "loads") {
			results[rate] = rapid.SampledFrom([]Result{Clear, Broken, Close}).Draw(rt, "result")
			s.Add(rate, results[rate])
			if results[rate] != Clear {
				least = min(least, rate)
			}
		}
		for rate, r := range results {
			if r == Clear && rate < least {
				want = max(want, rate)
			}
		}
		b := s.Bounds()
		if got := s.bracket(); got.low != want || got.high != least || (b.Upper != nil) != !math.IsInf(least, 1) {
			rt.Fatalf("%+v, want %g to %g", got, want, least)
		}
	})
}

// The middle lies between, is as round as it can be, and makes the bracket
// smaller by what bisections counts on.
func TestMiddle(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		low := math.Pow(10, rapid.Float64Range(-2, 6).Draw(rt, "low"))
		high := low * rapid.Float64Range(1.005, 200).Draw(rt, "times")
		m := middle(low, high)
		whole := math.Log(high / low)
		for _, part := range []float64{math.Log(m / low), math.Log(high / m)} {
			if part <= 0 || part > (0.5+slack+1e-9)*whole {
				rt.Fatalf("%g between %g and %g", m, low, high)
			}
		}
	})
	for _, c := range []struct{ low, high, want float64 }{{100, 200, 140}, {100, 400, 200}, {1, 100, 10}, {0.5, 1, 0.7}, {140, 147, 143.5}, {980, 1010, 995}} {
		if got := middle(c.low, c.high); math.Abs(got-c.want) > 0.005*c.want {
			t.Errorf("middle of %g and %g is %g", c.low, c.high, got)
		}
	}
}
