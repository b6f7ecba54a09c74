// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"slices"
	"strings"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/judge/page"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/quantity"
)

// transactions lists those that are worth looking up by their trace, the slowest first;
// nothing if none is known.
func transactions(c certificate.Certificate, limit int) page.Block {
	several := slices.ContainsFunc(c.Transactions, func(t certificate.Transaction) bool { return t.Scenario != c.Transactions[0].Scenario })
	table := page.Table{
		Columns: slices.Concat(page.Words("trace id", "scheduled"), page.Numbers("ms"), page.Words("ended", "sampled"), []page.Column{{Name: "violates", Kind: page.Prose}}), Limit: limit,
	}
	for _, t := range c.Transactions {
		sampled, how := "", ended(t)
		if t.Sampled {
			sampled = "yes"
		}
		if several {
			how = t.Scenario + " " + how
		}
		table.Rows = append(table.Rows, page.Cells(t.TraceID, t.Scheduled.UTC().Format("15:04:05.000"), quantity.Value(t.LatencyMs, "ms"),
			how, sampled, strings.Join(t.Violates, ", ")))
	}
	return listed("Transactions to look up", table, note(markingText(c)))
}

// transactionsSummary names the slowest one with which something is wrong; nothing if there
// is none.
func transactionsSummary(c certificate.Certificate) page.Block {
	i := slices.IndexFunc(c.Transactions, func(t certificate.Transaction) bool {
		return t.Outcome != metric.Completed || len(t.Violates) > 0
	})
	if i < 0 {
		return nil
	}
	t := c.Transactions[i]
	text := fmt.Sprintf("trace %s (%s, %s)", t.TraceID, quantity.Format(t.LatencyMs, "ms"), ended(t))
	if more := len(c.Transactions) - 1; more > 0 {
		text += fmt.Sprintf("; %d more in %s", more, sourceFile)
	}
	return page.Under("Look up", page.Paragraph{Text: text})
}

// ended is how a transaction ended.
func ended(t certificate.Transaction) string {
	text := strings.ReplaceAll(t.Outcome, "_", " ")
	if t.Error != "" {
		text += ": " + t.Error
	}
	return text
}

// markingText says how the requests of the run are found.
func markingText(c certificate.Certificate) string {
	text := "All requests of a transaction carried its trace id, in the header traceparent."
	if m := c.Marking; m != nil {
		text += fmt.Sprintf(" Those of the run carried %s: %s. Of %s of the transactions the traceparent asked for the trace to be recorded (sampled).", m.Header, m.Value, quantity.Format(m.Sampled, "share"))
	}
	return text
}
