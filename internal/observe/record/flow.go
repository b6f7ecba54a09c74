// SPDX-License-Identifier: Apache-2.0

package record

import (
	"slices"

	"assay.dev/assay/internal/observe/metric"
)

// PerFlow is the run as one run for each flow of its profile: with the flow's SLOs, plan,
// ledger and traffic, and all that was measured of the system, the workers and their
// machines. A run whose flow has no name is its own only one.
func (r Run) PerFlow() []Run {
	if !r.Plan.Profile.Named() {
		return []Run{r}
	}
	plans := r.Plan.Load.PerFlow()
	var all []Run
	for i, f := range r.Plan.Profile.Flows {
		of := r
		of.Flow, of.Plan.Profile, of.Plan.Load = f.Name, r.Plan.Profile.Alone(f), plans[i]
		if r.Timeline != nil {
			of.Timeline = r.Timeline.ofFlow(i, f.Name)
		}
		if of.Ledger = nil; f.Ledger != nil && r.Ledger != nil {
			c := r.Ledger.Of(i)
			of.Ledger = &c
		}
		all = append(all, of)
	}
	return all
}

// ofFlow is the timeline without the traffic of other flows: without series of another
// scenario, and without traffic that names none, as that of setup() and of other senders.
func (t *Timeline) ofFlow(number int, scenario string) *Timeline {
	t.sortSeries()
	of := *t
	of.selected = nil
	of.series = map[string]*timeSeries{}
	kept := func(named map[string][]*timeSeries) map[string][]*timeSeries {
		own := map[string][]*timeSeries{}
		for name, all := range named {
			own[name] = slices.DeleteFunc(slices.Clone(all), func(s *timeSeries) bool {
				label := s.series.Label("scenario")
				return label != scenario && (label != "" || isTraffic(name))
			})
			for _, s := range own[name] {
				of.series[s.key] = s
			}
		}
		return own
	}
	of.named, of.foreign = kept(t.named), kept(t.foreign)
	if number < len(t.bySource.flows) {
		of.bySource = t.bySource.flows[number]
	}
	return &of
}

// isTraffic reports whether a metric is of k6, or of a script, and so measures the traffic
// of one flow.
func isTraffic(name string) bool {
	d, known := metric.Find(name)
	return !known || d.From(metric.SourceK6)
}
