package search

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"assay.dev/assay/internal/judge/page"
	"assay.dev/assay/internal/quantity"
)

// sentence is the result in words: the known bounds, then why they are not narrower.
func (d *Document) sentence() string {
	trials := fmt.Sprintf("(%d trials)", len(d.Probes))
	if len(d.Probes) == 1 {
		trials = "(1 trial)"
	}
	switch {
	case d.State == Interrupted || d.State == Failed:
		return fmt.Sprintf("%s: highest rate within the SLOs so far: %s %s", d.State, d.between(), trials)
	case d.State == Missed:
		return fmt.Sprintf("no rate within the SLOs: missed even at %s, %s of the first load %s",
			d.rate(*d.Upper), quantity.Value(100**d.Upper/d.Range.From, "")+" %", trials)
	}
	return fmt.Sprintf("highest rate within the SLOs: %s%s %s", d.between(), d.reason(), trials)
}

// reason is why the bounds are not narrower; empty if they are as narrow as the goal.
func (d *Document) reason() string {
	switch d.State {
	case AtMax:
		return ", the highest rate to try"
	case Generator:
		return fmt.Sprintf("; the generator cannot offer %s", d.rate(*d.GeneratorAt))
	case Undecided:
		if d.Upper == nil && d.GeneratorAt != nil {
			return fmt.Sprintf("; the generator cannot offer %s", d.rate(*d.GeneratorAt))
		}
	case Invalid:
		for _, l := range d.Loads {
			if l.Class == Unjudged {
				return fmt.Sprintf("; trials at %s are INVALID", d.rate(l.Rate))
			}
		}
	}
	return ""
}

func (d *Document) between() string {
	undecided := ""
	if d.Undecided != nil {
		undecided = ", " + d.undecided()
	}
	switch {
	case d.Lower != nil && d.Upper != nil:
		return fmt.Sprintf("between %s and %s", quantity.Exact(*d.Lower), d.rate(*d.Upper)) + undecided
	case d.Lower != nil:
		return "at least " + d.rate(*d.Lower) + undecided
	case d.Upper != nil:
		return "less than " + d.rate(*d.Upper) + undecided
	}
	return "not known" + undecided
}

func (d *Document) undecided() string {
	if z := *d.Undecided; z.From < z.To {
		return fmt.Sprintf("undecided from %s to %s", quantity.Exact(z.From), d.rate(z.To))
	}
	return "undecided at " + d.rate(d.Undecided.To)
}

func (d *Document) rate(v float64) string { return quantity.Exact(v) + " " + d.Unit }

// Text is the decisive condition with its observed value.
func (d *Decisive) Text() string {
	switch {
	case d == nil:
		return ""
	case d.Detail != "":
		return d.Name + ": " + d.Detail
	case d.Observed == nil:
		return d.Name
	}
	observed := quantity.Format(*d.Observed, d.Unit)
	if d.Limit != nil {
		observed = quantity.Near(*d.Observed, *d.Limit, d.Unit)
	}
	return fmt.Sprintf("%s, %s observed", d.Name, observed)
}

// Summary writes the result for a terminal, with the path of search.json. The last
// line is the command that would certify the lower bound, if there is one.
func Summary(w io.Writer, d Document, path string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", d.Profile, d.Sentence)
	if d.Upper != nil {
		fmt.Fprintf(&b, "at %s missed: %s\n", d.rate(*d.Upper), cmp.Or(d.Decisive.Text(), "no reason recorded"))
	}
	if d.Undecided != nil {
		fmt.Fprintf(&b, "%s: %s\n", d.undecided(), d.whyUndecided())
	}
	for _, note := range d.notes() {
		fmt.Fprintln(&b, page.Message(note))
	}
	if len(d.Loads) > 0 {
		b.Write(page.Terminal(page.Page{Blocks: []page.Block{d.table()}}, page.Columns, false))
	}
	fmt.Fprintf(&b, "\n  %s\n\nA search certifies nothing: it chose its rates by their results.", path)
	if d.Confirm == "" {
		b.WriteString("\n")
	} else {
		fmt.Fprintf(&b, " Confirm the lower\nbound in a separate run:\n%s\n", d.Confirm)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// whyUndecided says by how much the SLO that most of the undecided loads are close to is
// violated there.
func (d Document) whyUndecided() string {
	shares, most, why := map[string][]float64{}, "", "too few samples"
	for _, p := range d.Probes {
		by := p.Decisive
		if p.Rate < d.Undecided.From || p.Rate > d.Undecided.To || p.Result != Close || by == nil {
			continue
		}
		if why = by.Text(); by.Violations != nil && by.Allowed != nil && *by.Allowed > 0 {
			shares[by.Name] = append(shares[by.Name], float64(*by.Violations)/float64(*by.Allowed))
			if len(shares[by.Name]) > len(shares[most]) {
				most = by.Name
			}
		}
	}
	if most == "" {
		return why
	}
	least, highest := quantity.Format(slices.Min(shares[most]), "share"), quantity.Format(slices.Max(shares[most]), "share")
	if least != highest {
		least = strings.TrimSuffix(least, " %") + " to " + highest
	}
	return fmt.Sprintf("%s has %s of the violations that it allows", most, least)
}

// notes explain why the bounds are not narrower, and what to do.
func (d Document) notes() (all []string) {
	last := func(r ...Result) {
		for _, p := range slices.Backward(d.Probes) {
			if slices.Contains(r, p.Result) {
				all = append(all, fmt.Sprintf("at %s: %s", d.rate(p.Rate), p.Claim))
				return
			}
		}
	}
	switch d.State {
	case Generator:
		last(Starved, Refused)
		hint := "hint: add workers (--workers) or CPUs, or stop other processes on the generator's host"
		if d.Lower == nil {
			hint += "; or start lower: --from"
		}
		all = append(all, hint)
	case Invalid:
		last(Void)
	case Undecided:
		last(Scarce)
		all = append(all, "hint: make longer trials (--trial), or more at each rate, each twice as long as the one before (--trials)")
	}
	return all
}

var classTexts = map[Class]string{
	Open: "open", Lower: "held", Upper: "missed", TooClose: "undecided", TooShort: "too few samples", Unmade: "generator's limit", Unjudged: "not judged",
}

func (d Document) table() page.Table {
	t := page.Table{Columns: slices.Concat(page.Numbers(d.Unit), page.Words("SLOs"), page.Numbers("trials: clear", "close", "broken", "not judged"))}
	for _, l := range d.Loads {
		t.Rows = append(t.Rows, page.Cells(quantity.Exact(l.Rate), classTexts[l.Class],
			strconv.Itoa(l.Clear), strconv.Itoa(l.Close), strconv.Itoa(l.Broken), strconv.Itoa(l.Scarce+l.NotJudged)))
	}
	return t
}
