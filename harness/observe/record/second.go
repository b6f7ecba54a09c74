package record

import (
	"maps"
	"slices"

	"assay/harness/observe/metric"
)

// Seconds lists the seconds that have a point, in order.
func (t *Timeline) Seconds() []int64 {
	all := map[int64]bool{}
	for _, l := range t.series {
		for second := range l.cells {
			all[second] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// Level adds up a gauge in one second over all sources and all series of that
// name that match the selector; false where none has a value in it.
func (t *Timeline) Level(name string, selector []metric.Label, second int64) (total float64, found bool) {
	t.each(name, metric.Gauge, selector, Span{From: second, To: second + 1}, func(_ int64, _ string, c *cell) {
		total, found = total+c.value, true
	})
	return total, found
}
