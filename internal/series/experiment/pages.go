package experiment

import (
	"fmt"
	"slices"
	"strings"

	"assay.dev/assay/internal/judge/compare"
	comparison "assay.dev/assay/internal/judge/compare/report"
	"assay.dev/assay/internal/judge/page"
	"assay.dev/assay/internal/quantity"
)

var summaryGroups = []string{compare.Rate, compare.Errors, compare.Transaction, compare.Database, compare.Resources}

// SummaryPage is the short page for a terminal or a pull request.
func SummaryPage(d Document) page.Page { return newPage(d, summaryGroups) }

// FullPage is the page with all metrics and runs.
func FullPage(d Document) page.Page {
	p := newPage(d, compare.Groups)
	p.Blocks = append(p.Blocks, runs(d))
	return p
}

func newPage(d Document, groups []string) page.Page {
	p := page.Page{Title: d.Name + ": " + d.Description, Blocks: []page.Block{facts(d)}}
	if d.State != Done {
		p.Blocks = append(p.Blocks, page.Paragraph{Text: d.Sentence, State: page.Strong})
	}
	for _, e := range d.Effects {
		p.Blocks = append(p.Blocks, effectSection(d, e, groups))
	}
	if len(d.Capacity) > 0 {
		p.Blocks = append(p.Blocks, capacity(d))
	}
	if all := limitations(d); len(all) > 0 {
		p.Blocks = append(p.Blocks, page.Under("Limitations", page.List{Items: all}))
	}
	return p
}

func facts(d Document) page.Facts {
	all := page.Facts{{Name: "Question", Text: d.Question}}
	if d.Source != "" {
		all = append(all, page.Fact{Name: "Source", Text: d.Source})
	}
	all = append(all, page.Fact{Name: "Load", Text: fmt.Sprintf("%s at %s %s in every run", d.Profile, quantity.Exact(d.Rate), d.Unit)},
		page.Fact{Name: "Runs", Text: fmt.Sprintf("%d, in the order %s", len(d.Runs), d.Order)})
	for i, v := range d.Variants {
		text := v.Name
		if v.Description != "" {
			text += ", " + v.Description
		}
		if len(v.Changes) > 0 {
			text += ": " + strings.Join(v.Changes, "; ")
		}
		all = append(all, page.Fact{Name: Letter(i), Text: text})
	}
	return all
}

func effectSection(d Document, e Effect, groups []string) page.Block {
	s := page.Under(fmt.Sprintf("%s: %s", e.Variant, e.Outcome), page.Paragraph{Text: e.Sentence, State: page.Strong})
	if len(e.Primary) > 0 {
		s.Blocks = append(s.Blocks, primary(d, e))
	}
	if len(e.Events) > 0 {
		s.Blocks = append(s.Blocks, waitTable(d, e))
	}
	if e.Comparison != nil {
		heading := fmt.Sprintf("Other metrics, p adjusted for all metrics: A is %s, B is %s", d.Variants[0].Name, e.Variant)
		s.Blocks = append(s.Blocks, page.Under(heading, comparison.Metrics(others(e, groups))...))
	}
	return s
}

func primary(d Document, e Effect) page.Block {
	t := page.Table{Columns: slices.Concat(
		page.Names("metric"), page.Words("unit"), page.Numbers(d.Variants[0].Name, e.Variant, "ratio", "95 % interval", "p"), page.Words("decision"),
	)}
	for _, m := range e.Primary {
		word := string(m.Decision)
		if m.Falls {
			word = "changed: falls"
		}
		t.Rows = append(t.Rows, page.Cells(m.Metric, m.Unit, quantity.OptionalValue(m.A, m.Unit), quantity.OptionalValue(m.B, m.Unit),
			quantity.OptionalValue(m.Ratio, "ratio"), quantity.Range(m.Lower, m.Upper, "ratio"), comparison.P(m.P), word))
	}
	return page.Under("Primary metrics: all have to agree, so that p is not adjusted", t)
}

func waitTable(d Document, e Effect) page.Block {
	a, b := d.Variants[0].Name, e.Variant
	t := page.Table{Columns: slices.Concat(
		page.Names("event"), page.Words("class"), page.Numbers(a, b), []page.Column{{Name: a + ", and " + b + " below", Kind: page.Graph}},
	)}
	longest := 0.0
	for _, w := range e.Events {
		longest = max(longest, orZero(w.A), orZero(w.B))
	}
	for _, w := range e.Events {
		name := w.Event
		if w.Inferred {
			name = strings.TrimSpace(name + " (inferred)")
		}
		row := page.Cells(name, w.Class, quantity.OptionalValue(w.A, "ms"), quantity.OptionalValue(w.B, "ms"), "")
		if longest > 0 {
			row[4].Graph = page.Bars{Upper: orZero(w.A) / longest, Lower: orZero(w.B) / longest}
		}
		t.Rows = append(t.Rows, row)
	}
	return page.Under("Wait events of database sessions, ms per transaction", t)
}

func orZero(v *float64) float64 {
	if v == nil {
		return 0
	}
	return *v
}

// others is the comparison without the primary metrics. Its p is adjusted for all
// metrics, by which a primary metric that is decided on its own may be undetermined.
func others(e Effect, groups []string) compare.Comparison {
	c := *e.Comparison
	c.Metrics = slices.DeleteFunc(slices.Clone(c.Metrics), func(m compare.Metric) bool {
		return !slices.Contains(groups, m.Group) || slices.ContainsFunc(e.Primary, func(d PrimaryMetric) bool { return d.Metric == m.Name })
	})
	return c
}

func capacity(d Document) page.Block {
	t := page.Table{Columns: slices.Concat(page.Names("variant"), page.Numbers("holds at", "missed at", "trials", "ratio to A", "at least", "at most"))}
	rate := func(v *float64) string {
		if v == nil {
			return quantity.NoData
		}
		return quantity.Exact(*v)
	}
	for i, c := range d.Capacity {
		row := page.Cells(c.Variant, rate(c.Lower), rate(c.Upper), fmt.Sprint(c.Trials), "", "", "")
		if i > 0 && d.Effects[i-1].Capacity != nil {
			r := d.Effects[i-1].Capacity
			for k, v := range []*float64{r.Ratio, r.Least, r.Most} {
				row[4+k].Text = quantity.OptionalValue(v, "ratio")
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return page.Under("Highest rate within the SLOs, "+d.Unit, t)
}

// limitations are those of the experiment, its primary metrics and its comparisons.
func limitations(d Document) []string {
	all := slices.Clone(d.Limitations)
	for _, e := range d.Effects {
		var texts []string
		for _, m := range e.Primary {
			if m.Reason != "" {
				texts = append(texts, m.Metric+": "+m.Reason)
			}
		}
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

func runs(d Document) page.Block {
	t := page.Table{Columns: slices.Concat(
		page.Names("folder"), page.Words("variant"), page.Numbers("round", "seed"), page.Words("verdict"), []page.Column{{Name: "claim", Kind: page.Prose}},
	)}
	for _, r := range d.Runs {
		row := page.Cells(r.Folder, r.Variant, fmt.Sprint(r.Round), fmt.Sprint(r.Seed), r.Verdict, r.Claim)
		row[4].State = page.VerdictState(r.Verdict)
		t.Rows = append(t.Rows, row)
	}
	return page.Under("Runs", t)
}
