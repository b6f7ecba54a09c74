package reproduce

import (
	"fmt"
	"slices"
	"strings"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/judge/page"
	"assay.dev/assay/internal/quantity"
)

// Section is a heading with blocks below it.
func Section(heading string, blocks ...page.Block) page.Section {
	return page.Section{Heading: heading, Blocks: blocks}
}

// SLOTable lists the SLOs whose metric begins with one of the prefixes, with the interval
// of the observed value.
func SLOTable(c certificate.Certificate, prefixes ...string) page.Block {
	t := page.Table{Columns: slices.Concat(page.Names("measured"), page.Numbers("observed", "98 % interval", "samples"))}
	for _, s := range c.SLOs {
		if !begins(s.Metric, prefixes) {
			continue
		}
		t.Rows = append(t.Rows, page.Cells(s.Metric+" "+aggregate(s.Expression), quantity.Optional(s.Observed, s.Unit), quantity.Range(s.Lower, s.Upper, s.Unit), quantity.Count(s.Samples)))
	}
	return t
}

// aggregate is the word of an expression before its operator.
func aggregate(expression string) string { return expression[:strings.IndexAny(expression, "<>=")] }

func begins(text string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(text, p) })
}

// LatencyTable lists the percentiles of the times whose name begins with one of the
// prefixes.
func LatencyTable(c certificate.Certificate, prefixes ...string) page.Block {
	t := page.Table{Columns: slices.Concat(page.Names("time, ms"), page.Numbers("count", "p50", "p95", "p99", "max"))}
	var names []string
	for name := range c.Latency {
		if begins(name, prefixes) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		l := c.Latency[name]
		t.Rows = append(t.Rows, page.Cells(name, fmt.Sprint(l.Count), quantity.OptionalValue(l.P50, "ms"), quantity.OptionalValue(l.P95, "ms"), quantity.OptionalValue(l.P99, "ms"), quantity.OptionalValue(l.Max, "ms")))
	}
	return t
}

// Verdict is the verdict of a certificate with its ledger, in a line.
func Verdict(c certificate.Certificate) page.Block {
	text := c.Verdict + ": " + c.Claim
	if l := c.Ledger; l != nil {
		text += fmt.Sprintf(" Ledger: acknowledged %d, persisted %d, missing %d, duplicated %d.", l.Acknowledged, l.Persisted, l.Missing, l.Duplicated)
	}
	return page.Paragraph{Text: text, State: page.VerdictState(c.Verdict)}
}
