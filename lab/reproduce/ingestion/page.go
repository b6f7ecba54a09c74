package ingestion

import (
	"fmt"
	"slices"
	"strings"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/judge/page"
	"assay.dev/assay/internal/quantity"
)

// Page is the page of the measurement.
func Page(d Document) page.Page {
	p := page.Page{Title: "Ingestion: modes of a service, at one rate", Blocks: []page.Block{highest(d)}}
	if len(d.Problems) > 0 {
		p.Blocks = append(p.Blocks, page.Under("Not measured", page.List{Items: d.Problems}))
	}
	if len(d.Modes) > 0 {
		p.Blocks = append(p.Blocks, requests(d.Modes), persistence(d.Modes), page.Under("Verdicts", claims(d.Modes)), page.Under("Modes", commands(d.Modes)))
	}
	return p
}

// highest says what the highest rate is, what limits it, and at which rate the modes ran.
func highest(d Document) page.Block {
	if d.Highest == nil {
		return page.Facts{{Name: "Rate", Text: quantity.Format(d.Rate, "") + "/s, as given; the highest was not searched for"}}
	}
	t := page.Table{Columns: slices.Concat(page.Names("CPUs used by"), page.Numbers("rate /s", "generator", "service", "database", "other work", "of CPUs"))}
	for _, row := range []struct {
		name string
		use  *Use
	}{{"at the highest rate", d.Reached}, {"beyond it", d.Exceeded}} {
		if u := row.use; u != nil {
			t.Rows = append(t.Rows, page.Cells(row.name, quantity.Format(u.Rate, ""), quantity.Optional(u.Generator, ""), quantity.Optional(u.Service, ""),
				quantity.Optional(u.Database, ""), quantity.Optional(u.other(), ""), quantity.Optional(u.CPUs, "")))
		}
	}
	return page.Under("Highest rate that generator, service and database reach together", page.Paragraph{Text: d.Highest.Sentence}, t,
		page.Paragraph{Text: limit(d)}, page.Paragraph{Text: bound(d), State: page.Quiet}, page.Paragraph{Text: chosen(d), State: page.Quiet})
}

// chosen says why the modes run at their rate.
func chosen(d Document) string {
	rate := quantity.Format(d.Rate, "")
	if d.Highest.Lower == nil {
		return fmt.Sprintf("The modes run at %s/s, the lowest rate that was tried.", rate)
	}
	return fmt.Sprintf("The modes run at %s/s, three quarters of the highest rate: at that rate itself other work on the host would make the generator late.", rate)
}

// bound is the rate at which the three parts would use all CPUs of the host.
func bound(d Document) string {
	u := d.Reached
	if u == nil || u.parts() == nil || *u.parts() == 0 || u.CPUs == nil {
		return "The CPU time of an event is not known."
	}
	const µs = 1e6
	return fmt.Sprintf("An event takes %s µs of CPU time in the three parts together. With nothing else on the host, its CPUs would be used up at about %s/s.",
		quantity.Format(µs**u.parts()/u.Rate, ""), quantity.Format(*u.CPUs/(*u.parts()/u.Rate), ""))
}

// limit names the part that limits the rate.
func limit(d Document) string {
	text := ""
	if by := d.Highest.Decisive; by != nil {
		text = "Beyond the highest rate: " + by.Text() + ". "
	}
	u := d.Exceeded
	if u == nil {
		u = d.Reached
	}
	if u == nil {
		u = &Use{}
	}
	largest, most := u.largest()
	other := u.other()
	switch {
	case largest == "" || other == nil:
		return text + "The CPU time of the parts is not known, and so not which of them limits the rate."
	case u.full() && *other > most:
		return text + "The host's CPUs are used up, mostly by other work, which limits the rate: measure again without it. Of the three parts, the " + largest + " uses most."
	case u.full():
		return text + "The host's CPUs are used up, mostly by the " + largest + ", which limits the rate."
	case d.Highest.GeneratorAt != nil:
		return text + "The generator did not offer more, although the host's CPUs were not used up."
	}
	return text + "The host's CPUs are not used up; of the three parts, the " + largest + " uses most."
}

// requests is the table of what clients see, and of the pool.
func requests(modes []Mode) page.Block {
	t := page.Table{Columns: slices.Concat(
		page.Names("mode"), page.Numbers("rate /s", "completed", "p95 ms", "pool waits /tx", "wait ms/tx"), page.Words("verdict", "bottleneck"),
		[]page.Column{{Name: "errors", Kind: page.Prose}},
	)}
	for _, m := range modes {
		c := m.Certificate
		var waits, wait *float64
		if c.Pool != nil {
			waits, wait = c.Pool.WaitsPerTransaction, c.Pool.WaitMsPerTransaction
		}
		bottleneck := quantity.NoData
		if c.Bottleneck != nil {
			bottleneck = c.Bottleneck.Component
		}
		row := page.Cells(m.Name, quantity.Format(c.Rate.Target, ""), quantity.Optional(completed(c), "share"), quantity.OptionalValue(c.Latency["transaction"].P95, "ms"),
			quantity.Optional(waits, ""), quantity.OptionalValue(wait, "ms"), c.Verdict, bottleneck, errorsOf(c))
		row[6].State = page.VerdictState(c.Verdict)
		t.Rows = append(t.Rows, row)
	}
	return page.Under("What clients see", t)
}

// persistence is the table of what became of the events.
func persistence(modes []Mode) page.Block {
	t := page.Table{Columns: slices.Concat(page.Names("mode"), page.Numbers("persist lag p50 ms", "p99", "max", "acknowledged", "persisted", "missing", "duplicated"))}
	for _, m := range modes {
		row := page.Cells(m.Name, quantity.NoData, quantity.NoData, quantity.NoData, quantity.NoData, quantity.NoData, quantity.NoData, quantity.NoData)
		if l := m.Certificate.Ledger; l != nil {
			lag := l.PersistLagMs
			row = page.Cells(m.Name, quantity.OptionalValue(lag.P50, "ms"), quantity.OptionalValue(lag.P99, "ms"), quantity.OptionalValue(lag.Max, "ms"),
				fmt.Sprint(l.Acknowledged), fmt.Sprint(l.Persisted), fmt.Sprint(l.Missing), fmt.Sprint(l.Duplicated))
		}
		t.Rows = append(t.Rows, row)
	}
	return page.Under("What is stored", t)
}

// claims are the verdicts in words, with the diagnosis where they are not PASS.
func claims(modes []Mode) page.Block {
	var all page.Facts
	for _, m := range modes {
		text := m.Certificate.Verdict + ": " + m.Certificate.Claim
		if b := m.Certificate.Bottleneck; b != nil && m.Certificate.Verdict != "PASS" {
			text += " " + b.Sentence
		}
		all = append(all, page.Fact{Name: m.Name, Text: text})
	}
	return all
}

// commands are those that start the service.
func commands(modes []Mode) page.Block {
	var all page.Facts
	for _, m := range modes {
		all = append(all, page.Fact{Name: m.Name, Text: "assay-lab target " + strings.Join(m.Args, " ")})
	}
	return all
}

// completed is the share of the scheduled transactions.
func completed(c certificate.Certificate) *float64 {
	if c.Rate.Scheduled == nil || c.Rate.Completed == nil || *c.Rate.Scheduled == 0 {
		return nil
	}
	share := float64(*c.Rate.Completed) / float64(*c.Rate.Scheduled)
	return &share
}

// errorsOf are the classes with their counts, by who noticed them.
func errorsOf(c certificate.Certificate) string {
	if c.Errors == nil {
		return quantity.NoData
	}
	if len(c.Errors) == 0 {
		return "none"
	}
	var all []string
	for _, e := range c.Errors {
		all = append(all, fmt.Sprintf("%s: %s %d", e.Where, e.Class, e.Count))
	}
	return strings.Join(all, ", ")
}
