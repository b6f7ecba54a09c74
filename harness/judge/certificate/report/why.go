package report

import (
	"fmt"
	"math"
	"strings"

	"assay/harness/judge/certificate"
	"assay/harness/judge/internal/plain"
)

// bottleneckSection is what made the run miss its SLOs, and what would confirm it.
func bottleneckSection(c certificate.Certificate) section {
	s := section{ID: "bottleneck", Heading: "Bottleneck"}
	b := c.Bottleneck
	if b == nil {
		s.Note = "Not examined: no transaction ran in the judged windows."
		return s
	}
	s.Note = fmt.Sprintf("%s. %s", named(*b), b.Sentence)
	s.Points, s.More = first(b.Evidence)
	if len(b.Confirm) > 0 {
		s.Points = append(s.Points, "To confirm it: "+confirming(b.Confirm))
	}
	if b.Remedy != "" {
		s.Points = append(s.Points, "Remedy: "+b.Remedy)
	}
	return s.bounded()
}

// confirming is the command that shows whether the bottleneck is what it seems, by
// the experiments that every project has.
func confirming(experiments []string) string {
	command := "assay experiment scenarios/experiments/" + experiments[0] + ".json"
	if others := experiments[1:]; len(others) > 0 {
		command += "; or, of that folder, " + strings.Join(others, ", or ")
	}
	return command
}

// bars are two lengths of 0 to 100, one above the other.
type bars struct{ Judged, Baseline float64 }

// splitSection is a transaction's time by component.
func splitSection(c certificate.Certificate) section {
	s := section{ID: "split", Heading: "A transaction's time"}
	if c.Split == nil {
		s.Note = "No data."
		return s.bounded()
	}
	s.Note = "Mean time by component, in ms: in the judged windows (upper bar) and at the baseline (lower bar), and the difference with a 95 % interval. What was measured at different places need not add up: the residual is what is left."
	s.Columns = headings("component", ">judged", ">baseline", ">difference", ">interval", "")
	longest := 0.0
	for _, part := range c.Split {
		longest = max(longest, zeroed(part.MsPerTransaction), zeroed(part.BaselineMsPerTransaction))
	}
	split, more := first(c.Split)
	s.More = more
	for _, part := range split {
		row := texts(part.Component, plain.Number(part.MsPerTransaction), plain.Number(part.BaselineMsPerTransaction), "", "", "")
		if part.MsPerTransaction != nil && part.BaselineMsPerTransaction != nil {
			change := *part.MsPerTransaction - *part.BaselineMsPerTransaction
			row[3].Text = plain.Number(&change)
		}
		if part.Lower != nil && part.Upper != nil {
			row[4].Text = plain.Number(part.Lower) + " to " + plain.Number(part.Upper)
		}
		if longest > 0 {
			length := func(ms *float64) float64 { return math.Round(1000*max(0, zeroed(ms))/longest) / 10 }
			row[5].Bars = &bars{length(part.MsPerTransaction), length(part.BaselineMsPerTransaction)}
		}
		s.Rows = append(s.Rows, row)
	}
	return s.bounded()
}

func zeroed(v *float64) float64 {
	if v == nil || math.IsNaN(*v) || math.IsInf(*v, 0) {
		return 0
	}
	return *v
}

func statementsSection(c certificate.Certificate) section {
	s := section{ID: "statements", Heading: "Statements"}
	if c.Statements == nil {
		s.Note = "No data: the database told of no statements."
		return s.bounded()
	}
	s.Note = "Those that took most of the database's time. A statement's time does not hold the wait for a connection before it."
	s.Columns = headings("statement", ">calls/transaction", ">share", ">ms/call", ">rows examined/call", "mostly in")
	all, more := first(c.Statements)
	s.More = more
	for _, st := range all {
		mostly := ""
		if st.Event != "" {
			mostly = fmt.Sprintf("%s %s (%s)", st.Class, st.Event, measured(&st.WaitShare, "share"))
		}
		s.Rows = append(s.Rows, texts(st.Text, plain.Number(st.CallsPerTransaction), measured(&st.Share, "share"),
			plain.Number(st.MsPerCall), plain.Number(st.RowsPerCall), mostly))
	}
	return s.bounded()
}

func resourcesSection(c certificate.Certificate) section {
	s := section{ID: "resources", Heading: "Cost of a transaction"}
	if len(c.Resources) == 0 {
		s.Note = "No data."
		return s.bounded()
	}
	s.Columns = headings("resource", "unit", ">judged", ">baseline")
	for _, r := range c.Resources {
		unit, _, _ := strings.Cut(r.Unit, "/")
		if unit == "1" {
			unit = ""
		}
		s.Rows = append(s.Rows, texts(r.Name, unit, plain.Number(r.PerTransaction), plain.Number(r.BaselinePerTransaction)))
	}
	return s.bounded()
}
