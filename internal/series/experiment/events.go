package experiment

import (
	"cmp"
	"math"
	"slices"

	"assay.dev/assay/internal/document"
	"assay.dev/assay/internal/judge/compare"
)

// Event is a wait event of database sessions, in the control (A) and the variant (B).
type Event struct {
	Event    string   `json:"event"`
	Class    string   `json:"class"`
	Inferred bool     `json:"inferred"`
	A        *float64 `json:"a"` // ms per transaction, median over runs; 0: never sampled
	B        *float64 `json:"b"`
}

// maxEvents is how many wait events are listed.
const maxEvents = 8

// events are the wait events of the compared runs, the longest first.
func events(control, variant compare.Group, c compare.Comparison) []Event {
	type key struct {
		event, class string
		inferred     bool
	}
	values := map[key]*[2][]float64{}
	sampled := [2]int{}
	add := func(side int, g compare.Group, compared []compare.RunFact) {
		for _, r := range g.Runs {
			if !slices.ContainsFunc(compared, func(f compare.RunFact) bool { return f.Folder == r.Folder }) || r.Certificate.Waits == nil {
				continue
			}
			sampled[side]++
			for _, w := range r.Certificate.Waits {
				if w.Client != "" {
					continue // of another client than the load's
				}
				k := key{w.Event, w.Class, w.Inferred}
				if values[k] == nil {
					values[k] = &[2][]float64{}
				}
				if w.MsPerTransaction != nil {
					values[k][side] = append(values[k][side], *w.MsPerTransaction)
				}
			}
		}
	}
	add(0, control, c.A.Runs)
	add(1, variant, c.B.Runs)
	all := []Event{}
	for k, sides := range values {
		all = append(all, Event{k.event, k.class, k.inferred, medianOf(sides[0], sampled[0]), medianOf(sides[1], sampled[1])})
	}
	slices.SortFunc(all, func(x, y Event) int {
		return cmp.Or(cmp.Compare(y.longer(), x.longer()), cmp.Compare(x.Event, y.Event), cmp.Compare(x.Class, y.Class))
	})
	return all[:min(len(all), maxEvents)]
}

// longer is the larger of the event's two times.
func (e Event) longer() float64 {
	longer := 0.0
	for _, v := range []*float64{e.A, e.B} {
		if v != nil {
			longer = math.Max(longer, *v)
		}
	}
	return longer
}

// medianOf is the median over a number of runs, where missing values are 0; nil
// without runs.
func medianOf(values []float64, runs int) *float64 {
	if runs == 0 {
		return nil
	}
	all := slices.Clone(values)
	for len(all) < runs {
		all = append(all, 0)
	}
	slices.Sort(all)
	n := len(all)
	v := document.Round((all[(n-1)/2] + all[n/2]) / 2)
	return &v
}
