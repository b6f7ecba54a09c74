package page

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Suite is checks of one kind, as CI counts them.
type Suite struct {
	Name       string
	Package    string
	Host       string
	Time       time.Time
	Seconds    int64
	Properties []Fact
	Checks     []Check
	Output     []string // what else there is to say, line by line
}

// Check is one of them: it passes where its state is Good, is a failure where that
// is Bad, and else an error. None is ever skipped.
type Check struct {
	Name    string
	State   State
	Verdict string
	Text    string
	Advice  string
}

// Broken reports whether any check of a suite does not pass.
func (s Suite) Broken() bool {
	for _, c := range s.Checks {
		if c.State != Good {
			return true
		}
	}
	return false
}

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

// JUnit writes suites as a JUnit XML report.
func JUnit(suites []Suite) ([]byte, error) {
	var all junitSuites
	for id, s := range suites {
		all.Suites = append(all.Suites, s.junit(id))
	}
	body, err := xml.MarshalIndent(all, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write JUnit report: %w", err)
	}
	return bytes.Join([][]byte{[]byte(xml.Header), body, []byte("\n")}, nil), nil
}

func (s Suite) junit(id int) junitSuite {
	out := junitSuite{
		Name: s.Name, Package: token(s.Package), ID: id, Host: token(s.Host),
		Timestamp: s.Time.UTC().Format("2006-01-02T15:04:05"), Seconds: s.Seconds,
		Tests: len(s.Checks), Out: legal(strings.Join(s.Output, "\n")),
	}
	for _, p := range s.Properties {
		out.Properties = append(out.Properties, junitProperty{token(p.Name), legal(p.Text)})
	}
	for _, c := range s.Checks {
		one := junitCase{Name: token(c.Name), Class: token(out.Package + "." + s.Name)}
		problem := &junitProblem{Message: legal(c.Text), Type: legal(c.Verdict), Text: legal(strings.TrimSpace(c.Text + "\n" + c.Advice))}
		switch c.State {
		case Good:
		case Bad:
			one.Failure = problem
			out.Failures++
		default:
			one.Error = problem
			out.Errors++
		}
		out.Cases = append(out.Cases, one)
	}
	return out
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
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n':
			return r
		case r < 0x20 || r >= 0x7F && r <= 0x9F || r == 0xFFFE || r == 0xFFFF || r == utf8.RuneError:
			return '?'
		}
		return r
	}, cut(s, mostJUnit))
}
