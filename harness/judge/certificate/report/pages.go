package report

import (
	"fmt"
	"time"

	"assay/harness/judge/certificate"
	"assay/harness/judge/page"
	"assay/harness/quantity"
)

// Most rows and items of each part of a summary, so that it fits a terminal, and
// of the other pages: a script may send thousands of names.
const (
	summarySLOs      = 10
	summaryEndpoints = 5
	summaryRules     = 4
	summaryWaits     = 5
	most             = 50
)

// source is the file with everything that pages leave out.
const source = "certificate.json"

// Summary is the short page for a terminal.
func Summary(c certificate.Certificate) page.Page {
	return newPage(
		c, page.Paragraph{Text: c.Claim}, page.Facts{{Name: "Target", Text: c.Environment.Target}, {Name: "Signature", Text: signed(c)}},
		slos(c, summarySLOs), outcomes(c), latency(c, summaryEndpoints), rules(c, summaryRules), cause(c), waits(c, summaryWaits),
		ledger(c), limitations(c, 0),
	)
}

// Report is for a pull request or the summary of a CI job. Its parts are bounded, so
// that it stays far below the 1 MiB that GitHub takes.
func Report(c certificate.Certificate) page.Page {
	evidence := append(facts(c), page.Fact{Name: "sha256 of evidence/manifest.json", Text: c.Evidence.ManifestSHA256})
	return newPage(
		c, claim(c), signature(c), slos(c, most), explainedRules(c), bottleneck(c), split(c), outcomes(c), allLatencies(c),
		waits(c, most), statements(c, most), resources(c), ledger(c), limitations(c, most),
		page.Section{Heading: "Evidence", Blocks: []page.Block{evidence}},
	)
}

// Full is the page with everything, and with the run's charts.
func Full(c certificate.Certificate, t Timeline) page.Page {
	return newPage(
		c, claim(c), signature(c), facts(c), slos(c, most), explainedRules(c), bottleneck(c), split(c), t.charts(), t.stages(),
		outcomes(c), allLatencies(c), waits(c, most), statements(c, most), resources(c), ledger(c), limitations(c, most),
		allRules(c), environment(c), verification(c),
	)
}

// Diagnosis is the part of a certificate that explains where the time went.
func Diagnosis(c certificate.Certificate) page.Page {
	const statementsShown = 5
	return newPage(c, bottleneck(c), split(c), waits(c, summaryWaits), statements(c, statementsShown), resources(c))
}

func newPage(c certificate.Certificate, blocks ...page.Block) page.Page {
	return page.Page{Title: c.Profile + ", " + asked(c), Verdict: c.Verdict, Source: source, Blocks: blocks}
}

// asked is the load and the scope, and whether the run was re-judged.
func asked(c certificate.Certificate) string {
	rate := quantity.Exact(c.Rate.Target)
	if c.Rate.Lowest < c.Rate.Target {
		rate = quantity.Exact(c.Rate.Lowest) + " to " + rate
	}
	text := fmt.Sprintf("%s %s for %d s, %s scope", rate, c.Rate.Unit, c.Window.Seconds, c.Scope)
	if c.Rejudged != nil {
		text += ", re-judged"
	}
	return text
}

func claim(c certificate.Certificate) page.Block {
	return page.Paragraph{ID: "claim", Text: c.Claim}
}

func signature(c certificate.Certificate) page.Block {
	state := page.Doubtful
	if c.Signed {
		state = page.Good
	}
	return page.Paragraph{ID: "signed", Text: signed(c) + ".", State: state}
}

// signed says who signed the certificate, if anybody: every page shows it.
func signed(c certificate.Certificate) string {
	if !c.Signed {
		return "Not signed: nothing shows who issued it, or that nothing was changed"
	}
	text := "Signed"
	if c.Issuer != nil {
		text += " (key " + *c.Issuer + ")"
	}
	return text + "; check it with assay verify"
}

// facts identify the run.
func facts(c certificate.Certificate) page.Facts {
	window := fmt.Sprintf("%d s, from %s", c.Window.Seconds, c.Window.Start.UTC().Format("2006-01-02 15:04:05 UTC"))
	if c.Window.Count > 1 {
		window += fmt.Sprintf(" on, in %d windows", c.Window.Count)
	}
	attempts := "not known"
	if c.Attempts != nil {
		attempts = fmt.Sprint(*c.Attempts)
	}
	return page.Facts{
		{Name: "target", Text: c.Environment.Target},
		{Name: "judged", Text: window},
		{Name: "run", Text: c.Run},
		{Name: "attempts", Text: attempts},
		{Name: "issued", Text: minute(c.Issued)},
		{Name: "expires", Text: minute(c.Expires)},
	}
}

func minute(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

func paragraph(format string, args ...any) page.Paragraph {
	return page.Paragraph{Text: fmt.Sprintf(format, args...)}
}

// note explains the block before it.
func note(text string) page.Paragraph { return page.Paragraph{Text: text, State: page.Quiet} }

// section is a heading with blocks below it.
func section(heading string, blocks ...page.Block) page.Section {
	return page.Section{Heading: heading, Blocks: blocks}
}
