package certificate

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
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

// Summary writes what people want to know first, at most 100 columns wide and
// readable without colour.
func Summary(w io.Writer, c Certificate, color bool) error {
	p := &page{color: color}
	p.head(c)
	p.slos(c.SLOs)
	p.latency(c)
	p.rules(c.Rules)
	p.waits(c.Waits)
	p.ledger(c.Ledger)
	p.notes("Limitations", c.Limitations)
	_, err := io.WriteString(w, p.String())
	if err != nil {
		return fmt.Errorf("write summary: %w", err)
	}
	return nil
}

func (p *page) head(c Certificate) {
	p.blank()
	word := spaced(c.Verdict)
	what := fmt.Sprintf("%s  %s %s for %d s, %s scope", c.Profile, short(&c.Rate.Target), c.Rate.Unit, c.Window.Seconds, c.Scope)
	p.line("  ", p.paint(c.Verdict, word), "  ", clip(what, columns-4-width(word)))
	p.blank()
	p.wrap("  ", "  ", c.Claim)
	p.blank()
	p.line("  Target     ", clip(c.Environment.Target, columns-len(indent)))
	p.blank()
}

func (p *page) slos(slos []SLO) {
	rows := slices.Clone(slos)
	if len(rows) > mostSLOs { // the broken ones must not be those left out
		slices.SortStableFunc(rows, func(a, b SLO) int { return cmp.Compare(passed(a.Verdict), passed(b.Verdict)) })
		rows = rows[:mostSLOs]
	}
	wide := len("SLO")
	for _, s := range rows {
		wide = max(wide, width(s.Metric)+2+width(s.Expression))
	}
	wide = min(wide, 42)
	p.line("  ", pad("SLO", wide), padLeft("observed", 13), padLeft("violations/samples", 28), "  verdict")
	for _, s := range rows {
		p.line("  ", pad(clip(s.Metric+"  "+s.Expression, wide), wide), padLeft(measured(s.Observed, s.Unit), 13),
			padLeft(count(s), 28), "  ", p.paint(s.Verdict, s.Verdict))
	}
	p.more(len(slos) - len(rows))
}

func passed(verdict string) int {
	if verdict == "PASS" {
		return 1
	}
	return 0
}

// count is how often an SLO was violated, and how often it may be.
func count(s SLO) string {
	text := "no data"
	switch {
	case s.Samples != nil && s.Violations != nil:
		text = fmt.Sprintf("%d/%d", *s.Violations, *s.Samples)
	case s.Samples != nil && s.AtLeast != nil && s.AtMost != nil:
		text = fmt.Sprintf("%d..%d/%d", *s.AtLeast, *s.AtMost, *s.Samples)
	default:
		return text
	}
	if s.Allowed != nil && *s.Allowed > 0 {
		text += fmt.Sprintf(" (%d may)", *s.Allowed)
	}
	return text
}

func (p *page) latency(c Certificate) {
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
		text += padLeft(c, 10)
	}
	return text
}

// rules shows those that are broken, with what to do.
func (p *page) rules(rules []Rule) {
	var broken []Rule
	limits := 0
	for _, r := range rules {
		switch r.Verdict {
		case "PASS":
		case limitation:
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
		p.wrap("    "+r.ID+": ", "      ", r.Detail+". "+r.Advice)
	}
	p.more(len(broken) - mostRules)
}

func (p *page) waits(waits []Wait) {
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
		p.line("  ", pad(clip(name, 50), 50), padLeft(short(&w.AAS), 10), padLeft(short(&share)+" %", 9),
			padLeft(short(w.MsPerTransaction), 12), padLeft(short(w.BaselineMsPerTransaction), 12))
	}
	p.more(len(waits) - mostWaits)
}

func (p *page) ledger(l *Ledger) {
	if l == nil {
		p.line("  Ledger     not compared")
		return
	}
	p.wrap("  Ledger     ", indent, fmt.Sprintf(
		"acknowledged %d, persisted %d, missing %d, duplicated %d, unacknowledged %d; persist lag p99 %s, max %s",
		l.Acknowledged, l.Persisted, l.Missing, l.Duplicated, l.Unacknowledged,
		measured(l.PersistLagMs.P99, "ms"), measured(l.PersistLagMs.Max, "ms"),
	))
}
