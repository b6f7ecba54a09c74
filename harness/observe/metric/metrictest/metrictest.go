// Package metrictest compares frames with the catalogue of metrics, for the tests
// of what sends them.
//
// Input: frames. Output: what a frame has that the catalogue has otherwise.
package metrictest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"assay/harness/observe/metric"
)

// Check fails the test where a frame differs from the catalogue.
func Check(t testing.TB, frames ...metric.Frame) {
	t.Helper()
	told := map[string]bool{}
	for _, f := range frames {
		for _, d := range Differences(f) {
			if !told[d] {
				told[d] = true
				t.Error(d)
			}
		}
	}
}

// Differences tells of each point whose kind, unit, source or labels are not those
// of its metric in the catalogue, or whose metric is not there at all. A script
// registers what metrics it likes, and may have any tag selected by an SLO.
func Differences(f metric.Frame) (all []string) {
	worker := metric.IsWorker(f.Source)
	for _, p := range f.Points {
		d, known := descriptor(p)
		differs := func(format string, args ...any) {
			all = append(all, fmt.Sprintf("%s of %s: ", p.Series.Key(), f.Source)+fmt.Sprintf(format, args...))
		}
		switch {
		case !known && worker:
			continue
		case !known:
			differs("not in the catalogue")
			continue
		case d.Kind != p.Kind:
			differs("a %s, in the catalogue a %s", p.Kind, d.Kind)
		case d.Unit != p.Series.Unit && p.Series.Name != metric.DBCounter && p.Series.Name != metric.DBGauge: // each variable has its own
			differs("in %q, in the catalogue in %q", p.Series.Unit, d.Unit)
		case worker && !d.From(metric.SourceWorker) && !d.From(metric.SourceK6), !worker && !d.From(f.Source):
			differs("the catalogue has it from %s", strings.Join(d.Sources, ", "))
		}
		for _, l := range p.Series.Labels {
			if !slices.Contains(d.Labels, l.Key) && l.Key != metric.OverflowLabel && !d.From(metric.SourceK6) {
				differs("the catalogue has no label %s", l.Key)
			}
		}
	}
	return all
}

// descriptor is the catalogue's entry of a point; of a rate's two counters that of
// the rate, as a counter.
func descriptor(p metric.Point) (metric.Descriptor, bool) {
	name := p.Series.Name
	for _, suffix := range []string{metric.RateTotal, metric.RateOccurred} {
		if rate, ok := strings.CutSuffix(name, suffix); ok {
			d, known := metric.Find(rate)
			if d.Kind == metric.Rate {
				d.Kind = metric.Counter
			}
			return d, known
		}
	}
	return metric.Find(name)
}
