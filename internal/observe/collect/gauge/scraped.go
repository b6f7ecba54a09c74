package gauge

import (
	"cmp"
	"context"

	"assay.dev/assay/internal/observe/collect/scrape"
	"assay.dev/assay/internal/observe/metric"
)

// scrapedGauge reads a gauge from a metrics endpoint, or from those of all instances of the
// service.
type scrapedGauge struct {
	group  *scrape.Group
	name   string
	labels []metric.Label
	scale  float64 // from the endpoint's unit to the catalogue's
}

// scraped returns a gauge at a URL; empty: at the service's metrics.
//
// Of several instances the largest value counts, as of several series of one endpoint. A
// sum would be wrong for a gauge that every instance reports of something that they share,
// such as a queue in the database or the lag of a binlog reader.
func (o Options) scraped(name, url string, labels ...metric.Label) *scrapedGauge {
	g := &scrapedGauge{name: name, labels: labels, scale: 1}
	if url == "" && o.Instances != nil {
		g.group = scrape.NewGroup(o.Instances)
	} else {
		g.group = scrape.Single(scrape.New(cmp.Or(url, o.Service), o.Hosts...))
	}
	return g
}

// located reports whether it is known where to read a gauge with this URL in the profile.
func (o Options) located(url string) bool { return url != "" || o.Service != "" || o.Instances != nil }

func (e *scrapedGauge) open(ctx context.Context) error { return e.group.Open(ctx) }

func (e *scrapedGauge) read(ctx context.Context) (float64, error) {
	v, err := e.group.Largest(ctx, e.name, e.labels...)
	return v * e.scale, err
}

func (e *scrapedGauge) close() { e.group.Close() }
