package report

import (
	"strconv"
	"time"

	"assay/harness/judge/certificate"
	"assay/harness/judge/diagnose"
	"assay/harness/judge/page"
	"assay/harness/quantity"
	"assay/harness/spec"
)

// Checks are the suites slo, validity and ledger, in which FAIL is a failure,
// INVALID and INCONCLUSIVE are errors. One of them does not pass exactly where the
// verdict is not PASS.
func Checks(c certificate.Certificate) []page.Suite {
	slo, validity, ledger := suite(c, "slo"), suite(c, "validity"), suite(c, "ledger")
	slo.Seconds = max(0, c.Window.Seconds) // the others judge no window of their own
	for _, s := range c.SLOs {
		to := &slo
		if s.Metric == spec.LedgerMetric || s.Metric == spec.PersistLagMetric {
			to = &ledger
		}
		to.Checks = append(to.Checks, check(s.Metric+" "+s.Expression, s.Verdict, sloText(s), ""))
	}
	for _, r := range c.Rules {
		validity.Checks = append(validity.Checks, check(r.ID, r.Verdict, r.Detail, r.Advice))
		if r.Verdict == certificate.Limitation {
			validity.Properties = append(validity.Properties, page.Fact{Name: "limitation " + r.ID, Text: r.Detail})
		}
	}
	if c.Verdict != "PASS" && !slo.Broken() && !validity.Broken() && !ledger.Broken() {
		slo.Checks = append(slo.Checks, check("verdict", c.Verdict, c.Claim, ""))
	}
	slo.Output = []string{c.Verdict + ": " + c.Claim}
	if b := c.Bottleneck; b != nil && b.Component != diagnose.None {
		slo.Output = append(slo.Output, "Bottleneck: "+named(*b)+". "+b.Sentence)
	}
	slo.Output = append(slo.Output, signed(c))
	validity.Output = c.Limitations
	ledger.Output = []string{"not compared"}
	if c.Ledger != nil {
		ledger.Output = []string{ledgerText(*c.Ledger)}
	}
	return []page.Suite{slo, validity, ledger}
}

func suite(c certificate.Certificate, name string) page.Suite {
	return page.Suite{
		Name: name, Package: c.Profile, Host: c.Environment.Host.Name, Time: c.Window.Start,
		Properties: []page.Fact{
			{Name: "run", Text: c.Run},
			{Name: "scope", Text: c.Scope},
			{Name: "signed", Text: strconv.FormatBool(c.Signed)},
			{Name: "issued", Text: c.Issued.UTC().Format(time.RFC3339)},
			{Name: "manifest_sha256", Text: c.Evidence.ManifestSHA256},
		},
	}
}

func check(name, verdict, text, advice string) page.Check {
	state := page.VerdictState(verdict)
	if verdict == certificate.Limitation { // the rule holds
		state = page.Good
	}
	return page.Check{Name: name, State: state, Verdict: verdict, Text: text, Advice: advice}
}

// sloText is what was seen of an SLO, in one line.
func sloText(s certificate.SLO) string {
	text := "observed " + observed(s)
	if interval := quantity.Range(s.Lower, s.Upper, s.Unit); interval != "" {
		text += " (" + interval + ")"
	}
	return text + ", limit " + quantity.Limit(s.Limit, s.Unit) + ", violations/samples " + violations(s) + ", basis " + s.Basis
}
