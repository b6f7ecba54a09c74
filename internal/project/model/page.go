package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"assay.dev/assay/internal/judge/page"
	"assay.dev/assay/internal/quantity"
)

// shownEndpoints is how many of them the page lists; the document has all.
const shownEndpoints = 20

// Page shows a proposed profile to people.
func Page(d Document) page.Page {
	blocks := []page.Block{facts(d)}
	if len(d.Inputs) > 1 {
		blocks = append(blocks, page.Under("Logs", inputsTable(d)))
	}
	return page.Page{
		Title: fmt.Sprintf("%s: a profile from %d requests", d.Profile, d.Requests), Source: "model.json", Blocks: append(
			blocks,
			page.Under("Flows", flowsTable(d)),
			page.Under("Stages", stagesTable(d)),
			page.Under("Endpoints", endpointsTable(d)),
			page.Under("Notes", page.List{Items: d.Notes}),
		),
	}
}

func facts(d Document) page.Facts {
	window := fmt.Sprintf("%s to %s, %s", d.Window.Start, d.Window.End, length(d.Window.Seconds))
	if n := len(d.Window.Gaps); n > 0 {
		missing := int64(0)
		for _, g := range d.Window.Gaps {
			missing += g.Seconds
		}
		window += fmt.Sprintf(" without %d gaps of %s", n, length(missing))
	}
	all := page.Facts{
		{Name: "Window", Text: window},
		{Name: "Rate", Text: fmt.Sprintf("mean %s; peak minute %s, %s times the mean, at %s; peak second %s", rate(d.Rates.Mean),
			rate(d.Rates.PeakMinute.Rate), quantity.Format(d.Rates.PeakToMean, "ratio"), clock(d.Rates.PeakMinute.Start), rate(d.Rates.PeakSecond.Rate))},
		{Name: "Dispersion", Text: dispersion(d.Rates.Dispersion) + " (variance / mean of requests per second within minutes; of Poisson arrivals: 1)"},
	}
	if d.Scale != 1 {
		all = append(all, page.Fact{Name: "Scale", Text: fmt.Sprintf("%g times the log's rates", d.Scale)})
	}
	if len(d.Inputs) == 1 {
		in := d.Inputs[0]
		all = append(all, page.Fact{Name: "Log", Text: fmt.Sprintf("%s: %d lines, %s", in.Format, in.Lines, used(in))})
	}
	return all
}

// used says how many lines were not used, and why, and where the requests' times come from.
func used(in Input) string {
	var reasons []string
	for _, reason := range slices.Sorted(maps.Keys(in.Skipped)) {
		reasons = append(reasons, fmt.Sprintf("%d with %s", in.Skipped[reason], reason))
	}
	text := "all used"
	if len(reasons) > 0 {
		text = "skipped " + strings.Join(reasons, ", ")
	}
	if in.Durations != "" {
		text += "; request times: " + in.Durations
	}
	return text
}

func inputsTable(d Document) page.Block {
	t := page.Table{Columns: append(page.Names("log"), append(page.Words("format", "from", "to"), append(page.Numbers("lines"), page.Column{Name: "skipped", Kind: page.Prose})...)...)}
	for _, in := range d.Inputs {
		t.Rows = append(t.Rows, page.Cells(in.Name, in.Format, clock(in.First), clock(in.Last), fmt.Sprint(in.Lines), used(in)))
	}
	return t
}

func flowsTable(d Document) page.Block {
	t := page.Table{Columns: append(page.Names("flow"), page.Numbers("share", "mean", "peak min", "x mean", "peak s", "dispersion", "errors", "p95 ms")...)}
	for _, f := range d.Flows {
		p95 := quantity.NoData
		if f.Latency != nil {
			p95 = quantity.Value(f.Latency.P95, "ms")
		}
		t.Rows = append(t.Rows, page.Cells(f.Name, quantity.Format(f.Share, "share"), rate(f.Rates.Mean), rate(f.Rates.PeakMinute.Rate), quantity.Format(f.Rates.PeakToMean, "ratio"),
			rate(f.Rates.PeakSecond.Rate), dispersion(f.Rates.Dispersion), quantity.Format(f.Errors, "share"), p95))
	}
	return t
}

func stagesTable(d Document) page.Block {
	t := page.Table{Columns: append(append(page.Words("from"), page.Numbers("in the log", "rate", "in the profile", "ramp", "for")...), page.Words("")...)}
	for _, s := range d.Stages {
		row := page.Cells(quantity.NoData, quantity.NoData, quantity.NoData, rate(s.Rate), length(s.Ramp), length(s.For), note(s))
		if s.Start != "" {
			row[0].Text, row[1].Text, row[2].Text = clock(s.Start), length(s.Seconds), rate(s.Measured)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func note(s Stage) string {
	text := "not judged"
	if s.Judge {
		text = "judged"
	}
	if s.Peak {
		text = "peak, " + text
	}
	return text
}

func endpointsTable(d Document) page.Block {
	t := page.Table{Columns: append(page.Names("endpoint"), page.Numbers("requests", "p50 ms", "p95 ms", "p99 ms", "keys", "top 1 %", "Zipf")...), Limit: shownEndpoints}
	for _, f := range d.Flows {
		for _, e := range f.Endpoints {
			row := page.Cells(e.Method+" "+e.Template, fmt.Sprint(e.Requests), quantity.NoData, quantity.NoData, quantity.NoData, "1", quantity.NoData, quantity.NoData)
			if l := e.Latency; l != nil {
				row[2].Text, row[3].Text, row[4].Text = quantity.Value(l.P50, "ms"), quantity.Value(l.P95, "ms"), quantity.Value(l.P99, "ms")
			}
			if k := e.Keys; k != nil {
				row[5].Text, row[6].Text, row[7].Text = fmt.Sprint(k.Distinct), quantity.Format(k.TopShare, "share"), quantity.Format(k.Exponent, "ratio")
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

func rate(v float64) string { return quantity.Format(v, "1/s") }

func dispersion(v *float64) string { return quantity.Optional(v, "ratio") }

func length(seconds int64) string { return (time.Duration(seconds) * time.Second).String() }

func clock(rfc3339 string) string {
	at, err := time.Parse(time.RFC3339, rfc3339)
	if err != nil {
		return quantity.NoData
	}
	return at.Format(time.TimeOnly)
}
