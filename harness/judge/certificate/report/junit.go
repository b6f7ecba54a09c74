package report

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"assay/harness/judge/certificate"
	"assay/harness/judge/diagnose"
	"assay/harness/spec"
)

// The shape of JUnit XML that both common schemas take, Ant's and that of
// Jenkins (testdata/xsd): a test case holds nothing but its failure or error,
// and what else there is to say stands in its suite's properties and output.
type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name       string          `xml:"name,attr"`
		Package    string          `xml:"package,attr"`
		ID         int             `xml:"id,attr"`
		Host       string          `xml:"hostname,attr"`
		Timestamp  string          `xml:"timestamp,attr"` // UTC, as the schema allows no zone
		Tests      int             `xml:"tests,attr"`
		Failures   int             `xml:"failures,attr"`
		Errors     int             `xml:"errors,attr"`
		Seconds    int64           `xml:"time,attr"`
		Properties []junitProperty `xml:"properties>property"`
		Cases      []junitCase     `xml:"testcase"`
		Out        string          `xml:"system-out"`
		Err        string          `xml:"system-err"`
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		Seconds int64         `xml:"time,attr"`
		Failure *junitProblem `xml:"failure"`
		Error   *junitProblem `xml:"error"`
	}
	junitProblem struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"` // the verdict
		Text    string `xml:",chardata"`
	}
)

// mostJUnit is the most characters of one text: enough for any sentence, and
// what CI shows in one place.
const mostJUnit = 4000

// JUnit is the certificate as a JUnit XML report: the suites slo, validity and
// ledger, in which FAIL is a failure, INVALID and INCONCLUSIVE are errors, and
// nothing is ever skipped. It has a failure or an error exactly where the
// verdict is not PASS.
func JUnit(c certificate.Certificate) ([]byte, error) {
	slos, validity, ledger := newSuite(c, 0, "slo"), newSuite(c, 1, "validity"), newSuite(c, 2, "ledger")
	slos.Seconds = max(0, c.Window.Seconds) // the others judge no window of their own
	for _, s := range c.SLOs {
		to := slos
		if s.Metric == spec.LedgerMetric || s.Metric == spec.PersistLagMetric {
			to = ledger
		}
		to.add(s.Metric+" "+s.Expression, s.Verdict, sloText(s), "")
	}
	for _, r := range c.Rules {
		validity.add(r.ID, r.Verdict, r.Detail, r.Advice)
		if r.Verdict == certificate.Limitation {
			validity.property("limitation "+r.ID, r.Detail)
		}
	}
	suites := junitSuites{}
	said := false
	for _, s := range []*junitSuite{slos, validity, ledger} {
		said = said || s.Failures+s.Errors > 0
	}
	if c.Verdict != "PASS" && !said {
		slos.add("verdict", c.Verdict, c.Claim, "")
	}
	slos.say(append([]string{c.Verdict + ": " + c.Claim}, append(because(c.Bottleneck), signed(c))...)...)
	validity.say(c.Limitations...)
	if c.Ledger == nil {
		ledger.say("not compared")
	} else {
		ledger.say(ledgerText(*c.Ledger))
	}
	for _, s := range []*junitSuite{slos, validity, ledger} {
		suites.Suites = append(suites.Suites, *s)
	}
	body, err := xml.MarshalIndent(suites, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write JUnit report: %w", err)
	}
	return bytes.Join([][]byte{[]byte(xml.Header), body, []byte("\n")}, nil), nil
}

// because is what made the run miss its SLOs, where something did.
func because(b *certificate.Bottleneck) []string {
	if b == nil || b.Component == diagnose.None {
		return nil
	}
	return []string{"Bottleneck: " + named(*b) + ". " + b.Sentence}
}

func newSuite(c certificate.Certificate, id int, name string) *junitSuite {
	s := &junitSuite{
		Name: name, Package: token(c.Profile), ID: id,
		Host: token(c.Environment.Host.Name), Timestamp: c.Window.Start.UTC().Format("2006-01-02T15:04:05"),
	}
	s.property("run", c.Run)
	s.property("scope", c.Scope)
	s.property("signed", strconv.FormatBool(c.Signed))
	s.property("issued", c.Issued.UTC().Format(time.RFC3339))
	s.property("manifest_sha256", c.Evidence.ManifestSHA256)
	return s
}

func (s *junitSuite) property(name, value string) {
	s.Properties = append(s.Properties, junitProperty{token(name), legal(value)})
}

// add judges one case.
func (s *junitSuite) add(name, outcome, text, advice string) {
	one := junitCase{Name: token(name), Class: token(s.Package + "." + s.Name)}
	s.Tests++
	problem := &junitProblem{Message: legal(text), Type: legal(outcome), Text: legal(strings.TrimSpace(text + "\n" + advice))}
	switch outcome {
	case "PASS", certificate.Limitation:
	case "FAIL":
		one.Failure = problem
		s.Failures++
	default:
		one.Error = problem
		s.Errors++
	}
	s.Cases = append(s.Cases, one)
}

func (s *junitSuite) say(lines ...string) { s.Out = legal(strings.Join(lines, "\n")) }

// sloText is what was seen of an SLO, in one line.
func sloText(s certificate.SLO) string {
	text := "observed " + measured(s.Observed, s.Unit)
	if between := interval(s); between != "" {
		text += " (" + between + ")"
	}
	return text + ", limit " + measured(&s.Limit, s.Unit) + ", violations/samples " + count(s) + ", basis " + s.Basis
}

func ledgerText(l certificate.Ledger) string {
	return fmt.Sprintf("acknowledged %d, persisted %d, missing %d, duplicated %d, unacknowledged %d; persist lag p99 %s, max %s",
		l.Acknowledged, l.Persisted, l.Missing, l.Duplicated, l.Unacknowledged,
		measured(l.PersistLagMs.P99, "ms"), measured(l.PersistLagMs.Max, "ms"))
}

// token is a name as the schemas want it: one line, and never empty.
func token(s string) string {
	if s = strings.Join(strings.Fields(legal(s)), " "); s == "" {
		return "-"
	}
	return s
}

// legal is a text with nothing in it that XML 1.0 cannot hold (section 2.2,
// production Char): control characters of a database's message would make the
// whole report unreadable.
func legal(s string) string {
	s = shorten(s, mostJUnit)
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n':
			return r
		case r < 0x20 || r >= 0x7F && r <= 0x9F || r == 0xFFFE || r == 0xFFFF || r == utf8.RuneError:
			return '?'
		}
		return r
	}, s)
}
