// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"slices"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/judge/page"
	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/quantity"
	"assay.dev/assay/internal/spec"
)

// Faults lists the faults that the run injected, and how the system got over them; nil: none.
func Faults(c certificate.Certificate) page.Block {
	t := page.Table{Columns: slices.Concat(page.Names("fault"), page.Words("at"), page.Numbers("first success", "recovered", "arrived", "not completed"))}
	for _, f := range c.Faults {
		name := f.Fault
		if f.End {
			name = "end of " + name
		}
		name = spec.NameOf(f.Flow, name)
		t.Rows = append(t.Rows, page.Cells(name, f.At.UTC().Format("15:04:05"), after(f.FirstSuccessMs), after(f.RecoveryMs), quantity.Count(f.Scheduled), quantity.Count(f.NotCompleted)))
	}
	return listed("Faults", t, note("Times since the fault or its end, known to a second. First success: a transaction ended as completed. Recovered: those that arrived from then on kept the SLOs, until the next fault or the end, so that the first success may be later. Arrived and not completed: transactions until then."))
}

// loadChanges lists the overloads and steps in load, and how fast the system got over them.
func loadChanges(c certificate.Certificate) page.Block {
	t := page.Table{Columns: slices.Concat(page.Names("change in load"), page.Words("at"), page.Numbers("settled", "arrived", "not completed")), Limit: maxRows}
	for _, l := range c.LoadChanges {
		name := spec.NameOf(l.Flow, fmt.Sprintf("%s, %s", l.Change, quantity.Format(l.Rate, "1/s")))
		t.Rows = append(t.Rows, page.Cells(name, l.At.UTC().Format("15:04:05"), after(l.SettledMs), quantity.Count(l.Scheduled), quantity.Count(l.NotCompleted)))
	}
	return listed("Changes in load", t, note("Settled: time from the end of the overload, or from the step, until those that arrived kept the latency SLOs for good (until the load rose or ended), known to a second. Arrived and not completed: transactions until then, those of the second itself included."))
}

// flows lists the flows of the profile, with the verdict on each.
func flows(c certificate.Certificate) page.Block {
	t := page.Table{
		Columns: slices.Concat(page.Names("flow"), page.Words("verdict", "rate"), page.Numbers("judged", "completed/scheduled", "p50", "p95", "p99", "max")), Limit: maxRows,
	}
	for _, f := range c.Flows {
		l := f.Latency[verdict.TransactionName]
		row := page.Cells(f.Name, f.Verdict, f.Rate.String(), fmt.Sprintf("%d s", f.Window.Seconds), quantity.Count(f.Rate.Completed)+"/"+quantity.Count(f.Rate.Scheduled),
			quantity.OptionalValue(l.P50, "ms"), quantity.OptionalValue(l.P95, "ms"), quantity.OptionalValue(l.P99, "ms"), quantity.OptionalValue(l.Max, "ms"))
		row[1].State = page.VerdictState(f.Verdict)
		t.Rows = append(t.Rows, row)
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return page.Section{ID: "flows", Heading: "Flows, ms", Blocks: []page.Block{t}}
}

// after is a time in seconds, which is known to lie between two values.
func after(b certificate.Between) string {
	switch {
	case b.Least == nil:
		return quantity.NoData
	case b.Most == nil:
		return "not within " + quantity.Format(*b.Least/1000, "s")
	case *b.Most == 0:
		return "at once"
	}
	return quantity.Range(new(*b.Least/1000), new(*b.Most/1000), "") + " s"
}

// invariants lists the invariants of the database.
func invariants(c certificate.Certificate) page.Block {
	t := page.Table{Columns: slices.Concat(page.Names("invariant"), []page.Column{{Name: "after the load", Kind: page.Prose}}), Limit: maxRows}
	for _, i := range c.Invariants {
		text := "holds"
		switch {
		case i.Rows == nil:
			text = "not checked: " + i.Error
		case *i.Rows > 0:
			text = fmt.Sprintf("violated by %d rows", *i.Rows)
		}
		t.Rows = append(t.Rows, page.Cells(i.Name, text))
	}
	return listed("Invariants", t)
}
