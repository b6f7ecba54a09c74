package experiment

import (
	"cmp"
	"fmt"
	"slices"

	"assay.dev/assay/internal/quantity"

	"assay.dev/assay/internal/judge/compare"
)

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
	runs := map[string]int{}
	for _, r := range g.Runs {
		if b := r.Certificate.Bottleneck; b != nil {
			runs[b.Component]++
		}
	}
	all := []Component{}
	for name, n := range runs {
		all = append(all, Component{name, n})
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
