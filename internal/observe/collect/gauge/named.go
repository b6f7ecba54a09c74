package gauge

import (
	"maps"
	"slices"
	"time"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
)

// scrapePeriod is the time between scrapes of a gauge: two per second, so that a second
// still has a value if one fails. More would be expensive, because each scrape makes the
// service expose all of its metrics.
const scrapePeriod = 500 * time.Millisecond

// named returns the gauges that the profile defines by a metric, sorted by name, then those
// of its abort conditions.
func (o Options) named() (all []*polledGauge) {
	for _, name := range slices.Sorted(maps.Keys(o.Profile.Gauges)) {
		all = append(all, o.exposed(o.Profile.Gauges[name], metric.Of(name), name))
	}
	for _, a := range o.Profile.Abort {
		if a.Gauge != nil {
			all = append(all, o.exposed(*a.Gauge, metric.Of(metric.AbortGauge, metric.LabelCondition, a.Metric), "gauge "+a.Metric))
		}
	}
	return all
}

func (o Options) exposed(g spec.Gauge, series metric.Series, name string) *polledGauge {
	family, labels, _ := g.Selector()
	return &polledGauge{reader: o.scraped(family, g.URL, labels...), series: series, name: name, located: o.located(g.URL), period: scrapePeriod}
}
