// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/judge/page"
)

// Limits of rows and items: of each part of a summary, so that it fits a terminal, and
// of the other pages, as a script may have thousands of names.
const (
	summarySLOs      = 10
	summaryEndpoints = 5
	summaryRules     = 4
	summaryWaits     = 5
	summaryErrors    = 6
	maxRows          = 50

	reportTransactions = 10
)

// sourceFile has everything that the pages truncate.
const sourceFile = "certificate.json"

// Summary is the short page for a terminal.
func Summary(c certificate.Certificate) page.Page {
	return newPage(
		c, page.Paragraph{Text: c.Claim},
		page.Facts{{Name: "Target", Text: c.Environment.Target}, {Name: "Signature", Text: signatureText(c)}},
		flows(c), sloTable(c, summarySLOs, len(c.Flows) == 0), // a line has room for the name of a flow, or for the interval
		abort(c), outcomes(c), errorTable(c, summaryErrors), transactionsSummary(c),
		latency(c, summaryEndpoints), rules(c, summaryRules, false), Faults(c), loadChanges(c),
		bottleneckSummary(c), waits(c, summaryWaits), ledger(c), invariants(c), limitations(c, 0),
	)
}

// Report is the page for a pull request or the summary of a CI job. Its parts are
// bounded, so that it stays far below GitHub's limit of 1 MiB. headroom is what a search after
// the run has found; empty: there was none.
func Report(c certificate.Certificate, headroom string) page.Page {
	evidence := append(facts(c), page.Fact{Name: "sha256 of evidence/manifest.json", Text: c.Evidence.ManifestSHA256})
	return long(c, headroom, reportTransactions, nil, nil, page.Under("Evidence", evidence))
}

// Full is the page with everything, including the charts of the run.
func Full(c certificate.Certificate, t Timeline, headroom string) page.Page {
	return long(c, headroom, maxRows, facts(c), []page.Block{t.charts(), t.stages()}, ruleTable(c), environment(c), verification(c))
}

// long is a page with all measurements, with up to so many transactions.
func long(c certificate.Certificate, headroom string, most int, facts page.Block, timeline []page.Block, end ...page.Block) page.Page {
	return newPage(c, slices.Concat([]page.Block{
		page.Paragraph{ID: "claim", Text: c.Claim},
		signature(c), headroomNote(headroom), facts, flows(c), sloTable(c, maxRows, true),
		abort(c), rules(c, maxRows, true), bottleneck(c), split(c),
	}, timeline, []page.Block{
		outcomes(c), errorTable(c, maxRows), checkTable(c, maxRows), transactions(c, most), latencies(c), Faults(c), loadChanges(c), workers(c), pool(c),
		waits(c, maxRows), statements(c, maxRows), resources(c), ledger(c), invariants(c), limitations(c, maxRows), leftOut(c, maxRows),
	}, end)...)
}

// Diagnosis is the page that explains where the time went.
func Diagnosis(c certificate.Certificate) page.Page {
	const statementsShown = 5
	return newPage(c, bottleneck(c), split(c), waits(c, summaryWaits), statements(c, statementsShown), resources(c))
}

// newPage is a page of blocks, some of which may be nil.
func newPage(c certificate.Certificate, blocks ...page.Block) page.Page {
	blocks = slices.DeleteFunc(blocks, func(b page.Block) bool { return b == nil })
	return page.Page{Title: c.Profile + ", " + loadText(c), Verdict: c.Verdict, Source: sourceFile, Blocks: blocks}
}

// loadText is the planned load and the scope, and whether the run was re-judged.
func loadText(c certificate.Certificate) string {
	text := fmt.Sprintf("%s for %d s, %s scope", c.Rate, c.Window.Seconds, c.Scope)
	switch n := len(c.Flows); n { // each has a rate and windows of its own
	case 0:
	case 1:
		text = fmt.Sprintf("1 flow, %s scope", c.Scope)
	default:
		text = fmt.Sprintf("%d flows, %s scope", n, c.Scope)
	}
	if c.Rejudged != nil {
		text += ", re-judged"
	}
	return text
}

// headroomNote is what a search after the run has found, which the certificate does not claim.
func headroomNote(headroom string) page.Block {
	if headroom == "" {
		return nil
	}
	return note("Beside the claim, not certified: " + headroom + ".")
}

func signature(c certificate.Certificate) page.Block {
	state := page.Doubtful
	if c.Signed && c.Evidence.Sealed {
		state = page.Good
	}
	return page.Paragraph{ID: "signed", Text: signatureText(c) + ".", State: state}
}

// signatureText says whether the certificate is signed, and by which key. Every page
// shows it.
func signatureText(c certificate.Certificate) string {
	if !c.Signed {
		return "Not signed: its issuer and integrity cannot be verified"
	}
	text := "Signed"
	if c.Issuer != nil {
		text += " (key " + *c.Issuer + ")"
	}
	if !c.Evidence.Sealed {
		text += "; the record was not sealed by this key, so that what it holds is not vouched for"
	}
	return text + "; verify it with assay verify"
}

// facts identify the run.
func facts(c certificate.Certificate) page.Facts {
	window := fmt.Sprintf("%d s", c.Window.Seconds)
	if c.Window.Count > 1 {
		window += fmt.Sprintf(" in %d windows", c.Window.Count)
	}
	window += ", from " + c.Window.Start.UTC().Format("2006-01-02 15:04:05 UTC")
	attempts := "unknown"
	if c.Attempts != nil {
		attempts = fmt.Sprint(*c.Attempts)
		var before []string
		for _, a := range c.Earlier {
			before = append(before, fmt.Sprintf("%d %s", a.Runs, strings.Replace(a.Verdict, "none", "without a verdict", 1)))
		}
		if len(before) > 0 {
			attempts += ", before: " + strings.Join(before, ", ")
		}
	}
	return page.Facts{
		{Name: "target", Text: c.Environment.Target},
		{Name: "judged", Text: window},
		{Name: "run", Text: c.Run},
		{Name: "attempts", Text: attempts},
		{Name: "issued", Text: formatMinute(c.Issued)},
		{Name: "expires", Text: formatMinute(c.Expires)},
	}
}

func formatMinute(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

func paragraph(format string, args ...any) page.Paragraph {
	return page.Paragraph{Text: fmt.Sprintf(format, args...)}
}

// note is an explanation of the preceding block.
func note(text string) page.Paragraph { return page.Paragraph{Text: text, State: page.Quiet} }

// listed is a section of a table, and what is below it; nil if the table has no rows.
func listed(heading string, t page.Table, below ...page.Block) page.Block {
	if len(t.Rows) == 0 {
		return nil
	}
	return page.Under(heading, append([]page.Block{t}, below...)...)
}
