// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"assay.dev/assay/internal/observe/metric"
)

// Exemplar is an exemplar of a series.
type Exemplar struct {
	metric.Exemplar
	Series metric.Series
}

// example is an Exemplar as a timeline holds it. Each second of each worker and scenario has
// one or two, and all of them are needed: which ones are worth listing depends on the SLOs by
// which the record is judged, and on where in time all others of their kind are.
type example struct {
	metric.Exemplar // its labels are shared
	of              *timeSeries
}

// second is the unix second to which it belongs.
func (e example) second() int64 { return time.Unix(0, e.Nanos).Unix() }

// addExemplars adds those of a point of a series.
func (t *Timeline) addExemplars(s *timeSeries, p metric.Point, left *allowance) {
	left.spend(exemplarBytes*len(p.Exemplars), 0)
	for _, e := range p.Exemplars {
		e.Labels = t.shared(e.Labels, left)
		t.examples[p.Series.Name] = append(t.examples[p.Series.Name], example{e, s})
	}
}

// shared are the same labels, once in memory: exemplars have few different ones.
func (t *Timeline) shared(labels []metric.Label, left *allowance) []metric.Label {
	if len(labels) == 0 {
		return nil
	}
	t.key = t.key[:0]
	for _, l := range labels {
		for _, part := range []string{l.Key, l.Value} {
			t.key = append(append(t.key, part...), 0xff) // which no text holds, as all are UTF-8
		}
	}
	known, ok := t.labels[string(t.key)]
	if !ok {
		known = labels
		left.spend(totalBytes+2*len(t.key), 0)
		t.labels[string(t.key)] = known
	}
	return known
}

// Exemplars lists the exemplars of all series of a name within the span, by time and then
// by trace.
func (t *Timeline) Exemplars(name string, span Span) (all []Exemplar) {
	for _, e := range t.examples[name] {
		if s := e.second(); s >= span.From && s < span.To {
			all = append(all, Exemplar{e.Exemplar, e.of.series})
		}
	}
	slices.SortFunc(all, func(a, b Exemplar) int {
		return cmp.Or(cmp.Compare(a.Nanos, b.Nanos), bytes.Compare(a.TraceID[:], b.TraceID[:]), cmp.Compare(a.Value, b.Value))
	})
	return all
}
