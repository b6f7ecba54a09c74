// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"assay.dev/assay/internal/judge/compare"
	"assay.dev/assay/internal/judge/page"
	"assay.dev/assay/internal/judge/stats/effect"
)

// Summary is the short page for a terminal.
func Summary(c compare.Comparison) page.Page {
	p := page.Page{Title: c.Profile + ": B compared with A", Blocks: []page.Block{page.Facts{
		{Name: "A", Text: side(c.A)}, {Name: "B", Text: side(c.B)}, {Name: "Pairing", Text: c.Pairing.Detail}, {Name: "Result", Text: result(c.Metrics)},
	}}}
	p.Blocks = append(p.Blocks, Metrics(c)...)
	for _, s := range []struct {
		heading string
		items   []string
	}{{"Undetermined", reasons(c.Metrics)}, {"Left out", leftOut(c)}, {"Limitations", c.Limitations}} {
		if len(s.items) > 0 {
			p.Blocks = append(p.Blocks, page.Section{Heading: s.heading, Blocks: []page.Block{page.List{Items: s.items}}})
		}
	}
	return p
}

// Full is the summary and the runs that were compared.
func Full(c compare.Comparison) page.Page {
	runs := page.Table{Columns: slices.Concat(page.Names("folder"), page.Words("side", "verdict", "start", "manifest sha256"))}
	add := func(name string, s compare.Side) {
		for _, r := range s.Runs {
			row := page.Cells(r.Folder, name, r.Verdict, r.Start.Format(time.RFC3339), r.ManifestSHA256)
			row[2].State = page.VerdictState(r.Verdict)
			runs.Rows = append(runs.Rows, row)
		}
	}
	add("A", c.A)
	add("B", c.B)
	p := Summary(c)
	p.Blocks = append(p.Blocks, page.Section{Heading: "Runs", Blocks: []page.Block{runs}})
	return p
}

// side is the name of a group with the number and verdicts of its runs.
func side(s compare.Side) string {
	counts := map[string]int{}
	for _, r := range s.Runs {
		counts[r.Verdict]++
	}
	noun := "runs"
	if len(s.Runs) == 1 {
		noun = "run"
	}
	return fmt.Sprintf("%s: %d %s (%s)", s.Name, len(s.Runs), noun, counted(counts, "PASS", "FAIL", "INCONCLUSIVE"))
}

// result counts the decisions.
func result(metrics []compare.Metric) string {
	counts := map[string]int{}
	for _, m := range metrics {
		counts[decision(m)]++
	}
	return counted(counts, compare.Worse, compare.Better, string(effect.Changed), string(effect.Equivalent), string(effect.Undetermined))
}

// counted joins words with their counts, in the order given.
func counted(counts map[string]int, words ...string) string {
	var all []string
	for _, w := range words {
		if n := counts[w]; n > 0 {
			all = append(all, fmt.Sprintf("%d %s", n, w))
		}
	}
	return strings.Join(all, ", ")
}

// reasons lists why metrics are undetermined, each reason with its metrics.
func reasons(metrics []compare.Metric) (all []string) {
	names := map[string][]string{}
	var order []string
	for _, m := range metrics {
		if m.Reason == "" {
			continue
		}
		if names[m.Reason] == nil {
			order = append(order, m.Reason)
		}
		names[m.Reason] = append(names[m.Reason], m.Name)
	}
	for _, reason := range order {
		what := strings.Join(names[reason], ", ")
		if len(order) == 1 && len(names[reason]) == len(metrics) {
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
