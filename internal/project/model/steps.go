package model

import (
	"math"
	"slices"
)

// How the steps of the rate are found.
const (
	// peakLevel is the least rate of the step with the peak minute, as a share of the peak's.
	peakLevel = 0.85
	// shortestStep is the shortest one, in seconds.
	shortestStep = 60
	// mostBins is the number of bins in which steps are searched: the work grows with its
	// square.
	mostBins = 360
	// stepPenalty times the logarithm of the number of bins is how many times the noise one more
	// step must explain: more than chance does, even where it leaves out two unusual bins.
	stepPenalty = 8
	// poissonNoise is the variance of the square root of a Poisson count.
	poissonNoise = 0.25
	// noise is how many standard deviations are no sign of a change.
	noise = 4
)

// steps divides the time into spans in which no flow's rate changes much, of which one has
// the peak minute; it returns their spans and which one that is.
func steps(total []uint32, flows [][]uint32, top peak) (all []span, peakAt int) {
	around := aroundPeak(total, top)
	before := segment(flows, span{0, around.from})
	all = append(before, around)
	return append(all, segment(flows, span{around.to, len(total)})...), len(before)
}

// aroundPeak is the time around the peak minute in which each minute is about as busy.
func aroundPeak(total []uint32, top peak) span {
	if len(total) <= 2*shortestStep {
		return span{0, len(total)}
	}
	n := float64(top.requests)
	least := peakLevel*n - noise*math.Sqrt(n)
	around := span{top.at, top.at + top.seconds}
	for sum := top.requests; around.from > 0; around.from-- {
		sum += uint64(total[around.from-1]) - uint64(total[around.from-1+top.seconds])
		if float64(sum) < least {
			break
		}
	}
	for sum := top.requests; around.to < len(total); around.to++ {
		sum += uint64(total[around.to]) - uint64(total[around.to-top.seconds])
		if float64(sum) < least {
			break
		}
	}
	// The minutes at either end began before the rate rose, or ended after it fell.
	level := least / float64(top.seconds)
	for around.from < top.at && averageAt(total, around.from) < level {
		around.from++
	}
	for around.to > top.at+top.seconds && averageAt(total, around.to-smoothed) < level {
		around.to--
	}
	// What is left at an end is no step of its own.
	if around.from < shortestStep {
		around.from = 0
	}
	if len(total)-around.to < shortestStep {
		around.to = len(total)
	}
	return around
}

// segment divides a span into at most three steps: those that leave the smallest sum of
// squared deviations from each step's mean, over all flows, where a further step must explain
// more than chance does. Counts are taken as their square roots, whose variance does not
// depend on the rate where arrivals are Poisson.
func segment(flows [][]uint32, of span) []span {
	if of.seconds() < shortestStep {
		if of.seconds() == 0 {
			return nil
		}
		return []span{of}
	}
	width := max(10, (of.seconds()+mostBins-1)/mostBins)
	bins := of.seconds() / width
	roots := make([][]float64, len(flows)) // by flow, of each bin
	variance := 0.0
	for f, seconds := range flows {
		for b := range bins {
			from := of.from + b*width
			roots[f] = append(roots[f], math.Sqrt(float64(sumOf(seconds[from:from+width]))))
		}
		variance += max(poissonNoise, noiseOf(roots[f]))
	}
	cuts := cheapest(roots, bins, max(1, shortestStep/width), stepPenalty*variance*math.Log(float64(bins+1)))
	var all []span
	from := of.from
	for i, c := range cuts {
		next := of.to
		if i+1 < len(cuts) {
			next = of.from + cuts[i+1]*width
		}
		cut := refine(flows, span{from, of.from + c*width}, span{of.from + c*width, next}, width)
		all = append(all, span{from, cut})
		from = cut
	}
	return append(all, span{from, of.to})
}

// refine finds the second between two steps from which on the requests of each are more like
// the next one's mean than like the first one's, within two bins.
func refine(flows [][]uint32, one, next span, width int) int {
	from, to := max(one.from+1, one.to-2*width), min(next.to-1, one.to+2*width)
	gains := make([]float64, to-from) // gains from counting each second to the first step
	for _, seconds := range flows {
		a := float64(sumOf(seconds[one.from:one.to])) / float64(one.seconds())
		b := float64(sumOf(seconds[next.from:next.to])) / float64(next.seconds())
		if a+b == 0 {
			continue
		}
		for i := range gains {
			n := float64(seconds[from+i])
			gains[i] += ((n-b)*(n-b) - (n-a)*(n-a)) / (a + b) // the variance of counts grows with their mean
		}
	}
	best, cut, sum := 0.0, from, 0.0
	for i, g := range gains {
		if sum += g; sum > best {
			best, cut = sum, from+i+1
		}
	}
	return cut
}

// noiseOf is the variance of values around a slowly changing mean: half of the median squared
// difference of neighbours, of which that of normal values is 0.455 of the mean.
func noiseOf(values []float64) float64 {
	var squares []float64
	for i := 1; i < len(values); i++ {
		d := values[i] - values[i-1]
		squares = append(squares, d*d)
	}
	if len(squares) == 0 {
		return 0
	}
	slices.Sort(squares)
	return squares[len(squares)/2] / 2 / 0.455
}

// cheapest returns the bins at which the steps after the first begin: of none to two.
func cheapest(roots [][]float64, bins, shortest int, penalty float64) (cuts []int) {
	sums, squares := make([][]float64, len(roots)), make([]float64, bins+1) // up to a bin
	for f, values := range roots {
		sums[f] = make([]float64, bins+1)
		for b, v := range values {
			sums[f][b+1] = sums[f][b] + v
			squares[b+1] += v * v
		}
	}
	for b := range bins {
		squares[b+1] += squares[b]
	}
	// The bins at either end of a step are left out: the rate may have changed within them.
	cost := func(from, to int) float64 {
		if to-from > 2 {
			from, to = from+1, to-1
		}
		c := squares[to] - squares[from]
		for _, s := range sums {
			d := s[to] - s[from]
			c -= d * d / float64(to-from)
		}
		return c
	}
	least := cost(0, bins) + penalty
	try := func(steps, sum float64, at ...int) {
		if sum += steps * penalty; sum < least {
			least, cuts = sum, at
		}
	}
	for a := shortest; a+shortest <= bins; a++ {
		try(2, cost(0, a)+cost(a, bins), a)
		for b := a + shortest; b+shortest <= bins; b++ {
			try(3, cost(0, a)+cost(a, b)+cost(b, bins), a, b)
		}
	}
	return cuts
}

// smoothed is the number of seconds over which a rate is averaged.
const smoothed = 10

// averageAt is the rate of the seconds from one on; the series has at least so many.
func averageAt(total []uint32, from int) float64 {
	from = min(max(from, 0), len(total)-smoothed)
	return float64(sumOf(total[from:from+smoothed])) / smoothed
}

// rise is how many seconds the rate took, around the end of one step, to change from the one's
// level to the next one's, but for a tenth of the difference at either end. At least 1.
func rise(total []uint32, one, next span) int {
	if len(total) < smoothed {
		return 1
	}
	level := func(s span) float64 { return float64(sumOf(total[s.from:s.to])) / float64(s.seconds()) }
	low, high := level(one), level(next)
	near := math.Abs(high-low) / 10
	from, to := one.to, one.to
	for from > one.from+one.seconds()/2 && math.Abs(averageAt(total, from-smoothed)-low) > near {
		from--
	}
	for to < next.to-next.seconds()/2 && math.Abs(averageAt(total, to)-high) > near {
		to++
	}
	return max(1, to-from)
}
