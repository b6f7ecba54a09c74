// SPDX-License-Identifier: Apache-2.0

package report

import (
	"slices"
	"strconv"
	"time"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/judge/diagnose"
	"assay.dev/assay/internal/judge/page"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/quantity"
)

// Checks are the JUnit suites slo, validity and ledger, and abort for a run that a condition
// stopped which is no SLO. FAIL is a failure; INVALID and
// INCONCLUSIVE are errors. At least one case does not pass unless the verdict is PASS.
func Checks(c certificate.Certificate) []*page.Suite {
	slo, validity, ledger := suite(c, "slo"), suite(c, "validity"), suite(c, "ledger")
	slo.Seconds = max(0, c.Window.Seconds) // the other suites take no time of their own
	for _, s := range c.SLOs {
		to := slo
		if s.Metric == metric.Ledger || s.Metric == metric.PersistLag {
			to = ledger
		}
		to.Check(s.Name(), page.VerdictState(s.Verdict), s.Verdict, sloText(s), "")
	}
	for _, r := range c.Rules {
		state := page.VerdictState(r.Verdict)
		if r.Verdict == certificate.Limitation { // the rule holds
			state = page.Good
			validity.Property("limitation "+r.ID, r.Detail)
		}
		validity.Check(r.ID, state, r.Verdict, r.Detail, r.Advice)
	}
	all := []*page.Suite{slo, validity, ledger}
	if c.Abort != nil && !c.Abort.SLO {
		all = append(all, abortSuite(c))
	}
	if c.Verdict != "PASS" && !slices.ContainsFunc(all, func(s *page.Suite) bool { return s.Failures+s.Errors > 0 }) {
		slo.Check("verdict", page.VerdictState(c.Verdict), c.Verdict, c.Claim, "")
	}
	output := []string{c.Verdict + ": " + c.Claim}
	if b := c.Bottleneck; b != nil && b.Component != diagnose.None {
		output = append(output, "Bottleneck: "+bottleneckText(*b)+". "+b.Sentence)
	}
	slo.SetOutput(append(output, signatureText(c))...)
	validity.SetOutput(c.Limitations...)
	ledger.SetOutput(ledgerText(c.Ledger))
	return all
}

func suite(c certificate.Certificate, name string) *page.Suite {
	s := page.NewSuite(name, c.Profile, c.Environment.Host.Name, c.Window.Start)
	s.Property("run", c.Run)
	s.Property("scope", c.Scope)
	s.Property("signed", strconv.FormatBool(c.Signed))
	s.Property("issued", c.Issued.UTC().Format(time.RFC3339))
	s.Property("manifest_sha256", c.Evidence.ManifestSHA256)
	return s
}

// sloText is the result of an SLO on one line.
func sloText(s certificate.SLO) string {
	text := "observed " + observed(s)
	if interval := quantity.Range(s.Lower, s.Upper, s.Unit); interval != "" {
		text += " (" + interval + ")"
	}
	return text + ", limit " + quantity.Limit(s.Limit, s.Unit) + ", violations/samples " + violations(s) + ", basis " + s.Basis
}
