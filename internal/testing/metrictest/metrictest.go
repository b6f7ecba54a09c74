package metrictest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"assay.dev/assay/internal/observe/metric"
)

// Check fails the test where a frame differs from the catalogue.
func Check(t testing.TB, frames ...metric.Frame) {
	t.Helper()
	reported := map[string]bool{}
	for _, f := range frames {
		for _, d := range Differences(f) {
			if !reported[d] {
				reported[d] = true
				t.Error(d)
			}
		}
	}
}

// Differences describes each point whose kind, unit, source or labels differ from the
// catalogue, or whose metric is not in it. Workers may send further metrics, which a
// script registers, and further labels on k6's metrics, by which an SLO selects.
func Differences(f metric.Frame) (all []string) {
	worker, source := metric.IsWorker(f.Source), f.Source
	if metric.IsStub(source) {
		source = metric.SourceStub
	}
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
			differs("kind %s, in the catalogue %s", p.Kind, d.Kind)
		case d.Unit != p.Series.Unit && p.Series.Name != metric.DBCounter && p.Series.Name != metric.DBGauge: // the unit depends on the variable
			differs("unit %q, in the catalogue %q", p.Series.Unit, d.Unit)
		case worker && !d.From(metric.SourceWorker) && !d.From(metric.SourceK6), !worker && !d.From(source):
			differs("source is %s in the catalogue", strings.Join(d.Sources, ", "))
		}
		for _, l := range p.Series.Labels {
			if !slices.Contains(d.Labels, l.Key) && l.Key != metric.OverflowLabel && !d.From(metric.SourceK6) {
				differs("the catalogue has no label %s", l.Key)
			}
		}
	}
	return all
}

// descriptor returns the catalogue's entry of a point; for the two counters of a rate it
// is that of the rate, as a counter.
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
