package exam

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"assay.dev/assay/internal/judge/diagnose"
	"assay.dev/assay/internal/judge/verdict"
)

// result is the verdict and diagnosis of a case.
type result struct {
	expectation
	outcome verdict.Outcome
	found   diagnose.Findings
}

// named is the bottleneck that was named.
func (m result) named() string {
	if m.found.Bottleneck == nil {
		return noDiagnosis
	}
	return m.found.Bottleneck.Component
}

const noDiagnosis = "no diagnosis"

// silent reports whether no component was named.
func (m result) silent() bool {
	return slices.Contains([]string{noDiagnosis, diagnose.None, diagnose.Undetermined}, m.named())
}

// right reports whether the expected component was named, with the expected statement.
func (m result) right() bool { return m.named() == m.component && m.evidenceHas(m.statement) }

// evidenceHas reports whether the evidence contains a text.
func (m result) evidenceHas(text string) bool {
	return text == "" || slices.ContainsFunc(m.found.Bottleneck.Evidence, func(s string) bool { return strings.Contains(s, text) })
}

// wrong reports whether another component was named.
func (m result) wrong() bool { return !m.silent() && m.named() != m.component }

// text is the diagnosis in words.
func (m result) text() string {
	b := m.found.Bottleneck
	if b == nil {
		return noDiagnosis
	}
	text := b.Sentence
	for _, s := range b.Evidence {
		text += "\n  - " + s
	}
	for _, c := range m.found.Split {
		text += fmt.Sprintf("\n  %-18s %10.4g ms", c.Component, *c.MsPerTransaction)
		if c.BaselineMsPerTransaction != nil {
			text += fmt.Sprintf(", at the baseline %10.4g ms; difference %.4g to %.4g", *c.BaselineMsPerTransaction, *c.Lower, *c.Upper)
		}
	}
	return text
}

// report formats the table of all results.
func report(flavour string, results []result) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s:\n%-22s %-12s %-16s %-16s %10s  %-30s %-8s %s", flavour, "case", "verdict", "expected", "named", "confidence", "runner-up", "", "shown by")
	for _, m := range results {
		confidence, runnerUp, event, judged := "", "", "", "undecided"
		if b := m.found.Bottleneck; b != nil {
			if b.Confidence != nil {
				confidence = fmt.Sprintf("%.1f %%", 100**b.Confidence)
			}
			if event = b.Event; b.Inferred {
				event += " (inferred)"
			}
			if b.RunnerUp != nil {
				runnerUp = fmt.Sprintf("%s %.3g ms", b.RunnerUp.Component, *b.RunnerUp.GrowthMs)
			}
		}
		switch {
		case m.right():
			judged = "right"
		case m.wrong():
			judged = "WRONG"
		}
		fmt.Fprintf(&text, "\n%-22s %-12s %-16s %-16s %10s  %-30s %-8s %s", m.name, m.outcome, m.component, m.named(), confidence, runnerUp, judged, event)
	}
	return text.String()
}

// scoreMySQL expects all but one to be right.
func scoreMySQL(t *testing.T, results []result) {
	t.Helper()
	score(t, "mysql", results, len(expectations)-1)
}

// scoreMariaDB expects the cases to be right that MariaDB's instruments show
// (docs/exam.md lists what they do not).
func scoreMariaDB(t *testing.T, results []result) {
	t.Helper()
	score(t, "mariadb", results, 0,
		"slow gateway", "hot row", "DDL under load", "pool of 2", "pool per request",
		"CPU-starved database", "missing index", "buffer pool of 16 MB", "redo flush")
}

// score fails the test if a diagnosis is wrong, if fewer than minRight are right, or if
// one of the required cases is not right or has no result.
func score(t *testing.T, flavour string, results []result, minRight int, required ...string) {
	t.Helper()
	t.Log(report(flavour, results))
	var right []string
	for _, m := range results {
		switch {
		case m.right():
			right = append(right, m.name)
		case m.wrong():
			t.Errorf("%s: named %s, want %s: %s", m.name, m.named(), m.component, m.found.Bottleneck.Sentence)
		case m.component == diagnose.None:
			t.Errorf("%s: named %s, want %s", m.name, m.named(), m.component)
		}
	}
	for _, name := range required {
		if !slices.Contains(right, name) {
			t.Errorf("the diagnosis of %q is not right", name)
		}
	}
	if len(right) < minRight {
		t.Errorf("%d of %d right, want at least %d", len(right), len(results), minRight)
	}
}
