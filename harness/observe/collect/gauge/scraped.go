package gauge

import (
	"cmp"
	"context"

	"assay/harness/observe/collect/scrape"
	"assay/harness/observe/metric"
)

// scrapedGauge reads a gauge from a metrics endpoint.
type scrapedGauge struct {
	endpoint *scrape.Endpoint
	name     string
	labels   []metric.Label
	scale    float64 // from the endpoint's unit to the catalogue's
}

// scraped returns a gauge at a URL; empty: at the URL of the service's metrics.
func (o Options) scraped(name, url string, labels ...metric.Label) *scrapedGauge {
	return &scrapedGauge{endpoint: scrape.New(cmp.Or(url, o.Service), o.Hosts...), name: name, labels: labels, scale: 1}
}

func (e *scrapedGauge) open(context.Context) error { return e.endpoint.Err() }

func (e *scrapedGauge) read(ctx context.Context) (float64, error) {
	v, err := e.endpoint.Largest(ctx, e.name, e.labels...)
	return v * e.scale, err
}

func (e *scrapedGauge) close() { e.endpoint.Close() }
