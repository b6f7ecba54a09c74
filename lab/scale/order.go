package scale

import (
	"fmt"
	"slices"
	"strconv"
)

// Point is one load: Threads of the closed model, or else Rate of the open model.
type Point struct {
	Threads int     `json:"threads,omitempty" jsonschema:"minimum=1"`
	Rate    float64 `json:"rate,omitempty" jsonschema:"exclusiveMinimum=0"` // transactions per second
}

// String is the load in words.
func (p Point) String() string {
	if p.Threads > 0 {
		return Threads(p.Threads)
	}
	return strconv.FormatFloat(p.Rate, 'g', -1, 64) + "/s"
}

// Threads is a number of threads in words.
func Threads(n int) string {
	if n == 1 {
		return "1 thread"
	}
	return fmt.Sprintf("%d threads", n)
}

// Cell is one step: a variant, by its index, at a point, in a round.
type Cell struct {
	Variant int
	Point   Point
	Round   int
}

// Order is the order of the steps. All variants are measured at a point one after the
// other, so that they are compared under the same conditions of a shared machine; in every
// second round in the opposite order (ABBA), so that a drift cancels.
func Order(variants int, points []Point, rounds int) (all []Cell) {
	for round := range rounds {
		for _, p := range points {
			for v := range variants {
				if round%2 == 1 {
					v = variants - 1 - v
				}
				all = append(all, Cell{v, p, round})
			}
		}
	}
	return all
}

// sortPoints returns the points of a document: threads first, each ascending and once.
func sortPoints(all []Point) []Point {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b Point) int {
		switch {
		case (a.Threads > 0) != (b.Threads > 0):
			return b.Threads - a.Threads
		case a.Threads != b.Threads:
			return a.Threads - b.Threads
		case a.Rate < b.Rate:
			return -1
		case a.Rate > b.Rate:
			return 1
		}
		return 0
	})
	return slices.Compact(all)
}
