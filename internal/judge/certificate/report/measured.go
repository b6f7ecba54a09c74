// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/judge/diagnose"
	"assay.dev/assay/internal/judge/page"
	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/quantity"
)

func outcomes(c certificate.Certificate) page.Block {
	o, count := c.Outcomes, quantity.Count
	return page.Under("Outcomes", paragraph("completed %s, failed %s, timed out %s, dropped %s of %s scheduled; %s achieved",
		count(o.Completed), count(o.Failed), count(o.TimedOut), count(o.Dropped), count(c.Rate.Scheduled), quantity.Optional(c.Rate.Achieved, "1/s")))
}

// latency lists the transaction first, then the endpoints by name. If there are too
// many, those with the most requests come first.
func latency(c certificate.Certificate, limit int) page.Section {
	names := slices.SortedFunc(maps.Keys(c.Latency), func(a, b string) int {
		return cmp.Or(cmp.Compare(c.Latency[b].Count, c.Latency[a].Count), cmp.Compare(a, b))
	})
	rank := map[string]int{}
	for i, name := range names {
		rank[name] = 1 + i/limit
	}
	rank[verdict.TransactionName] = 0
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(rank[a], rank[b]), cmp.Compare(a, b)) })
	t := page.Table{
		Columns: slices.Concat(page.Names(""), page.Numbers("count", "p50", "p90", "p95", "p99", "p99.9", "max", "mean")), Limit: limit,
	}
	for _, name := range names {
		l := c.Latency[name]
		least, most := cmp.Or(l.AtLeast, &certificate.Ends{}), cmp.Or(l.AtMost, &certificate.Ends{})
		t.Rows = append(t.Rows, page.Cells(
			name, quantity.Count(&l.Count), between(l.P50, least.P50, most.P50), between(l.P90, least.P90, most.P90),
			between(l.P95, least.P95, most.P95), between(l.P99, least.P99, most.P99), between(l.P999, least.P999, most.P999),
			between(l.Max, least.Max, most.Max), quantity.OptionalValue(l.Mean, "ms"),
		))
	}
	return page.Under("Latency, ms", t)
}

// between is a value in ms, or between which values it lies, where that is all that is
// known.
func between(v, least, most *float64) string {
	switch {
	case least == nil:
		return quantity.OptionalValue(v, "ms")
	case most == nil:
		return "over " + quantity.OptionalValue(least, "ms")
	}
	return quantity.Range(least, most, "ms")
}

func latencies(c certificate.Certificate) page.Block {
	s := latency(c, maxRows)
	text := "Over the judged windows."
	if len(c.Flows) > 0 {
		text = "Of all flows together, over the seconds in which one of them is judged, overloads of the others included."
	}
	s.Blocks = append(s.Blocks, note(text))
	return s
}

// waits lists what the sessions of the database did.
func waits(c certificate.Certificate, limit int) page.Block {
	switch {
	case c.Waits == nil:
		return page.Under("Waits", page.Paragraph{Text: "no data: the database was not sampled"})
	case len(c.Waits) == 0:
		return page.Under("Waits", page.Paragraph{Text: "no active session was sampled"})
	}
	t := page.Table{
		Columns: slices.Concat(page.Words("class"), page.Names("event"), page.Numbers("sessions", "share", "ms/tx", "baseline", "samples")), Limit: limit,
	}
	for _, w := range c.Waits {
		class := w.Class
		if w.Inferred {
			class += " (inferred)"
		}
		if w.Client != "" { // its name would be shortened here; the bottleneck has it
			class += ", " + diagnose.Neighbour
		}
		t.Rows = append(t.Rows, page.Cells(class, w.Event, quantity.Value(w.AAS, "sessions"), quantity.Format(w.Share, "share"),
			quantity.OptionalValue(w.MsPerTransaction, "ms"), quantity.OptionalValue(w.BaselineMsPerTransaction, "ms"), quantity.Count(&w.Samples)))
	}
	return page.Under("Waits", t)
}

// statements lists those that took most of the database's time.
func statements(c certificate.Certificate, limit int) page.Block {
	if c.Statements == nil {
		return page.Under("Statements", page.Paragraph{Text: "no data: the database reported no statements"})
	}
	t := page.Table{
		Columns: slices.Concat(page.Names("statement"), page.Numbers("calls/tx", "share", "ms/call", "rows/call"), []page.Column{{Name: "mostly in", Kind: page.Prose}}),
		Limit:   limit,
	}
	for _, s := range c.Statements {
		mostly := ""
		if s.Event != "" {
			mostly = fmt.Sprintf("%s %s (%s)", s.Class, s.Event, quantity.Format(s.WaitShare, "share"))
		}
		if s.Client != "" {
			mostly += ", of " + s.Client
		}
		t.Rows = append(t.Rows, page.Cells(s.Text, quantity.OptionalValue(s.CallsPerTransaction, ""), quantity.Format(s.Share, "share"),
			quantity.OptionalValue(s.MsPerCall, "ms"), quantity.OptionalValue(s.RowsPerCall, ""), mostly))
	}
	return page.Under("Statements", t, note("Statement times do not include the wait for a connection."))
}

// resources lists the mean use of resources per transaction.
func resources(c certificate.Certificate) page.Block {
	if len(c.Resources) == 0 {
		return page.Under("Cost", page.Paragraph{Text: "no data"})
	}
	t := page.Table{Columns: slices.Concat(page.Names("resource"), page.Numbers("judged", "baseline"))}
	for _, r := range c.Resources {
		unit, _, _ := strings.Cut(r.Unit, "/")
		t.Rows = append(t.Rows, page.Cells(r.Name, quantity.Optional(r.PerTransaction, unit), quantity.Optional(r.BaselinePerTransaction, unit)))
	}
	return page.Under("Cost per transaction", t)
}

func ledger(c certificate.Certificate) page.Block {
	return page.Under("Ledger", page.Paragraph{Text: ledgerText(c.Ledger)})
}

func ledgerText(l *certificate.Ledger) string {
	if l == nil {
		return "not compared"
	}
	return fmt.Sprintf("acknowledged %d, persisted %d, missing %d, duplicated %d, unacknowledged %d; persist lag p50 %s, p99 %s, max %s",
		l.Acknowledged, l.Persisted, l.Missing, l.Duplicated, l.Unacknowledged,
		quantity.Optional(l.PersistLagMs.P50, "ms"), quantity.Optional(l.PersistLagMs.P99, "ms"), quantity.Optional(l.PersistLagMs.Max, "ms"))
}

// errorTable lists the errors by who noticed them and by class; nothing if there were none.
func errorTable(c certificate.Certificate, limit int) page.Block {
	t := page.Table{Columns: slices.Concat(page.Words("seen by"), page.Names("class"), page.Numbers("count", "per transaction")), Limit: limit}
	for _, e := range c.Errors {
		t.Rows = append(t.Rows, page.Cells(e.Where, e.Class, quantity.Count(&e.Count), quantity.Optional(e.Share, "share")))
	}
	return listed("Errors", t)
}

// checkTable lists the checks of the script; nothing if it has none.
func checkTable(c certificate.Certificate, limit int) page.Block {
	names := page.Names("check", "group")
	if len(c.Flows) > 0 {
		names = page.Names("check", "group", "flow")
	}
	t := page.Table{Columns: slices.Concat(names, page.Numbers("passed", "failed")), Limit: limit}
	for _, k := range c.Checks {
		cells := []string{k.Name, strings.TrimPrefix(k.Group, "::"), k.Flow}[:len(names)]
		row := page.Cells(append(cells, quantity.Count(&k.Passes), quantity.Count(&k.Failures))...)
		if k.Failures > 0 {
			row[len(row)-1].State = page.Doubtful
		}
		t.Rows = append(t.Rows, row)
	}
	return listed("Checks of the script", t)
}

// pool describes the service's pool of database connections; nothing if it reports none.
func pool(c certificate.Certificate) page.Block {
	p := c.Pool
	if p == nil {
		return nil
	}
	limit := "limit " + quantity.OptionalValue(p.Max, "")
	if p.Max != nil && *p.Max == 0 {
		limit = "no limit"
	}
	return page.Under("Connection pool", paragraph("in use %s (most %s), open %s, %s; waits for a connection %s, %s per transaction, %s per transaction, %s each",
		quantity.OptionalValue(p.InUse, ""), quantity.OptionalValue(p.InUseMax, ""), quantity.OptionalValue(p.Open, ""), limit,
		quantity.Optional(p.WaitsPerSecond, "1/s"), quantity.OptionalValue(p.WaitsPerTransaction, ""), quantity.Optional(p.WaitMsPerTransaction, "ms"), quantity.Optional(p.MsPerWait, "ms")))
}
