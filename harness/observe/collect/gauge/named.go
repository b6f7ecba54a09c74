package gauge

import (
	"maps"
	"slices"
	"time"

	"assay/harness/observe/metric"
)

// scrapePeriod is the time between scrapes of a gauge: two a second, so that one
// that fails leaves its second the other, as a scrape costs the service what all
// its metrics cost.
const scrapePeriod = 500 * time.Millisecond

// named are the gauges whose metric the profile names, by their name.
func (o Options) named() (all []*watched) {
	for _, name := range slices.Sorted(maps.Keys(o.Profile.Gauges)) {
		of := o.Profile.Gauges[name]
		family, labels, _ := of.Selector()
		all = append(all, &watched{
			gauge: o.exposed(family, of.URL, labels...), series: metric.Of(name), name: name,
			known: of.URL != "" || o.Service != "", period: scrapePeriod,
		})
	}
	return all
}
