package service

import (
	"context"
	"maps"
	"slices"

	"assay.dev/assay/internal/observe/collect"
	"assay.dev/assay/internal/observe/collect/scrape"
)

// Examine reads all endpoints once, before a run, and lists the metrics of the catalogue that
// at least one of them has. It is called instead of Start. Its error says why none can be
// read.
func (c *Collector) Examine(ctx context.Context) (metrics []string, err error) {
	if err := c.group.Open(ctx); err != nil {
		return nil, err
	}
	var answers []scrape.Answer[scraped]
	err = collect.First(ctx, func(ctx context.Context) error {
		answers = scrape.Read(ctx, c.group, c.parse)
		return noAnswer(answers)
	})
	found := reading{}
	for _, a := range answers {
		found.add(a.Value.reading)
	}
	return slices.Sorted(maps.Keys(found)), err
}
