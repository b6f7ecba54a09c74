package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"assay/harness/judge/compare"
	comparison "assay/harness/judge/compare/report"
	"assay/harness/lab/experiment"
)

// Text tells the result on a terminal, and where it is kept.
func Text(w io.Writer, d experiment.Document, path string) error {
	var p comparison.Page
	p.Blank()
	for _, f := range facts(d) {
		p.Wrap(fmt.Sprintf("  %-11s", f.Name), strings.Repeat(" ", 13), f.Text)
	}
	p.Blank()
	for _, e := range d.Effects {
		p.Wrap("", "", e.Sentence)
		p.Blank()
		for _, t := range tables(d, e) {
			setTable(&p, t)
		}
		if e.Comparison != nil {
			c := undecided(e)
			c.Metrics = slices.DeleteFunc(c.Metrics, func(m compare.Metric) bool { return !slices.Contains(shown, m.Group) })
			p.Wrap("  ", "  ", others(d, e))
			comparison.Metrics(&p, c)
			p.Blank()
		}
	}
	if t := capacities(d); len(t.Rows) > 0 {
		setTable(&p, t)
	}
	if d.State != experiment.Done {
		p.Wrap("", "", d.Sentence)
		p.Blank()
	}
	p.Notes("Limitations", limitations(d))
	p.Blank()
	p.Line("  ", path)
	_, err := io.WriteString(w, p.String())
	if err != nil {
		return fmt.Errorf("write the experiment's result: %w", err)
	}
	return nil
}

func setTable(p *comparison.Page, t table) {
	p.Line("  ", t.Heading)
	p.Table(t.Rows, nil)
	p.Blank()
}
