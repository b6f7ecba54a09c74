package pi

import (
	"maps"
	"slices"
	"strings"

	"assay.dev/assay/internal/observe/metric"
)

// negligible is the limit, in sessions, below which a remainder is a rounding error.
const negligible = 1e-6

// parts holds parts of the load by series key. Several members of a group may have the same
// label, and the seconds of a member come from several responses.
type parts map[string]*part

// part is the part of the load that has one label.
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

// sorted returns the parts sorted by key.
func (all parts) sorted() []*part {
	return slices.SortedFunc(maps.Values(all), func(a, b *part) int { return strings.Compare(a.key, b.key) })
}

// remainder is the part of the load, by second, that is not in any part.
type remainder map[int64]float64

func remainderOf(total map[int64]float64) remainder { return maps.Clone(total) }

func (r remainder) subtract(load map[int64]float64) {
	for at, v := range load {
		if r[at] -= v; r[at] < negligible {
			r[at] = 0
		}
	}
}
