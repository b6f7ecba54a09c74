package neighbour

import (
	"context"
	"errors"
	"fmt"
	"slices"

	dto "github.com/prometheus/client_model/go"

	"assay.dev/assay/internal/observe/collect/scrape"
	"assay.dev/assay/internal/spec"
)

// counters reads the counters of a neighbour's metrics.
type counters struct {
	endpoint      *scrape.Endpoint
	errors, total spec.Selection
	last          reading // of the last scrape that succeeded; nil maps: none yet
}

// reading is the values of the selected counters, by their labels.
type reading struct{ errors, total map[string]float64 }

func newCounters(n spec.Neighbour) *counters {
	c := &counters{endpoint: scrape.New(n.URL, hostOf(n.URL))}
	c.errors, _ = spec.ParseSelection(n.Errors) // Decode has parsed it
	c.total, _ = spec.ParseSelection(n.Total)
	return c
}

// examine also checks that the selections select something: one that never does would never
// stop a run. Of the errors no series may exist before the first error, but its metric and
// the labels that are looked at must.
func (c *counters) examine(ctx context.Context) error {
	found, err := c.scrape(ctx)
	if err != nil {
		return err
	}
	r, err := c.reading(found)
	if err != nil || len(r.errors) > 0 {
		return err
	}
	known := map[string]bool{}
	for _, m := range found[c.errors.Name].GetMetric() {
		for label := range labelsOf(m) {
			known[label] = true
		}
	}
	if len(found[c.errors.Name].GetMetric()) == 0 {
		return fmt.Errorf("%s has no metric %s: expose it with 0 before the first error", c.endpoint, c.errors.Name)
	}
	for _, label := range c.errors.Labels() {
		if !known[label] {
			return fmt.Errorf("%s of %s has no label %s", c.errors.Name, c.endpoint, label)
		}
	}
	return nil
}

func (c *counters) run(context.Context) {}

func (c *counters) read(ctx context.Context) (n counts, ok bool, err error) {
	found, err := c.scrape(ctx)
	if err != nil {
		return n, false, err
	}
	now, err := c.reading(found)
	if err != nil {
		return n, false, err
	}
	n, ok = counts{increase(c.last.total, now.total), increase(c.last.errors, now.errors)}, c.last.total != nil
	c.last = now
	return n, ok, nil
}

func (c *counters) scrape(ctx context.Context) (scrape.Families, error) {
	body, err := c.endpoint.Fetch(ctx)
	if err != nil {
		return nil, err
	}
	names := []string{c.errors.Name, c.total.Name}
	return scrape.Parse(body, func(family string) bool { return slices.Contains(names, family) })
}

// reading selects the counters. It fails without any series of the total.
func (c *counters) reading(found scrape.Families) (r reading, err error) {
	if r.errors, err = selected(found, c.errors); err == nil {
		r.total, err = selected(found, c.total)
	}
	if err != nil {
		return r, fmt.Errorf("%s: %w", c.endpoint, err)
	}
	if len(r.total) == 0 {
		return r, fmt.Errorf("%s has no metric %s with these labels", c.endpoint, c.total.Name)
	}
	return r, nil
}

func selected(found scrape.Families, s spec.Selection) (map[string]float64, error) {
	values := map[string]float64{}
	for _, m := range found[s.Name].GetMetric() {
		labels := labelsOf(m)
		v, ok := scrape.Value(m)
		if !ok || !s.Matches(labels) {
			continue
		}
		if !scrape.Plausible(v) {
			return nil, fmt.Errorf("the counter %s is %g", s.Name, v)
		}
		values[fmt.Sprint(labels)] = v // printed in the order of the keys
	}
	return values, nil
}

func labelsOf(m *dto.Metric) map[string]string {
	labels := map[string]string{}
	for _, l := range m.GetLabel() {
		labels[l.GetName()] = l.GetValue()
	}
	return labels
}

// increase is by how much counters have grown since the reading before. A series that this
// does not have appeared with its first request; one that is smaller now counts from 0, as
// the neighbour was restarted.
func increase(before, now map[string]float64) (sum float64) {
	for series, v := range now {
		if b := before[series]; b <= v {
			v -= b
		}
		sum += v
	}
	return sum
}

func (c *counters) close() { c.endpoint.Close() }

// timedOut reports whether a later reading may succeed.
func timedOut(err error) bool { return errors.Is(err, context.DeadlineExceeded) }
