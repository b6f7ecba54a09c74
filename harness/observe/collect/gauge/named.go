package gauge

import (
	"maps"
	"slices"
	"time"

	"assay/harness/observe/metric"
)

// scrapePeriod is the time between scrapes of a gauge: two per second, so that a second
// still has a value if one fails. More would be expensive, because each scrape makes the
// service expose all of its metrics.
const scrapePeriod = 500 * time.Millisecond

// named returns the gauges that the profile defines by a metric, sorted by name.
func (o Options) named() (all []*polledGauge) {
	for _, name := range slices.Sorted(maps.Keys(o.Profile.Gauges)) {
		g := o.Profile.Gauges[name]
		family, labels, _ := g.Selector()
		all = append(all, &polledGauge{
			reader: o.scraped(family, g.URL, labels...), series: metric.Of(name), name: name,
			located: o.located(g.URL), period: scrapePeriod,
		})
	}
	return all
}
