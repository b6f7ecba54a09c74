package pi

import (
	"maps"
	"slices"
	"strings"

	"assay/harness/observe/metric"
)

// negligible is a rounding error of sums, in sessions.
const negligible = 1e-6

// parts are shares of the load by series: several members of a group may have
// one label, and a member has its seconds from several answers.
type parts map[string]*part

// part is a share of the load as a frame labels it.
type part struct {
	key    string
	series metric.Series
	load   map[int64]float64 // by second
	scale  float64           // from sessions to the series' unit
}

// add adds load to the part of a series.
func (all parts) add(series metric.Series, load map[int64]float64, scale float64) {
	key := series.Key()
	p := all[key]
	if p == nil {
		p = &part{key: key, series: series, load: map[int64]float64{}, scale: scale}
		all[key] = p
	}
	for at, v := range load {
		p.load[at] += v
	}
}

// sorted lists them in a fixed order.
func (all parts) sorted() []*part {
	return slices.SortedFunc(maps.Values(all), func(a, b *part) int { return strings.Compare(a.key, b.key) })
}

// rest is the whole without its parts.
type rest map[int64]float64

func restOf(total map[int64]float64) rest { return maps.Clone(total) }

func (r rest) take(load map[int64]float64) {
	for at, v := range load {
		if r[at] -= v; r[at] < negligible {
			r[at] = 0
		}
	}
}
