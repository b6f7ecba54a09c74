// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/judge/page"
	"assay.dev/assay/internal/quantity"
)

// sloTable is the table of SLOs, with the interval of what was observed if there is room.
func sloTable(c certificate.Certificate, limit int, interval bool) page.Block {
	all := slices.Clone(c.SLOs) // those that do not pass first
	slices.SortStableFunc(all, func(a, b certificate.SLO) int { return cmp.Compare(passed(a.Verdict), passed(b.Verdict)) })
	numbers := []string{"observed"}
	if interval {
		numbers = append(numbers, "interval")
	}
	t := page.Table{
		Columns: slices.Concat(page.Names("SLO"), page.Words("verdict", "basis"), page.Numbers(append(numbers, "violations/samples")...)),
		Limit:   limit,
	}
	for _, s := range all {
		cells := []string{s.Name(), s.Verdict, basis(s), observed(s)}
		if interval {
			cells = append(cells, quantity.Range(s.Lower, s.Upper, s.Unit))
		}
		row := page.Cells(append(cells, violations(s))...)
		row[1].State = page.VerdictState(s.Verdict)
		t.Rows = append(t.Rows, row)
	}
	return page.Section{ID: "slos", Heading: "SLOs", Blocks: []page.Block{t}}
}

func passed(verdict string) int {
	if verdict == "PASS" {
		return 1
	}
	return 0
}

// observed is the measured value, or between which values it lies.
func observed(s certificate.SLO) string {
	near := func(v *float64) string { return quantity.Near(*v, s.Limit, s.Unit) }
	switch {
	case s.Observed == nil:
		return quantity.NoData
	case s.ObservedAtLeast != nil && s.ObservedAtMost != nil:
		return near(s.ObservedAtLeast) + " to " + near(s.ObservedAtMost)
	case s.ObservedAtLeast != nil:
		return "at least " + near(s.ObservedAtLeast)
	}
	return near(s.Observed)
}

// violations is the number of violations of an SLO, and how many are allowed.
func violations(s certificate.SLO) string {
	var text string
	switch {
	case s.Samples != nil && s.Violations != nil:
		text = fmt.Sprintf("%d/%d", *s.Violations, *s.Samples)
	case s.Samples != nil && s.AtLeast != nil && s.AtMost != nil:
		text = fmt.Sprintf("%d..%d/%d", *s.AtLeast, *s.AtMost, *s.Samples)
	default:
		return "no data"
	}
	if s.Allowed != nil && *s.Allowed > 0 {
		text += fmt.Sprintf(" (%d allowed)", *s.Allowed)
	}
	return text
}

// basis is the basis of the verdict on an SLO, in words.
func basis(s certificate.SLO) string {
	if s.Basis == "inferred" {
		return "95 % confidence"
	}
	return "this run"
}

// rules says how many validity rules hold, and lists those that do not, the broken ones
// first, with advice; explained: also those that hold with a limitation.
func rules(c certificate.Certificate, limit int, explained bool) page.Section {
	broken, undecided, limited := byVerdict(c.Rules)
	s := page.Under("Rules", page.Paragraph{Text: ruleCounts(len(c.Rules), len(broken), len(undecided), len(limited))})
	if !explained {
		limited = nil
	}
	for _, all := range [][]certificate.Rule{append(broken, undecided...), limited} {
		list := page.List{Limit: limit}
		for _, r := range all {
			list.Items = append(list.Items, fmt.Sprintf("%s (%s): %s. %s", r.ID, r.Verdict, r.Detail, r.Advice))
		}
		if len(list.Items) > 0 {
			s.Blocks = append(s.Blocks, list)
		}
	}
	return s
}

// byVerdict selects the rules that are broken, undecided, or hold with a limitation.
func byVerdict(rules []certificate.Rule) (broken, undecided, limited []certificate.Rule) {
	for _, r := range rules {
		switch r.Verdict {
		case "PASS":
		case certificate.Limitation:
			limited = append(limited, r)
		case "INCONCLUSIVE":
			undecided = append(undecided, r)
		default:
			broken = append(broken, r)
		}
	}
	return broken, undecided, limited
}

// ruleCounts says how many rules are broken and undecided, or that all hold.
func ruleCounts(all, broken, undecided, limited int) string {
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
		return fmt.Sprintf("all %d hold, %d with a limitation", all, limited)
	}
	return fmt.Sprintf("all %d hold", all)
}

// ruleTable is the table of all validity rules.
func ruleTable(c certificate.Certificate) page.Block {
	t := page.Table{
		Columns: slices.Concat(page.Words("rule", "verdict"), page.Numbers("observed", "limit"), []page.Column{{Name: "detail", Kind: page.Prose}}),
		Limit:   maxRows,
	}
	for _, r := range c.Rules {
		limit := quantity.NoData
		if r.Limit != nil {
			limit = quantity.Limit(*r.Limit, r.Unit)
		}
		row := page.Cells(r.ID, r.Verdict, quantity.Optional(r.Observed, r.Unit), limit, r.Detail)
		row[1].State = page.VerdictState(r.Verdict)
		t.Rows = append(t.Rows, row)
	}
	return page.Under("All validity rules", t)
}

func limitations(c certificate.Certificate, limit int) page.Block {
	if len(c.Limitations) == 0 {
		return page.Under("Limitations", page.Paragraph{Text: "None."})
	}
	return page.Under("Limitations", page.List{Items: c.Limitations, Limit: limit})
}

// leftOut is the table of what did not enter a verdict, with what weighs first.
func leftOut(c certificate.Certificate, limit int) page.Block {
	var all []certificate.Omission
	for _, weighs := range []bool{true, false} {
		all = append(all, slices.DeleteFunc(slices.Clone(c.LeftOut), func(o certificate.Omission) bool { return o.Weighs != weighs })...)
	}
	t := page.Table{
		Columns: slices.Concat(page.Names("flow"), page.Numbers("seconds", "transactions", "requests", "checks", "points", "failed"), []page.Column{{Name: "what", Kind: page.Prose}}),
		Limit:   limit,
	}
	count := func(n *int64) string {
		if n == nil {
			return ""
		}
		return strconv.FormatInt(*n, 10)
	}
	for _, o := range all {
		seconds := ""
		if o.Seconds != nil {
			seconds = quantity.Value(*o.Seconds, "s")
		}
		row := page.Cells(o.Flow, seconds, count(o.Transactions), count(o.Requests), count(o.Checks), count(o.Points), count(o.Failed), o.What)
		if o.Weighs {
			row[len(row)-1].State = page.Doubtful
		}
		t.Rows = append(t.Rows, row)
	}
	return listed("Left out of the verdict", t)
}
