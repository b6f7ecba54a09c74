package report

import (
	"fmt"
	"slices"

	"assay/harness/judge/certificate"
	"assay/harness/judge/page"
	"assay/harness/quantity"
)

// Faults lists the faults that the run injected, and how the system got over them.
func Faults(c certificate.Certificate) []page.Block {
	if len(c.Faults) == 0 {
		return nil
	}
	t := page.Table{Columns: slices.Concat(page.Names("fault"), page.Words("at"), page.Numbers("first success", "recovered", "arrived", "not completed"))}
	for _, f := range c.Faults {
		name := f.Fault
		if f.End {
			name = "end of " + name
		}
		t.Rows = append(t.Rows, page.Cells(name, f.At.UTC().Format("15:04:05"), after(f.FirstSuccessMs), after(f.RecoveryMs), quantity.Count(f.Scheduled), quantity.Count(f.NotCompleted)))
	}
	return []page.Block{section("Faults", t, note("Times since the fault or its end, known to a second. First success: a transaction ended as completed. Recovered: those that arrived from then on kept the SLOs for 5 s, so that the first success may be later. Arrived and not completed: transactions until then."))}
}

// after is a time in seconds, which is known to lie between two values.
func after(b certificate.Between) string {
	switch {
	case b.Least == nil:
		return quantity.NoData
	case b.Most == nil:
		return "not within " + quantity.Format(*b.Least/1000, "s")
	}
	return quantity.Range(new(*b.Least/1000), new(*b.Most/1000), "") + " s"
}

// invariants lists the invariants of the database.
func invariants(c certificate.Certificate) []page.Block {
	if len(c.Invariants) == 0 {
		return nil
	}
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
	return []page.Block{section("Invariants", t)}
}
