// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// seedOf is the seed of a flow's arrivals, so that flows of the same load do not arrive
// together.
func seedOf(seed uint64, flow int) uint64 {
	return rand.New(rand.NewPCG(seed, uint64(flow)+1)).Uint64()
}

// sum is the plan of all flows together. Its baseline is the time in which every flow is in
// its own; nil if there is none.
func sum(flows []Flow, weights []int, seed uint64) Plan {
	p := Plan{Unit: flows[0].Unit, Seed: seed, DisplacedAfter: flows[0].DisplacedAfter, Flows: flows}
	var edges []time.Duration
	for i, f := range flows {
		if f.Unit != p.Unit {
			p.Unit = "tps"
		}
		p.Timeout, p.Think = max(p.Timeout, f.Timeout), max(p.Think, f.Think)
		p.DisplacedAfter = min(p.DisplacedAfter, f.DisplacedAfter)
		p.Judged = append(p.Judged, f.Judged...)
		for _, s := range f.Stages {
			edges = append(edges, s.Start, s.End())
		}
		switch {
		case i == 0:
			p.Baseline = f.Baseline
		case p.Baseline != nil:
			p.Baseline = p.Baseline.and(f.Baseline)
		}
	}
	p.Judged = union(p.Judged)
	slices.Sort(edges)
	edges = slices.Compact(edges)
	for i, start := range edges[:len(edges)-1] {
		p.Stages = append(p.Stages, sumStage(flows, start, edges[i+1]))
	}
	p.Target = together(flows, p.Stages)
	p.Fleet = Shares(weights, func(float64) int { return 0 })
	for i := range p.Workers {
		for _, f := range flows {
			p.Workers[i].VUs += f.Workers[i].VUs
		}
	}
	return p
}

// holdsTogether is the share of the time for which each flow holds its own target that the
// flows hold theirs together: their ramps need not end in the same second.
const holdsTogether = 0.9

// together is the highest rate at which the flows are judged at the same time, for almost as
// long as each of them holds its own target: two that reach theirs one after the other never
// made the sum of both. stages are those of the sum.
func together(flows []Flow, stages []Stage) float64 {
	type part struct {
		rate float64
		time time.Duration
	}
	var parts []part
	shortest := flows[0].AtTarget()
	for _, s := range stages {
		p := part{time: s.Duration}
		for _, f := range flows {
			for _, own := range f.Stages {
				if own.Start <= s.Start && own.End() >= s.End() && f.isJudged(own) {
					p.rate += own.To
				}
			}
		}
		parts = append(parts, p)
	}
	for _, f := range flows {
		shortest = min(shortest, f.AtTarget())
	}
	shortest = time.Duration(holdsTogether * float64(shortest))
	slices.SortFunc(parts, func(a, b part) int { return cmp.Compare(b.rate, a.rate) })
	for _, p := range parts {
		if shortest -= p.time; shortest <= 0 {
			return p.rate
		}
	}
	return 0 // no flow has a judged stage
}

// names of stages by what counts most when flows differ.
var rank = []string{Overload, Hold, Ramp, Baseline, Warmup, Cooldown}

// sumStage is the total of the flows' rates from one edge of their stages to the next.
func sumStage(flows []Flow, start, end time.Duration) Stage {
	total := Stage{Name: Cooldown, Start: start, Duration: end - start}
	exact := 0.0
	for _, f := range flows {
		for _, s := range f.Stages {
			if s.Start <= start && s.End() >= end {
				total.From += s.rateAt(start)
				total.To += s.rateAt(end)
				exact += float64(s.Arrivals) * s.share(start, end)
				if slices.Index(rank, s.Name) < slices.Index(rank, total.Name) {
					total.Name = s.Name
				}
			}
		}
	}
	total.Arrivals = int64(math.Round(exact))
	return total
}

// rateAt is the rate at a time within the stage.
func (s Stage) rateAt(at time.Duration) float64 {
	return s.From + (s.To-s.From)*float64(at-s.Start)/float64(s.Duration)
}

// share of the stage's arrivals that are expected from one time to another.
func (s Stage) share(from, to time.Duration) float64 {
	if s.From+s.To == 0 {
		return 0
	}
	return (s.rateAt(from) + s.rateAt(to)) / (s.From + s.To) * float64(to-from) / float64(s.Duration)
}

// and is the time in both windows; nil if there is none.
func (w *Window) and(other *Window) *Window {
	if other == nil {
		return nil
	}
	both := Window{Start: max(w.Start, other.Start), End: min(w.End, other.End)}
	if both.End <= both.Start {
		return nil
	}
	return &both
}

// union joins windows that overlap or touch.
func union(all []Window) (joined []Window) {
	for _, w := range slices.SortedFunc(slices.Values(all), func(a, b Window) int { return cmp.Compare(a.Start, b.Start) }) {
		if n := len(joined); n > 0 && w.Start <= joined[n-1].End {
			joined[n-1].End = max(joined[n-1].End, w.End)
			continue
		}
		joined = append(joined, w)
	}
	return joined
}
