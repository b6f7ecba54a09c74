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

// Most rows of each part of a summary, so that it fits a terminal; what is
// left out is counted.
const (
	mostSLOs      = 10
	mostEndpoints = 4
	mostRules     = 4
	mostWaits     = 5
)

// indent is where the text beside a heading stands.
const indent = "             "

// Terminal is what people want to know first, at most 100 columns wide and
// readable without colour.
func Terminal(c certificate.Certificate, color bool) []byte {
	p := &page{color: color}
	p.head(c)
	p.slos(c.SLOs)
	p.latency(c)
	p.rules(c.Rules)
	p.why(c.Bottleneck)
	p.waits(c.Waits)
	p.ledger(c.Ledger)
	p.Notes("Limitations", c.Limitations)
	return []byte(p.String())
}

func (p *page) head(c certificate.Certificate) {
	p.Blank()
	word := spaced(c.Verdict)
	what := c.Profile + "  " + asked(c)
	p.Line("  ", p.paint(c.Verdict, word), "  ", plain.Clip(what, plain.Columns-4-plain.Width(word)))
	p.Blank()
	p.Wrap("  ", "  ", c.Claim)
	p.Blank()
	p.Line("  Target     ", plain.Clip(c.Environment.Target, plain.Columns-len(indent)))
	p.Wrap("  Signature  ", indent, signed(c))
	p.Blank()
}

func (p *page) slos(slos []certificate.SLO) {
	rows := slices.Clone(slos)
	if len(rows) > mostSLOs { // the broken ones must not be those left out
		slices.SortStableFunc(rows, func(a, b certificate.SLO) int { return cmp.Compare(passed(a.Verdict), passed(b.Verdict)) })
		rows = rows[:mostSLOs]
	}
	table := [][]string{{"SLO", "observed", "", "violations/samples", "basis", "verdict"}}
	if hasIntervals(rows) {
		table[0][2] = "interval"
	}
	for _, s := range rows {
		table = append(table, []string{s.Metric + "  " + s.Expression, measured(s.Observed, s.Unit), interval(s), count(s), basis(s), s.Verdict})
	}
	p.Table(table, func(row int, text string) string {
		if row == 0 {
			return text
		}
		return p.paint(text, text)
	})
	p.more(len(slos) - len(rows))
}

func passed(verdict string) int {
	if verdict == "PASS" {
		return 1
	}
	return 0
}

func (p *page) latency(c certificate.Certificate) {
	p.Blank()
	o := c.Outcomes
	p.Wrap("  Outcomes   ", indent, fmt.Sprintf("completed %s, failed %s, timed out %s, dropped %s of %s scheduled; %s/s achieved",
		whole(o.Completed), whole(o.Failed), whole(o.TimedOut), whole(o.Dropped), whole(c.Rate.Scheduled), plain.Number(c.Rate.Achieved)))
	const first = "transaction"
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(c.Latency)), func(n string) bool { return n == first })
	// The endpoints with most requests; their order stays that of the names.
	if len(names) > mostEndpoints {
		byCount := slices.Clone(names)
		slices.SortStableFunc(byCount, func(a, b string) int { return cmp.Compare(c.Latency[b].Count, c.Latency[a].Count) })
		names = slices.DeleteFunc(names, func(n string) bool { return !slices.Contains(byCount[:mostEndpoints], n) })
	}
	p.Line("  ", plain.Left("Latency, ms", 30), heads("p50", "p95", "p99", "p99.9", "max", "mean"))
	for _, name := range append([]string{first}, names...) {
		l := c.Latency[name]
		p.Line("  ", plain.Left("  "+name, 30),
			heads(plain.Number(l.P50), plain.Number(l.P95), plain.Number(l.P99), plain.Number(l.P999), plain.Number(l.Max), plain.Number(l.Mean)))
	}
	p.more(len(c.Latency) - 1 - len(names))
}

func heads(cells ...string) string {
	text := ""
	for _, c := range cells {
		text += plain.Right(c, 10)
	}
	return text
}

// rules shows those that are broken, then those that are undecided, with what to
// do.
func (p *page) rules(rules []certificate.Rule) {
	p.Blank()
	shown, broken := notHolding(rules)
	p.Line("  Rules      ", held(len(rules), broken, len(shown)-broken, len(limited(rules))))
	for i, r := range shown[:min(len(shown), mostRules)] {
		name := "    " + plain.Clip(r.ID, 40)
		if i >= broken {
			name += " (undecided)"
		}
		p.Wrap(name+": ", "      ", r.Detail+". "+r.Advice)
	}
	p.more(len(shown) - mostRules)
}

// held says how many rules hold.
func held(all, broken, undecided, limited int) string {
	are := func(n int) string {
		if n == 1 {
			return fmt.Sprintf("1 of %d is ", all)
		}
		return fmt.Sprintf("%d of %d are ", n, all)
	}
	switch {
	case broken > 0 && undecided > 0:
		return fmt.Sprintf("%sbroken, %d undecided", are(broken), undecided)
	case broken > 0:
		return are(broken) + "broken"
	case undecided > 0:
		return are(undecided) + "undecided"
	case limited > 0:
		return fmt.Sprintf("all %d hold, %d of them with a limitation", all, limited)
	}
	return fmt.Sprintf("all %d hold", all)
}

func (p *page) waits(waits []certificate.Wait) {
	switch {
	case waits == nil:
		p.Line("  Waits      no data")
		return
	case len(waits) == 0:
		p.Line("  Waits      no session was seen active")
		return
	}
	p.Line("  ", plain.Left("Waits", 50), plain.Right("sessions", 10), plain.Right("share", 9), plain.Right("ms/tx", 12), plain.Right("baseline", 12))
	for _, w := range waits[:min(len(waits), mostWaits)] {
		name := "  " + w.Class
		if !strings.EqualFold(w.Class, w.Event) {
			name += "  " + w.Event
		}
		if w.Inferred {
			name += " (inferred)"
		}
		share := w.Share * 100
		p.Line("  ", plain.Left(name, 50), plain.Right(plain.Number(&w.AAS), 10), plain.Right(plain.Number(&share)+" %", 9),
			plain.Right(plain.Number(w.MsPerTransaction), 12), plain.Right(plain.Number(w.BaselineMsPerTransaction), 12))
	}
	p.more(len(waits) - mostWaits)
}

func (p *page) ledger(l *certificate.Ledger) {
	if l == nil {
		p.Line("  Ledger     not compared")
		return
	}
	p.Wrap("  Ledger     ", indent, ledgerText(*l))
}
