package experiment

import (
	"cmp"
	"fmt"
	"slices"

	"assay.dev/assay/internal/document"
	"assay.dev/assay/internal/judge/compare"
	"assay.dev/assay/internal/quantity"
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
	return max(orZero(e.A), orZero(e.B))
}

// medianOf is the median over a number of runs, where missing values are 0; nil
// without runs.
func medianOf(values []float64, runs int) *float64 {
	if runs == 0 {
		return nil
	}
	all := append(make([]float64, runs-len(values)), values...)
	slices.Sort(all)
	v := document.Round((all[(runs-1)/2] + all[runs/2]) / 2)
	return &v
}

// Bottlenecks are the components named by the diagnoses of the runs, the most
// frequent first.
type Bottlenecks struct {
	A []Component `json:"a"`
	B []Component `json:"b"`
}

// Component is a component, with the number of runs that name it.
type Component struct {
	Component string `json:"component"`
	Runs      int    `json:"runs" jsonschema:"minimum=1"`
}

func bottlenecks(control, variant compare.Group) Bottlenecks {
	return Bottlenecks{components(control), components(variant)}
}

func components(g compare.Group) []Component {
	all := []Component{}
	for _, r := range g.Runs {
		if b := r.Certificate.Bottleneck; b != nil {
			i := slices.IndexFunc(all, func(c Component) bool { return c.Component == b.Component })
			if i < 0 {
				i, all = len(all), append(all, Component{Component: b.Component})
			}
			all[i].Runs++
		}
	}
	slices.SortFunc(all, func(x, y Component) int {
		return cmp.Or(cmp.Compare(y.Runs, x.Runs), cmp.Compare(x.Component, y.Component))
	})
	return all
}

// text is a part of a sentence; empty if no run has a bottleneck.
func (n Bottlenecks) text(a, b string) string {
	if len(n.A)+len(n.B) == 0 {
		return ""
	}
	return fmt.Sprintf("the bottleneck with %s was %s, with %s %s", a, runsOf(n.A), b, runsOf(n.B))
}

func runsOf(all []Component) string {
	total := 0
	for _, c := range all {
		total += c.Runs
	}
	var parts []string
	for _, c := range all {
		parts = append(parts, fmt.Sprintf("%s in %d of %s", c.Component, c.Runs, quantity.Number(total, "run")))
	}
	if len(parts) == 0 {
		return "not known"
	}
	return list(parts)
}
