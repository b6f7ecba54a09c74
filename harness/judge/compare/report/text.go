package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"assay/harness/judge/compare"
	"assay/harness/judge/internal/plain"
	"assay/harness/judge/stats/effect"
)

// Text writes a comparison for a terminal.
func Text(w io.Writer, c compare.Comparison) error {
	var p page
	p.head(c)
	p.table(c.Metrics)
	p.legend(c)
	p.Notes("Undetermined", reasons(c.Metrics))
	p.Notes("Left out", leftOut(c))
	p.Notes("Limitations", c.Limitations)
	if _, err := io.WriteString(w, p.String()); err != nil {
		return fmt.Errorf("write comparison: %w", err)
	}
	return nil
}

type page struct{ plain.Page }

func (p *page) head(c compare.Comparison) {
	p.Blank()
	p.fact("A", side(c.A))
	p.fact("B", side(c.B))
	p.fact("Profile", c.Profile)
	p.fact("Pairing", c.Pairing.Detail)
	p.fact("Result", result(c.Metrics))
	p.Blank()
}

// fact writes a text beside its name.
func (p *page) fact(name, text string) {
	p.Wrap(fmt.Sprintf("  %-11s", name), strings.Repeat(" ", 13), text)
}

// side is a group's folder, runs and their verdicts.
func side(s compare.Side) string {
	counts := map[string]int{}
	for _, r := range s.Runs {
		counts[r.Verdict]++
	}
	var verdicts []string
	for _, v := range []string{"PASS", "FAIL", "INCONCLUSIVE"} {
		if n := counts[v]; n > 0 {
			verdicts = append(verdicts, fmt.Sprintf("%d %s", n, v))
		}
	}
	noun := "runs"
	if len(s.Runs) == 1 {
		noun = "run"
	}
	return fmt.Sprintf("%s: %d %s (%s)", s.Name, len(s.Runs), noun, strings.Join(verdicts, ", "))
}

// result counts the decisions.
func result(metrics []compare.Metric) string {
	counts := map[string]int{}
	for _, m := range metrics {
		counts[decision(m)]++
	}
	var all []string
	for _, word := range []string{compare.Worse, compare.Better, string(effect.Changed), string(effect.Equivalent), string(effect.Undetermined)} {
		if n := counts[word]; n > 0 {
			all = append(all, fmt.Sprintf("%d %s", n, word))
		}
	}
	return strings.Join(all, ", ")
}

func (p *page) table(metrics []compare.Metric) {
	rows := [][]string{{"metric", "unit", "A", "B", "B/A", "95 % interval", "adjusted p", "decision"}}
	for _, m := range metrics {
		rows = append(rows, []string{
			m.Name, m.Unit, plain.Number(m.A), plain.Number(m.B), ratio(m.Ratio), interval(m), plain.Number(m.Adjusted), decision(m),
		})
	}
	p.Table(rows, nil)
	p.Blank()
}

// decision is short enough for the line; the notes tell why.
func decision(m compare.Metric) string {
	if m.Decision == effect.Changed && m.Direction != compare.NoDirection {
		return m.Direction
	}
	return string(m.Decision)
}

func (p *page) legend(c compare.Comparison) {
	lower, upper := effect.Band(c.Tolerance)
	p.Wrap("  ", "  ", fmt.Sprintf(
		"%s Better, worse and changed: the interval lies outside %s to %s, and the adjusted p is at most %g; equivalent: it lies inside.",
		meaning(c), fixed(lower), fixed(upper), effect.Alpha,
	))
}

// meaning says what the numbers of a row are.
func meaning(c compare.Comparison) string {
	ratio, metrics := "of a run of B to one of A", "metrics"
	if c.Pairing.Paired {
		ratio = "within a pair"
	}
	if c.Tested == 1 {
		metrics = "metric"
	}
	return fmt.Sprintf("A and B are medians over runs, B/A is the median ratio %s, p is adjusted for %d %s.", ratio, c.Tested, metrics)
}

// reasons gathers the metrics that are undetermined for one reason.
func reasons(metrics []compare.Metric) (all []string) {
	of := map[string][]string{}
	var order []string
	for _, m := range metrics {
		if m.Reason == "" {
			continue
		}
		if of[m.Reason] == nil {
			order = append(order, m.Reason)
		}
		of[m.Reason] = append(of[m.Reason], m.Name)
	}
	for _, reason := range order {
		what := strings.Join(of[reason], ", ")
		if len(order) == 1 && len(of[reason]) == len(metrics) {
			what = "all metrics"
		}
		all = append(all, what+": "+reason)
	}
	return all
}

func leftOut(c compare.Comparison) (all []string) {
	for _, l := range slices.Concat(c.A.LeftOut, c.B.LeftOut) {
		all = append(all, l.Folder+": "+l.Reason)
	}
	return all
}

// Page sets lines of a terminal. It stands here too for what is made of
// comparisons elsewhere, so that it is set alike.
type Page = plain.Page

// Metrics writes the table of metrics, and what its columns mean.
func Metrics(to *Page, c compare.Comparison) {
	var p page
	p.table(c.Metrics)
	p.legend(c)
	to.WriteString(p.String())
}
