// SPDX-License-Identifier: Apache-2.0

package page

import (
	"encoding/xml"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Suite is a test suite of JUnit XML, valid by the schemas of both Ant and Jenkins: a
// test case has only its failure or error, and everything else is in the properties and
// the output of the suite.
type Suite struct {
	Name       string     `xml:"name,attr"`
	Package    string     `xml:"package,attr"`
	ID         int        `xml:"id,attr"`
	Host       string     `xml:"hostname,attr"`
	Timestamp  string     `xml:"timestamp,attr"` // UTC: the schema allows no time zone
	Tests      int        `xml:"tests,attr"`
	Failures   int        `xml:"failures,attr"`
	Errors     int        `xml:"errors,attr"`
	Seconds    int64      `xml:"time,attr"`
	Properties []property `xml:"properties>property"`
	Cases      []testCase `xml:"testcase"`
	Out        string     `xml:"system-out"`
	Err        string     `xml:"system-err"`
}

type (
	property struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	testCase struct {
		Name    string   `xml:"name,attr"`
		Class   string   `xml:"classname,attr"`
		Seconds int64    `xml:"time,attr"`
		Failure *problem `xml:"failure"`
		Error   *problem `xml:"error"`
	}
	problem struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"` // the verdict
		Text    string `xml:",chardata"`
	}
)

// NewSuite makes an empty suite, with the host and the start time of the run.
func NewSuite(name, pkg, host string, at time.Time) *Suite {
	return &Suite{Name: name, Package: token(pkg), Host: token(host), Timestamp: at.UTC().Format("2006-01-02T15:04:05")}
}

// Property adds a property.
func (s *Suite) Property(name, value string) {
	s.Properties = append(s.Properties, property{token(name), legal(value)})
}

// Check adds a test case: passed if its state is Good, a failure if Bad, otherwise an
// error. No case is ever skipped.
func (s *Suite) Check(name string, state State, verdict, text, advice string) {
	c := testCase{Name: token(name), Class: token(s.Package + "." + s.Name)}
	p := &problem{Message: legal(text), Type: legal(verdict), Text: legal(strings.TrimSpace(text + "\n" + advice))}
	s.Tests++
	switch state {
	case Good:
	case Bad:
		c.Failure = p
		s.Failures++
	default:
		c.Error = p
		s.Errors++
	}
	s.Cases = append(s.Cases, c)
}

// SetOutput sets the standard output of the suite.
func (s *Suite) SetOutput(lines ...string) { s.Out = legal(strings.Join(lines, "\n")) }

// JUnit renders suites as a JUnit XML report.
func JUnit(suites []*Suite) ([]byte, error) {
	for i, s := range suites {
		s.ID = i
	}
	body, err := xml.MarshalIndent(struct {
		XMLName xml.Name `xml:"testsuites"`
		Suites  []*Suite `xml:"testsuite"`
	}{Suites: suites}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write JUnit report: %w", err)
	}
	return append([]byte(xml.Header), append(body, '\n')...), nil
}

// token is a name as the schemas require: one line, never empty.
func token(s string) string {
	if s = strings.Join(strings.Fields(legal(s)), " "); s == "" {
		return "-"
	}
	return s
}

// maxJUnit is the limit of one text, in characters.
const maxJUnit = 4000

// legal replaces characters that XML 1.0 forbids (section 2.2, production Char): control
// characters in a message from a database would make the report invalid.
func legal(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n':
			return r
		case r < 0x20 || r >= 0x7F && r <= 0x9F || r == 0xFFFE || r == 0xFFFF || r == utf8.RuneError:
			return '?'
		}
		return r
	}, cut(s, maxJUnit))
}
