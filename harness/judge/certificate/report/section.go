package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"assay/harness/judge/certificate"
	"assay/harness/judge/internal/plain"
)

// Markdown and HTML show the same sections, each escaped its own way. They are
// bounded: a script may send thousands of names, and texts without end.
const (
	mostRows  = 50
	mostCell  = 160  // characters
	mostPoint = 600  // of an item of a list
	mostClaim = 1200 // of the claim
)

// section is a heading and what stands below it: facts, a table, or a list.
type section struct {
	ID      string // of the HTML element
	Heading string
	Note    string // before the rest, or in its place
	Columns []column
	Rows    [][]cell
	Points  []string
	More    int // rows or points that were left out
}

// first are the first rows of many, and how many more there are.
func first[T any](all []T) ([]T, int) {
	return all[:min(len(all), mostRows)], max(0, len(all)-mostRows)
}

type column struct {
	Name  string
	Right bool // numbers
}

type cell struct {
	Text    string
	Verdict bool // the text is a verdict, to be painted
	Right   bool
	Bars    *bars // drawn in the place of the text, where there is a page to draw on
}

// bounded cuts each text to what may be shown.
func (s section) bounded() section {
	s.Note = shorten(oneLine(s.Note), mostClaim)
	s.Points = slices.Clone(s.Points)
	for i, p := range s.Points {
		s.Points[i] = shorten(oneLine(p), mostPoint)
	}
	for _, row := range s.Rows {
		for i := range row {
			row[i].Text = shorten(oneLine(row[i].Text), mostCell)
			if i < len(s.Columns) {
				row[i].Right = s.Columns[i].Right
			}
		}
	}
	return s
}

// withoutBars is the section without the column that is drawn.
func (s section) withoutBars() section {
	drawn := slices.IndexFunc(s.Columns, func(c column) bool { return c.Name == "" })
	if drawn < 0 {
		return s
	}
	s.Columns = slices.Delete(slices.Clone(s.Columns), drawn, drawn+1)
	rows := make([][]cell, 0, len(s.Rows))
	for _, row := range s.Rows {
		rows = append(rows, slices.Delete(slices.Clone(row), drawn, drawn+1))
	}
	s.Rows = rows
	return s
}

// oneLine is a text as one line of what can be printed.
func oneLine(s string) string { return plain.Clean(strings.Join(strings.Fields(s), " ")) }

// asked is the load and the scope, and whether other thresholds than the run's
// have judged it.
func asked(c certificate.Certificate) string {
	rate := plain.Number(&c.Rate.Target)
	if c.Rate.Lowest < c.Rate.Target {
		rate = plain.Number(&c.Rate.Lowest) + " to " + rate
	}
	text := fmt.Sprintf("%s %s for %d s, %s scope", rate, c.Rate.Unit, c.Window.Seconds, c.Scope)
	if c.Rejudged != nil {
		text += ", re-judged"
	}
	return text
}

func title(c certificate.Certificate) string {
	text := c.Profile + ", " + asked(c)
	return shorten(oneLine(text), mostCell)
}

func claim(c certificate.Certificate) string { return shorten(oneLine(c.Claim), mostClaim) }

func headings(names ...string) (all []column) {
	for _, n := range names {
		name, right := strings.CutPrefix(n, ">")
		all = append(all, column{name, right})
	}
	return all
}

func texts(all ...string) (row []cell) {
	for _, t := range all {
		row = append(row, cell{Text: t})
	}
	return row
}

func sloSection(c certificate.Certificate) section {
	s := section{ID: "slos", Heading: "SLOs", Columns: headings("SLO", "verdict", "basis", ">observed", ">violations/samples")}
	rows := slices.Clone(c.SLOs)
	if len(rows) > mostRows { // the broken ones must not be those left out
		slices.SortStableFunc(rows, func(a, b certificate.SLO) int { return cmp.Compare(passed(a.Verdict), passed(b.Verdict)) })
	}
	rows, s.More = first(rows)
	estimated := hasIntervals(rows)
	if estimated {
		s.Columns = slices.Insert(s.Columns, 4, headings(">interval")...)
	}
	for _, o := range rows {
		row := texts(o.Metric+" "+o.Expression, o.Verdict, basis(o), measured(o.Observed, o.Unit), count(o))
		if estimated {
			row = slices.Insert(row, 4, texts(cmp.Or(interval(o), "-"))...)
		}
		row[1].Verdict = true
		s.Rows = append(s.Rows, row)
	}
	return s.bounded()
}

// brokenSection lists the rules under which the run may not pass, with what to
// do about each.
func brokenSection(c certificate.Certificate) section {
	s := section{ID: "broken", Heading: "Rules that are broken"}
	rules, broken := notHolding(c.Rules)
	switch {
	case len(rules) == 0:
		s.Note = fmt.Sprintf("None: all %d hold.", len(c.Rules))
	case broken == 0:
		s.Heading = "Rules that are undecided"
	case broken < len(rules):
		s.Heading = "Rules that are broken or undecided"
	}
	rules, s.More = first(rules)
	for _, r := range rules {
		s.Points = append(s.Points, fmt.Sprintf("%s (%s): %s. %s", r.ID, r.Verdict, r.Detail, r.Advice))
	}
	return s.bounded()
}

// limitedSection lists the rules that hold with something to know.
func limitedSection(c certificate.Certificate) section {
	s := section{ID: "limited", Heading: "Rules with a limitation"}
	rules, more := first(limited(c.Rules))
	for _, r := range rules {
		s.Points = append(s.Points, fmt.Sprintf("%s: %s. %s", r.ID, r.Detail, r.Advice))
	}
	if s.More = more; len(rules) == 0 {
		s.Note = "None."
	}
	return s.bounded()
}

// notHolding are the rules that do not hold: those that are broken, of which
// there are so many, then those that are undecided.
func notHolding(rules []certificate.Rule) (all []certificate.Rule, broken int) {
	var undecided []certificate.Rule
	for _, r := range rules {
		switch r.Verdict {
		case "PASS", certificate.Limitation:
		case "INCONCLUSIVE":
			undecided = append(undecided, r)
		default:
			all = append(all, r)
		}
	}
	return append(all, undecided...), len(all)
}

// limited are the rules that hold with a limitation.
func limited(rules []certificate.Rule) (all []certificate.Rule) {
	for _, r := range rules {
		if r.Verdict == certificate.Limitation {
			all = append(all, r)
		}
	}
	return all
}

// rulesSection holds every rule of validity.
func rulesSection(c certificate.Certificate) section {
	s := section{ID: "rules", Heading: "All rules of validity", Columns: headings("rule", "verdict", ">observed", ">limit", "detail")}
	rules, more := first(c.Rules)
	s.More = more
	for _, r := range rules {
		row := texts(r.ID, r.Verdict, measured(r.Observed, r.Unit), measured(r.Limit, r.Unit), r.Detail)
		row[1].Verdict = true
		s.Rows = append(s.Rows, row)
	}
	return s.bounded()
}

func latencySection(c certificate.Certificate) section {
	o := c.Outcomes
	s := section{
		ID: "latency", Heading: "Latency",
		Note: fmt.Sprintf("In ms, over the judged windows. Transactions: completed %s, failed %s, timed out %s, dropped %s of %s scheduled; %s/s achieved.",
			whole(o.Completed), whole(o.Failed), whole(o.TimedOut), whole(o.Dropped), whole(c.Rate.Scheduled), plain.Number(c.Rate.Achieved)),
		Columns: headings("of", ">count", ">p50", ">p90", ">p95", ">p99", ">p99.9", ">max", ">mean"),
	}
	names := slices.SortedFunc(maps.Keys(c.Latency), func(a, b string) int {
		return cmp.Or(cmp.Compare(endpoint(a), endpoint(b)), cmp.Compare(a, b))
	})
	names, s.More = first(names)
	for _, name := range names {
		l := c.Latency[name]
		s.Rows = append(s.Rows, texts(name, whole(&l.Count), plain.Number(l.P50), plain.Number(l.P90), plain.Number(l.P95), plain.Number(l.P99), plain.Number(l.P999), plain.Number(l.Max), plain.Number(l.Mean)))
	}
	return s.bounded()
}

// endpoint sorts the transaction before the requests it is made of.
func endpoint(name string) int {
	if name == "transaction" {
		return 0
	}
	return 1
}

func waitsSection(c certificate.Certificate) section {
	s := section{ID: "waits", Heading: "What the database's sessions did"}
	switch {
	case c.Waits == nil:
		s.Note = "No data: the database was not sampled."
	case len(c.Waits) == 0:
		s.Note = "No session was seen active."
	default:
		s.Columns = headings("class", "event", ">sessions", ">share", ">ms/transaction", ">at baseline", ">samples")
	}
	waits, more := first(c.Waits)
	s.More = more
	for _, w := range waits {
		class := w.Class
		if w.Inferred {
			class += " (inferred)"
		}
		s.Rows = append(s.Rows, texts(class, w.Event, plain.Number(&w.AAS), measured(&w.Share, "share"),
			plain.Number(w.MsPerTransaction), plain.Number(w.BaselineMsPerTransaction), whole(&w.Samples)))
	}
	return s.bounded()
}

func ledgerSection(c certificate.Certificate) section {
	s := section{ID: "ledger", Heading: "Ledger"}
	l := c.Ledger
	if l == nil {
		s.Note = "Acknowledged and persisted transactions were not compared."
		return s
	}
	s.Columns = headings(">acknowledged", ">persisted", ">missing", ">duplicated", ">unacknowledged", ">persist lag p99", ">max")
	s.Rows = [][]cell{texts(whole(&l.Acknowledged), whole(&l.Persisted), whole(&l.Missing), whole(&l.Duplicated), whole(&l.Unacknowledged),
		measured(l.PersistLagMs.P99, "ms"), measured(l.PersistLagMs.Max, "ms"))}
	return s.bounded()
}

func limitationsSection(c certificate.Certificate) section {
	s := section{ID: "limitations", Heading: "Limitations"}
	s.Points, s.More = first(c.Limitations)
	if len(s.Points) == 0 {
		s.Note = "None."
	}
	return s.bounded()
}
