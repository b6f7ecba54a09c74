package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"assay/harness/judge/compare"
	"assay/harness/lab/experiment"
)

// fact is a line of the head.
type fact struct{ Name, Text string }

// facts say what was compared, and how.
func facts(d experiment.Document) []fact {
	all := []fact{{"Experiment", d.Name + ": " + d.Description}, {"Question", d.Question}}
	if d.Source != "" {
		all = append(all, fact{"Source", d.Source})
	}
	all = append(all, fact{"Load", fmt.Sprintf("%s at %s %s, the same for all", d.Profile, number(&d.Rate), d.Unit)},
		fact{"Runs", fmt.Sprintf("%d, in the order %s", len(d.Runs), d.Order)})
	for i, v := range d.Variants {
		text := v.Name
		if v.Description != "" {
			text += ", " + v.Description
		}
		if len(v.Changes) > 0 {
			text += ": " + strings.Join(v.Changes, "; ")
		}
		all = append(all, fact{experiment.Letter(i), text})
	}
	return all
}

// table is one as all formats show it; its first column holds names.
type table struct {
	Heading string
	Rows    [][]string // the first has the columns' names
}

// tables are what is told of an effect beside its comparison.
func tables(d experiment.Document, e experiment.Effect) (all []table) {
	decided := table{"Decided on: all have to agree, so that none is adjusted for the others", [][]string{{"metric", "unit", d.Variants[0].Name, e.Variant, "ratio", "95 % interval", "p", "decision"}}}
	for _, m := range e.Primary {
		word := string(m.Decision)
		if m.Falls {
			word = "changed: falls"
		}
		decided.Rows = append(decided.Rows, []string{m.Metric, m.Unit, number(m.A), number(m.B), number(m.Ratio), interval(m.Lower, m.Upper), number(m.P), word})
	}
	if len(e.Primary) > 0 {
		all = append(all, decided)
	}
	waits := table{"What sessions of the database waited for, ms a transaction", [][]string{{"event", "class", d.Variants[0].Name, e.Variant}}}
	for _, w := range e.Events {
		waits.Rows = append(waits.Rows, []string{eventName(w), w.Class, number(w.A), number(w.B)})
	}
	if len(e.Events) > 0 {
		all = append(all, waits)
	}
	return all
}

func eventName(w experiment.Event) string {
	if w.Event == "" || w.Inferred {
		return strings.TrimSpace(w.Event + " (inferred)")
	}
	return w.Event
}

// capacities are the highest rates within the SLOs.
func capacities(d experiment.Document) (t table) {
	if len(d.Capacity) == 0 {
		return t
	}
	t = table{"Highest rate within the SLOs, " + d.Unit, [][]string{{"variant", "holds at", "missed at", "trials", "times A", "at least", "at most"}}}
	for i, c := range d.Capacity {
		row := []string{c.Variant, number(c.Lower), number(c.Upper), strconv.Itoa(c.Trials), "", "", ""}
		if i > 0 && d.Effects[i-1].Capacity != nil {
			r := d.Effects[i-1].Capacity
			row = append(row[:4], number(r.Ratio), number(r.Least), number(r.Most))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// others heads the table of the metrics that nothing was decided on, whose columns
// are A and B for each variant.
func others(d experiment.Document, e experiment.Effect) string {
	return fmt.Sprintf("Other metrics, each adjusted for all: A is %s, B is %s", d.Variants[0].Name, e.Variant)
}

// undecided is a comparison without the metrics that were decided on by themselves:
// adjusted for all others, as they would be there, they look as if they were not.
func undecided(e experiment.Effect) compare.Comparison {
	c := *e.Comparison
	c.Metrics = slices.DeleteFunc(slices.Clone(c.Metrics), func(m compare.Metric) bool {
		return slices.ContainsFunc(e.Primary, func(d experiment.Decided) bool { return d.Metric == m.Name })
	})
	return c
}

// shown are the groups of metrics that a terminal shows; the files have all.
var shown = []string{compare.Rate, compare.Errors, compare.Transaction, compare.Database, compare.Resources}

// reasons say why primary metrics are undetermined.
func reasons(e experiment.Effect) (all []string) {
	for _, m := range e.Primary {
		if m.Reason != "" {
			all = append(all, m.Metric+": "+m.Reason)
		}
	}
	return all
}

// limitations are what a reader of the figures must know beside them.
func limitations(d experiment.Document) []string {
	all := slices.Clone(d.Limitations)
	for _, e := range d.Effects {
		texts := reasons(e)
		if e.Comparison != nil {
			texts = append(texts, e.Comparison.Limitations...)
		}
		for _, text := range texts {
			if len(d.Effects) > 1 {
				text = e.Variant + ": " + text
			}
			all = append(all, text)
		}
	}
	return all
}

// number is short enough for a table; "-" is no data.
func number(v *float64) string {
	if v == nil {
		return "-"
	}
	return strconv.FormatFloat(*v, 'g', 4, 64)
}

func interval(lower, upper *float64) string {
	if lower == nil || upper == nil {
		return "-"
	}
	return number(lower) + " .. " + number(upper)
}
