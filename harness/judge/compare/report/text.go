package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"assay/harness/judge/compare"
	"assay/harness/judge/stats/effect"
)

// columns is the width that the table keeps to.
const columns = 100

// Text writes a comparison for a terminal.
func Text(w io.Writer, c compare.Comparison) error {
	var p page
	p.head(c)
	p.table(c.Metrics)
	p.legend(c)
	p.notes("Undetermined", reasons(c.Metrics))
	p.notes("Left out", leftOut(c))
	p.notes("Limitations", c.Limitations)
	if _, err := io.WriteString(w, p.String()); err != nil {
		return fmt.Errorf("write comparison: %w", err)
	}
	return nil
}

type page struct{ strings.Builder }

func (p *page) head(c compare.Comparison) {
	p.line()
	p.wrap("  A          ", side(c.A))
	p.wrap("  B          ", side(c.B))
	p.wrap("  Profile    ", c.Profile)
	p.wrap("  Pairing    ", c.Pairing.Detail)
	p.wrap("  Result     ", result(c.Metrics))
	p.line()
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

// Widths of the table's columns.
const (
	wideName     = 24
	wideUnit     = 7
	wideNumber   = 9
	wideInterval = 18
	wideP        = 9
)

func (p *page) table(metrics []compare.Metric) {
	p.row("metric", "unit", "A", "B", "B/A", "95 % interval", "p", "decision")
	for _, m := range metrics {
		p.row(m.Name, m.Unit, number(m.A), number(m.B), ratio(m.Ratio), interval(m), number(m.Adjusted), decision(m))
	}
	p.line()
}

func (p *page) row(name, unit, a, b, ratio, interval, adjusted, decision string) {
	p.line("  ", pad(clip(name, wideName), wideName), padLeft(unit, wideUnit), padLeft(a, wideNumber), padLeft(b, wideNumber),
		padLeft(ratio, wideNumber-1), padLeft(interval, wideInterval), padLeft(adjusted, wideP), "  ", decision)
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
	p.wrap("  ", fmt.Sprintf(
		"%s Better, worse and changed: the interval lies outside %s to %s, and p is at most %g; equivalent: it lies inside.",
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

// notes writes a list under a heading.
func (p *page) notes(heading string, texts []string) {
	if len(texts) == 0 {
		return
	}
	p.line("  " + heading)
	for _, t := range texts {
		p.wrap("    - ", t)
	}
}

func (p *page) line(parts ...string) {
	p.WriteString(strings.TrimRight(strings.Join(parts, ""), " "))
	p.WriteByte('\n')
}

// wrap writes words within the columns, each line indented as far as the first.
func (p *page) wrap(first, text string) {
	rest := strings.Repeat(" ", width(first))
	line, empty := first, true
	for _, word := range strings.Fields(clean(text)) {
		if !empty && width(line)+1+width(word) > columns {
			p.line(line)
			line, empty = rest, true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	p.line(line)
}

func width(s string) int { return utf8.RuneCountInString(s) }

func pad(s string, n int) string { return s + strings.Repeat(" ", max(0, n-width(s))) }

func padLeft(s string, n int) string { return strings.Repeat(" ", max(0, n-width(s))) + s }

// clip shortens a text in its middle: beginnings and ends tell names apart.
func clip(s string, n int) string {
	runes := []rune(clean(s))
	if len(runes) <= n {
		return string(runes)
	}
	head := (n - 2) / 2
	return string(runes[:head]) + ".." + string(runes[len(runes)-(n-2-head):])
}

// clean takes out what would steer a terminal: names come from scripts and
// databases.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, s)
}
