package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"assay/harness/judge/certificate"
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
	p.waits(c.Waits)
	p.ledger(c.Ledger)
	p.notes("Limitations", c.Limitations)
	return []byte(p.String())
}

func (p *page) head(c certificate.Certificate) {
	p.blank()
	word := spaced(c.Verdict)
	what := c.Profile + "  " + asked(c)
	p.line("  ", p.paint(c.Verdict, word), "  ", clip(what, columns-4-width(word)))
	p.blank()
	p.wrap("  ", "  ", c.Claim)
	p.blank()
	p.line("  Target     ", clip(c.Environment.Target, columns-len(indent)))
	p.wrap("  Signature  ", indent, signed(c))
	p.blank()
}

func (p *page) slos(slos []certificate.SLO) {
	rows := slices.Clone(slos)
	if len(rows) > mostSLOs { // the broken ones must not be those left out
		slices.SortStableFunc(rows, func(a, b certificate.SLO) int { return cmp.Compare(passed(a.Verdict), passed(b.Verdict)) })
		rows = rows[:mostSLOs]
	}
	w := sloWidths(rows)
	p.line("  ", pad("SLO", w.name), padLeft("observed", w.observed), padLeft(w.heading, w.interval),
		padLeft("violations/samples", w.count), "  verdict")
	for _, s := range rows {
		p.line("  ", pad(clip(s.Metric+"  "+s.Expression, w.name), w.name), padLeft(clip(measured(s.Observed, s.Unit), w.observed), w.observed),
			padLeft(clip(interval(s), w.interval), w.interval), padLeft(clip(count(s), w.count), w.count), "  ", p.paint(s.Verdict, s.Verdict))
	}
	p.more(len(slos) - len(rows))
}

// widths are those of the columns of SLOs.
type widths struct {
	name, observed, interval, count int
	heading                         string // of the interval
}

// sloWidths makes room for intervals where there are any.
func sloWidths(rows []certificate.SLO) widths {
	w := widths{name: len("SLO"), observed: 13, count: 28}
	most := 42
	if hasIntervals(rows) {
		w.observed, w.interval, w.count, w.heading, most = 11, 18, 22, "interval", 32
	}
	for _, s := range rows {
		w.name = max(w.name, width(s.Metric)+2+width(s.Expression))
	}
	w.name = min(w.name, most)
	return w
}

func passed(verdict string) int {
	if verdict == "PASS" {
		return 1
	}
	return 0
}

func (p *page) latency(c certificate.Certificate) {
	p.blank()
	o := c.Outcomes
	p.wrap("  Outcomes   ", indent, fmt.Sprintf("completed %s, failed %s, timed out %s, dropped %s of %s scheduled; %s/s achieved",
		whole(o.Completed), whole(o.Failed), whole(o.TimedOut), whole(o.Dropped), whole(c.Rate.Scheduled), short(c.Rate.Achieved)))
	const first = "transaction"
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(c.Latency)), func(n string) bool { return n == first })
	// The endpoints with most requests; their order stays that of the names.
	if len(names) > mostEndpoints {
		byCount := slices.Clone(names)
		slices.SortStableFunc(byCount, func(a, b string) int { return cmp.Compare(c.Latency[b].Count, c.Latency[a].Count) })
		names = slices.DeleteFunc(names, func(n string) bool { return !slices.Contains(byCount[:mostEndpoints], n) })
	}
	p.line("  ", pad("Latency, ms", 30), heads("p50", "p95", "p99", "p99.9", "max", "mean"))
	for _, name := range append([]string{first}, names...) {
		l := c.Latency[name]
		p.line("  ", pad(clip("  "+name, 30), 30),
			heads(short(l.P50), short(l.P95), short(l.P99), short(l.P999), short(l.Max), short(l.Mean)))
	}
	p.more(len(c.Latency) - 1 - len(names))
}

func heads(cells ...string) string {
	text := ""
	for _, c := range cells {
		text += padLeft(clip(c, 10), 10)
	}
	return text
}

// rules shows those that are broken, with what to do.
func (p *page) rules(rules []certificate.Rule) {
	var broken []certificate.Rule
	limits := 0
	for _, r := range rules {
		switch r.Verdict {
		case "PASS":
		case certificate.Limitation:
			limits++
		default:
			broken = append(broken, r)
		}
	}
	p.blank()
	if len(broken) == 0 {
		text := fmt.Sprintf("  Rules      all %d hold", len(rules))
		if limits > 0 {
			text += fmt.Sprintf(", %d of them with a limitation", limits)
		}
		p.line(text)
		return
	}
	p.line(fmt.Sprintf("  Rules      %d of %d are broken", len(broken), len(rules)))
	for _, r := range broken[:min(len(broken), mostRules)] {
		p.wrap("    "+clip(r.ID, 40)+": ", "      ", r.Detail+". "+r.Advice)
	}
	p.more(len(broken) - mostRules)
}

func (p *page) waits(waits []certificate.Wait) {
	switch {
	case waits == nil:
		p.line("  Waits      no data")
		return
	case len(waits) == 0:
		p.line("  Waits      no session was seen active")
		return
	}
	p.line("  ", pad("Waits", 50), padLeft("sessions", 10), padLeft("share", 9), padLeft("ms/tx", 12), padLeft("baseline", 12))
	for _, w := range waits[:min(len(waits), mostWaits)] {
		name := "  " + w.Class
		if !strings.EqualFold(w.Class, w.Event) {
			name += "  " + w.Event
		}
		if w.Inferred {
			name += " (inferred)"
		}
		share := w.Share * 100
		p.line("  ", pad(clip(name, 50), 50), padLeft(clip(short(&w.AAS), 10), 10), padLeft(clip(short(&share)+" %", 9), 9),
			padLeft(clip(short(w.MsPerTransaction), 12), 12), padLeft(clip(short(w.BaselineMsPerTransaction), 12), 12))
	}
	p.more(len(waits) - mostWaits)
}

func (p *page) ledger(l *certificate.Ledger) {
	if l == nil {
		p.line("  Ledger     not compared")
		return
	}
	p.wrap("  Ledger     ", indent, ledgerText(*l))
}
