// SPDX-License-Identifier: Apache-2.0

package record

import (
	"slices"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/plan"
)

// bySource are the histograms that a timeline also keeps for each source, over all
// series of a name.
type bySource struct {
	scenario string // whose series count; empty: all
	spans    []Span
	names    []string
	hists    map[sourceName]*metric.Hist
	flows    []bySource // the same of each flow, over its own windows; nil where the flow has no name
}

type sourceName struct{ source, name string }

// EmptyTimeline makes a timeline for the run's frames that also keeps the latencies of
// transactions and the generator's lag by worker, over the planned judged windows.
func (r Run) EmptyTimeline() *Timeline {
	t := NewTimeline()
	t.bySource = r.emptyBySource("", r.Plan.Load)
	for _, f := range r.Plan.Load.Flows {
		t.bySource.flows = append(t.bySource.flows, r.emptyBySource(f.Name, f.Plan))
	}
	return t
}

func (r Run) emptyBySource(scenario string, p plan.Plan) bySource {
	b := bySource{scenario: scenario, names: []string{metric.TransactionDuration, metric.GeneratorLag}, hists: map[sourceName]*metric.Hist{}}
	for _, w := range p.Judged {
		b.spans = append(b.spans, SpanOf(r.Facts.T0, w))
	}
	return b
}

func (b *bySource) add(f metric.Frame, cost *allowance) {
	for i := range b.flows {
		b.flows[i].add(f, cost)
	}
	if !slices.ContainsFunc(b.spans, func(s Span) bool { return f.Second >= s.From && f.Second < s.To }) {
		return
	}
	for _, p := range f.Points {
		if p.Kind != metric.Histogram || !slices.Contains(b.names, p.Series.Name) || b.scenario != "" && p.Series.Label("scenario") != b.scenario {
			continue
		}
		key := sourceName{f.Source, p.Series.Name}
		if b.hists[key] == nil {
			b.hists[key] = &metric.Hist{}
		}
		merge(b.hists[key], p.Hist, cost)
	}
}

// HistBySource is a histogram of one source over the judged windows, of a name that
// EmptyTimeline lists; empty if there is none.
func (t *Timeline) HistBySource(source, name string) *metric.Hist {
	if h := t.bySource.hists[sourceName{source, name}]; h != nil {
		return h
	}
	return &metric.Hist{}
}
