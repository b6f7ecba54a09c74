package search

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// sentence is the result in words. What is not known it does not name.
func (d *Document) sentence() string {
	trials := fmt.Sprintf("(%d trials)", len(d.Probes))
	if len(d.Probes) == 1 {
		trials = "(1 trial)"
	}
	switch {
	case d.State == Interrupted || d.State == Failed:
		return fmt.Sprintf("%s before its end: highest rate within the SLOs so far: %s %s", d.State, d.between(), trials)
	case d.end == AtMax:
		return fmt.Sprintf("highest rate within the SLOs: at least %s, the most that was to be tried %s", d.rate(*d.Lower), trials)
	case d.end == Missed:
		return fmt.Sprintf("no rate within the SLOs: they are missed already at %s, %.3g %% of the first load %s",
			d.rate(*d.Upper), 100**d.Upper/d.Range.From, trials)
	case d.end == Generator && d.Lower == nil:
		return fmt.Sprintf("the generator's limit is below %s, the system's is not known %s", d.rate(*d.GeneratorAt), trials)
	case d.end == Generator:
		return fmt.Sprintf("the generator's limit is between %s and %s, the system's is not known: it holds its SLOs at %s %s",
			number(*d.Lower), d.rate(*d.GeneratorAt), d.rate(*d.Lower), trials)
	case d.end == Undetermined:
		return fmt.Sprintf("the trials do not decide: highest rate within the SLOs: %s %s", d.between(), trials)
	case d.end == Invalid:
		return fmt.Sprintf("trials may not be judged; highest rate within the SLOs so far: %s %s", d.between(), trials)
	}
	return fmt.Sprintf("highest rate within the SLOs: %s %s", d.between(), trials)
}

// between is the bracket as far as it is known.
func (d *Document) between() string {
	switch {
	case d.Lower != nil && d.Upper != nil:
		return fmt.Sprintf("between %s and %s", number(*d.Lower), d.rate(*d.Upper))
	case d.Lower != nil:
		return "at least " + d.rate(*d.Lower)
	case d.Upper != nil:
		return "less than " + d.rate(*d.Upper)
	}
	return "not known"
}

func (d *Document) rate(v float64) string { return number(v) + " " + d.Unit }

// Bracket is what is known so far, in words.
func (d Document) Bracket() string { return d.between() }

// Text is the decisive condition with what was seen of it.
func (d *Decisive) Text() string {
	switch {
	case d == nil:
		return ""
	case d.Detail != "":
		return d.Name + ": " + d.Detail
	case d.Observed == nil:
		return d.Name
	}
	v, unit := *d.Observed, " "+d.Unit
	switch d.Unit {
	case "share":
		v, unit = 100*v, " %"
	case "count":
		unit = ""
	}
	return fmt.Sprintf("%s, %.4g%s observed", d.Name, v, unit)
}

// Summary tells the result on a terminal, and where it is kept. Its last line is
// the command that would certify the rate, where one was found.
func Summary(w io.Writer, d Document, path string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", d.Profile, d.Sentence)
	if d.Decisive != nil {
		fmt.Fprintf(&b, "at %s missed: %s\n", d.rate(*d.Upper), d.Decisive.Text())
	}
	for _, note := range d.notes() {
		fmt.Fprintf(&b, "%s\n", note)
	}
	if len(d.Loads) > 0 {
		b.WriteString("\n")
		d.table(&b)
	}
	fmt.Fprintf(&b, "\n  %s\n\nA search certifies nothing: its rates were chosen by how they came out.", path)
	if d.Confirm == "" {
		b.WriteString("\n")
	} else {
		fmt.Fprintf(&b, " Confirm the\nlower bound by a run of its own:\n%s\n", d.Confirm)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// notes are what a reader of the bracket must know beside it.
func (d Document) notes() (all []string) {
	last := func(r ...Result) {
		for i := len(d.Probes) - 1; i >= 0; i-- {
			p := d.Probes[i]
			for _, is := range r {
				if p.Result == is {
					all = append(all, fmt.Sprintf("at %s: %s", d.rate(p.Rate), p.Claim))
					return
				}
			}
		}
	}
	switch d.end {
	case Generator:
		last(Starved, Refused)
		hint := "hint: more workers (--workers), more CPUs, or nothing else beside the generator"
		if d.Lower == nil {
			hint += "; or begin lower: --from"
		}
		all = append(all, hint)
	case Invalid:
		last(Void)
	case Undetermined:
		last(Unclear)
		all = append(all, "hint: longer trials decide more: --trial")
	}
	for _, rate := range d.Contradicting {
		all = append(all, fmt.Sprintf("%s contradicts these bounds: see its line", d.rate(rate)))
	}
	return all
}

var classTexts = map[Class]string{
	Open: "open", Lower: "holds", Upper: "missed", Undecided: "undecided", Unmade: "generator's limit", Unjudged: "not judged",
}

func (d Document) table(b *strings.Builder) {
	var text strings.Builder
	t := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "%s\tSLOs\tgood\tbad\tunclear\tnot judged\texceed ratio\n", d.Unit)
	for _, l := range d.Loads {
		ratio := fmt.Sprintf("%.2f", l.Optimistic)
		if l.Pessimistic > l.Optimistic {
			ratio += fmt.Sprintf(" to %.2f", l.Pessimistic)
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%d\t%d\t%s\n", number(l.Rate), classTexts[l.Class], l.Good, l.Bad, l.Unclear, l.NotJudged, ratio)
	}
	_ = t.Flush() // into memory
	for line := range strings.Lines(text.String()) {
		b.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
}
