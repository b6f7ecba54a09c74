package record

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"assay/harness/observe/metric"
)

// Exemplar is an exemplar of a series.
type Exemplar struct {
	metric.Exemplar
	Series metric.Series
}

// second is the unix second to which it belongs.
func (e Exemplar) second() int64 { return time.Unix(0, e.Nanos).Unix() }

func (t *Timeline) addExemplars(p metric.Point) {
	for _, e := range p.Exemplars {
		t.examples[p.Series.Name] = append(t.examples[p.Series.Name], Exemplar{e, p.Series})
	}
}

// Exemplars lists the exemplars of all series of a name within the span, by time and then
// by trace.
func (t *Timeline) Exemplars(name string, span Span) (all []Exemplar) {
	for _, e := range t.examples[name] {
		if s := e.second(); s >= span.From && s < span.To {
			all = append(all, e)
		}
	}
	slices.SortFunc(all, func(a, b Exemplar) int {
		return cmp.Or(cmp.Compare(a.Nanos, b.Nanos), bytes.Compare(a.TraceID[:], b.TraceID[:]), cmp.Compare(a.Value, b.Value))
	})
	return all
}
