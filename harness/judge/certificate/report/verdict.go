package report

import (
	"cmp"
	"fmt"
	"slices"

	"assay/harness/judge/certificate"
	"assay/harness/judge/page"
	"assay/harness/quantity"
)

func slos(c certificate.Certificate, most int) page.Block {
	all := slices.Clone(c.SLOs)
	if len(all) > most { // keep the violated ones
		slices.SortStableFunc(all, func(a, b certificate.SLO) int { return cmp.Compare(passed(a.Verdict), passed(b.Verdict)) })
	}
	t := page.Table{
		Columns: slices.Concat(page.Names("SLO"), page.Words("verdict", "basis"), page.Numbers("observed", "interval", "violations/samples")),
		Most:    most,
	}
	for _, s := range all {
		row := page.Cells(s.Metric+" "+s.Expression, s.Verdict, basis(s), observed(s), quantity.Range(s.Lower, s.Upper, s.Unit), violations(s))
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

// observed is the measured value.
func observed(s certificate.SLO) string {
	if s.Observed == nil {
		return quantity.NoData
	}
	return quantity.Beside(*s.Observed, s.Limit, s.Unit)
}

// violations is how often an SLO was violated, and how many violations are allowed.
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

// basis is the basis of an SLO's verdict in words.
func basis(s certificate.SLO) string {
	if s.Basis == "inferred" {
		return "95 % confidence"
	}
	return "this run"
}

// rules says how many rules of validity hold, and lists those that do not, the
// broken first, with what to do about each.
func rules(c certificate.Certificate, most int) page.Section {
	broken, undecided, limited := byVerdict(c.Rules)
	s := section("Rules", page.Paragraph{Text: held(len(c.Rules), len(broken), len(undecided), len(limited))})
	return withRules(s, append(broken, undecided...), most)
}

// explainedRules also lists the rules that hold with a limitation.
func explainedRules(c certificate.Certificate) page.Section {
	_, _, limited := byVerdict(c.Rules)
	return withRules(rules(c, most), limited, most)
}

func withRules(s page.Section, rules []certificate.Rule, most int) page.Section {
	list := page.List{Most: most}
	for _, r := range rules {
		list.Items = append(list.Items, fmt.Sprintf("%s (%s): %s. %s", r.ID, r.Verdict, r.Detail, r.Advice))
	}
	if len(list.Items) > 0 {
		s.Blocks = append(s.Blocks, list)
	}
	return s
}

// byVerdict are the rules that are broken, undecided, or hold with a limitation.
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

// allRules is the table of all rules of validity.
func allRules(c certificate.Certificate) page.Block {
	t := page.Table{
		Columns: slices.Concat(page.Words("rule", "verdict"), page.Numbers("observed", "limit"), []page.Column{{Name: "detail", Kind: page.Prose}}),
		Most:    most,
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
	return section("All rules of validity", t)
}

func limitations(c certificate.Certificate, most int) page.Block {
	if len(c.Limitations) == 0 {
		return section("Limitations", page.Paragraph{Text: "None."})
	}
	return section("Limitations", page.List{Items: c.Limitations, Most: most})
}
