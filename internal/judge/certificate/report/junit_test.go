package report

import (
	"encoding/xml"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/judge/page"
	"assay.dev/assay/internal/testing/goldentest"
)

func junit(t testing.TB, c certificate.Certificate) []byte {
	t.Helper()
	data, err := page.JUnit(Checks(c))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestJUnitGolden(t *testing.T) {
	for _, name := range names {
		goldentest.Compare(t, name+".junit.xml", junit(t, example(name)))
	}
}

// CI counts the same verdicts as the certificate.
func TestJUnitCountsVerdicts(t *testing.T) {
	for name, want := range map[string]string{
		"pass":    "slo 0/0, validity 0/0, ledger 0/0",
		"fail":    "slo 4/0, validity 0/0, ledger 0/0",
		"lost":    "slo 0/0, validity 0/0, ledger 2/0",
		"invalid": "slo 0/0, validity 0/7, ledger 0/3",
		"cluster": "slo 0/0, validity 0/6, ledger 0/0",
	} {
		if got := broken(t, junit(t, example(name))); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	c := example("pass")
	c.Verdict = "INVALID" // although every SLO and rule passes
	if got, want := broken(t, junit(t, c)), "slo 0/1, validity 0/0, ledger 0/0"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// suites are the parts of a report that CI reads.
type suites struct {
	Suites []struct {
		Name     string `xml:"name,attr"`
		Tests    int    `xml:"tests,attr"`
		Failures int    `xml:"failures,attr"`
		Errors   int    `xml:"errors,attr"`
		Cases    []struct {
			Failure *struct{} `xml:"failure"`
			Error   *struct{} `xml:"error"`
		} `xml:"testcase"`
	} `xml:"testsuite"`
}

// broken returns failures/errors of each suite, checked against its cases.
func broken(t testing.TB, data []byte) string {
	t.Helper()
	var all suites
	if err := xml.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(data), "<skipped") {
		t.Error("a case is skipped")
	}
	var out []string
	for _, s := range all.Suites {
		failures, errors := 0, 0
		for _, c := range s.Cases {
			if c.Failure != nil {
				failures++
			}
			if c.Error != nil {
				errors++
			}
		}
		if len(s.Cases) != s.Tests || failures != s.Failures || errors != s.Errors {
			t.Errorf("%s states %d/%d/%d, but has %d/%d/%d", s.Name, s.Tests, s.Failures, s.Errors, len(s.Cases), failures, errors)
		}
		out = append(out, fmt.Sprintf("%s %d/%d", s.Name, s.Failures, s.Errors))
	}
	return strings.Join(out, ", ")
}

// Whatever the texts of a certificate, its report can be parsed, has a case for each SLO
// and rule, and passes only if all of them do.
func TestJUnitOfAnyCertificate(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := anyCertificate(rt)
		data, err := page.JUnit(Checks(c))
		if err != nil {
			rt.Fatal(err)
		}
		var all suites
		if err := xml.Unmarshal(data, &all); err != nil {
			rt.Fatal(err)
		}
		cases, broken, want := 0, 0, 0
		for _, s := range all.Suites {
			cases += s.Tests
			broken += s.Failures + s.Errors
		}
		for _, s := range c.SLOs {
			want += 1 - passed(s.Verdict)
		}
		for _, r := range c.Rules {
			if r.Verdict != certificate.Limitation {
				want += 1 - passed(r.Verdict)
			}
		}
		if want == 0 && c.Verdict != "PASS" {
			cases, want = cases-1, 1
		}
		if broken != want || cases != len(c.SLOs)+len(c.Rules) {
			rt.Errorf("%d cases, %d broken; want %d, %d", cases, broken, len(c.SLOs)+len(c.Rules), want)
		}
	})
}
