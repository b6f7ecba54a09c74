package experiment

import (
	"cmp"
	"fmt"
	"slices"

	"assay/harness/judge/compare"
	"assay/harness/judge/diagnose"
)

// Named are the components that the diagnoses of the runs named, the most
// frequent first.
type Named struct {
	A []Component `json:"a"`
	B []Component `json:"b"`
}

// Component is one that so many runs named.
type Component struct {
	Component string `json:"component"`
	Runs      int    `json:"runs" jsonschema:"minimum=1"`
}

func named(control, variant compare.Group) Named {
	return Named{components(control), components(variant)}
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

// text is a part of a sentence; empty where no run named any.
func (n Named) text(a, b string) string {
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
		name := c.Component
		if name == diagnose.None {
			name = "none to explain"
		}
		parts = append(parts, fmt.Sprintf("%s in %d of %s", name, c.Runs, count(total, "run")))
	}
	if len(parts) == 0 {
		return "not known"
	}
	return list(parts)
}
