package search

import (
	"cmp"
	"maps"
	"math"
	"slices"
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

// maxTrials bounds the trials of a whole search: each upper bound may turn out to be
// wrong, and the search then goes on above it.
func maxTrials(s *Search) int {
	up := int(math.Ceil(math.Log2(s.span.Max / s.span.From)))
	down := int(math.Ceil(math.Log2(s.span.From / s.span.Floor)))
	bisected := s.goal.bisections(2)
	small := int(math.Ceil(math.Log2(2 / s.goal.Width))) // steps of less than a factor of two from undecided loads
	return (1 + up + down + 2*small + bisected*(1+up+down+2*small+bisected)) * maxTrialsOfLoad(s.goal)
}

// maxTrialsOfLoad bounds the trials of one load: a broken one, one that contradicts it
// and one that decides, or as many close ones; and the INVALID ones.
func maxTrialsOfLoad(g Goal) int { return max(g.Trials, 3) + g.Spare + 1 }

// finish searches to the end. At each step it checks that the lower bound is below
// the upper, that the bracket only grows where a load is contradicted, that loads lie
// in the range, and that the number of trials is bounded.
func finish(rt *rapid.T, g Goal, r Range, of system) *Search {
	s, err := New(g, r)
	if err != nil {
		rt.Fatal(err)
	}
	low, high, limit := 0.0, math.Inf(1), maxTrials(s)
	for n := 0; ; n++ {
		rate, ok := s.Next()
		if !ok {
			return s
		}
		if n >= limit {
			rt.Fatalf("not ended after %d trials: %+v", n, s.loads)
		}
		if rate < r.Floor || rate > r.Max {
			rt.Fatalf("load %g of %+v", rate, r)
		}
		if rate <= low || rate > high || rate == high && s.Load(rate).Broken > 1 {
			rt.Fatalf("load %g is outside of %g to %g", rate, low, high)
		}
		s.Add(rate, of(rt, rate))
		if l := s.Load(rate); l.trials() > maxTrialsOfLoad(g) {
			rt.Fatalf("too many trials: %+v", l)
		}
		b := s.bracket()
		was := [2]float64{low, high}
		low, high = b.low, b.high
		if low < was[0] || high > was[1] && s.Load(was[1]).Clear == 0 || low >= high {
			rt.Fatalf("bounds %g to %g after %g to %g", low, high, was[0], was[1])
		}
	}
}

// Without noise the bounds enclose the capacity, or it is outside the range and the
// end says on which side.
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
		b := s.bracket()
		switch end := s.End(); {
		case capacity < r.Floor:
			if end != Missed || b.low > 0 || b.high != r.Floor {
				rt.Fatalf("%s: %+v", end, s.loads)
			}
		case capacity >= r.Max:
			if end != AtMax || b.top() < math.Inf(1) || b.low != r.Max {
				rt.Fatalf("%s: %+v", end, s.loads)
			}
		case end != Found || b.low > capacity || b.high <= capacity || Width(b.low, b.high) > g.Width:
			rt.Fatalf("%s, capacity %g: %+v", end, capacity, s.loads)
		}
	})
}

// Whatever the results of its trials, the search ends, and its bounds and its end are
// supported by them.
func TestNoisySystem(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		g, r := anyGoal(rt), anyRange(rt)
		capacity := r.From * math.Pow(10, rapid.Float64Range(-2.5, 3).Draw(rt, "capacity"))
		limit := r.From * math.Pow(10, rapid.Float64Range(-1, 4).Draw(rt, "the generator's limit"))
		spread := rapid.SampledFrom([]float64{0, 0.02, 0.1, 0.5}).Draw(rt, "spread")
		grey := rapid.SampledFrom([]float64{0, 0.02, 0.2, 3}).Draw(rt, "grey")
		invalid := rapid.SampledFrom([]int{0, 0, 5, 30}).Draw(rt, "invalid, %")
		scarce := r.From * rapid.SampledFrom([]float64{0, 0, 0.1, 0.7, 3}).Draw(rt, "too few samples")
		s := finish(rt, g, r, func(rt *rapid.T, rate float64) Result {
			at := math.Log(rate/capacity) + spread*rapid.Float64Range(-1, 1).Draw(rt, "noise")
			switch draw := rapid.IntRange(0, 99).Draw(rt, "percentile"); {
			case rate < scarce:
				return Scarce
			case rate > limit, draw < invalid:
				return rapid.SampledFrom([]Result{Starved, Starved, Starved, Void}).Draw(rt, "how")
			case math.Abs(at) < grey:
				return Close
			case at <= 0:
				return Clear
			}
			return Broken
		})
		b := s.bracket()
		switch end := s.End(); end {
		case Found:
			if from := b.lowest(); b.low == 0 || Width(b.low, from) > g.Width || Width(b.highest(), b.high) > g.Width || Width(from, max(from, b.between.To)) > g.Width {
				rt.Fatalf("found within %+v", b)
			}
		case Undecided:
			z := b.between
			below := b.low > 0 && Width(b.low, z.From) <= g.Width || b.low == 0 && (z.From == r.Floor || b.starved >= starvedLoads || s.scarce(z.From))
			above := Width(z.To, b.top()) <= g.Width || math.IsInf(b.top(), 1) && z.To == r.Max || s.scarce(z.To)
			if z.empty() || !below || !above || b.low > 0 && b.high < b.ceiling && Width(z.From, z.To) <= g.Width {
				rt.Fatalf("undecided within %+v", b)
			}
		case AtMax:
			if b.low != r.Max || b.top() < math.Inf(1) {
				rt.Fatalf("%+v", b)
			}
		case Missed:
			if b.high != r.Floor || b.low > 0 {
				rt.Fatalf("%+v", b)
			}
		case Generator:
			if math.IsInf(s.bracket().ceiling, 1) {
				rt.Fatal("no load is above the generator's limit")
			}
		case Invalid:
			if !s.bracket().void {
				rt.Fatal("no load is unjudged")
			}
		default:
			rt.Fatal("not ended")
		}
		if l := s.Load(b.low); b.low > 0 && l.Clear <= l.Broken {
			rt.Fatalf("lower bound %+v", l)
		}
		if l := s.Load(b.high); !math.IsInf(b.high, 1) && l.Broken <= l.Clear {
			rt.Fatalf("upper bound %+v", l)
		}
	})
}

// Replacing any trial by a worse one never makes a load a lower bound, and never
// makes a broken one cease to be an upper bound.
func TestWorseTrialsNeverRaiseALoad(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		g := anyGoal(rt)
		var before, worse Load
		for _, r := range rapid.SliceOfN(rapid.SampledFrom([]Result{Clear, Broken, Close, Scarce, Starved, Void}), 0, 8).Draw(rt, "trials") {
			before.add(r)
			if (r == Clear || r == Close) && rapid.Bool().Draw(rt, "worse") {
				r = map[Result]Result{Clear: Close, Close: Broken}[r]
			}
			worse.add(r)
		}
		if before.Class(g) != Lower && worse.Class(g) == Lower {
			rt.Fatalf("%+v is %s, with worse trials %s", before, before.Class(g), worse.Class(g))
		}
		if before.Class(g) == Upper && worse.Class(g) != Upper {
			rt.Fatalf("%+v is %s, with worse trials %s", before, before.Class(g), worse.Class(g))
		}
	})
}

// INVALID trials do not change a decided load, nor decide one as a bound.
func TestInvalidTrialsDoNotCount(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		g := anyGoal(rt)
		l := Load{Clear: rapid.IntRange(0, 2).Draw(rt, "clear"), Broken: rapid.IntRange(0, 2).Draw(rt, "broken"), Close: rapid.IntRange(0, 5).Draw(rt, "close")}
		with := l
		with.Starved, with.Void = rapid.IntRange(0, 9).Draw(rt, "starved"), rapid.IntRange(0, 9).Draw(rt, "void")
		was, is := l.Class(g), with.Class(g)
		if was != Open && is != was || is == Lower && was != Lower || is == Upper && was != Upper {
			rt.Fatalf("%s, with invalid trials %s", was, is)
		}
	})
}

// The relevant bounds are the smallest upper bound and the largest lower bound below
// it, and undecided loads are those between, in whatever order the trials were made.
func TestRelevantBounds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		g := Goal{Trials: 1, Width: 0.05}
		s, err := New(g, Range{From: 1, Floor: 1, Max: 100})
		if err != nil {
			rt.Fatal(err)
		}
		least, want, between := math.Inf(1), 0.0, Zone{}
		results := map[float64]Result{}
		for _, rate := range rapid.SliceOfNDistinct(rapid.Float64Range(1, 100), 1, 12, rapid.ID[float64]).Draw(rt, "loads") {
			results[rate] = rapid.SampledFrom([]Result{Clear, Broken, Close}).Draw(rt, "result")
			s.Add(rate, results[rate])
			if results[rate] == Broken {
				least = min(least, rate)
			}
		}
		for rate, r := range results {
			if r == Clear && rate < least {
				want = max(want, rate)
			}
		}
		for _, rate := range slices.Sorted(maps.Keys(results)) {
			if rate > want && rate < least {
				between.To = rate
				between.From = cmp.Or(between.From, rate)
			}
		}
		if got := s.bracket(); got.low != want || got.high != least || got.between != between {
			rt.Fatalf("%+v, want %g to %g and %v", got, want, least, between)
		}
	})
}

// The middle lies in the bracket, has few digits, and narrows the bracket by what the
// estimate of bisections assumes.
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
