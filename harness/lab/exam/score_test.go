package exam

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"assay/harness/judge/diagnose"
	"assay/harness/judge/verdict"
)

// mark is what became of a case.
type mark struct {
	exercise
	outcome verdict.Outcome
	found   diagnose.Findings
}

// named is the component that was named.
func (m mark) named() string {
	if m.found.Bottleneck == nil {
		return "no answer"
	}
	return m.found.Bottleneck.Component
}

// silent tells that nothing was named that could be wrong.
func (m mark) silent() bool {
	return slices.Contains([]string{"no answer", diagnose.None, diagnose.Undetermined}, m.named())
}

// right tells that the component was named, and the statement where one is to
// blame.
func (m mark) right() bool { return m.named() == m.component && m.tells(m.statement) }

// tells finds a text in the evidence.
func (m mark) tells(text string) bool {
	return text == "" || slices.ContainsFunc(m.found.Bottleneck.Evidence, func(s string) bool { return strings.Contains(s, text) })
}

// wrong tells that something was named that is not to blame.
func (m mark) wrong() bool { return !m.silent() && m.named() != m.component }

// tell is the answer in words.
func (m mark) tell() string {
	b := m.found.Bottleneck
	if b == nil {
		return "no answer"
	}
	text := b.Sentence
	for _, s := range b.Evidence {
		text += "\n  - " + s
	}
	for _, c := range m.found.Split {
		text += fmt.Sprintf("\n  %-18s %10.4g ms", c.Name, c.Ms)
		if c.BaselineMs != nil {
			text += fmt.Sprintf(", at the baseline %10.4g ms; difference %.4g to %.4g", *c.BaselineMs, *c.Lower, *c.Upper)
		}
	}
	return text
}

// report is the table of all marks.
func report(flavour string, marks []mark) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s:\n%-22s %-12s %-16s %-16s %10s  %-30s %-8s %s", flavour, "case", "verdict", "to blame", "named", "confidence", "runner-up", "", "shown by")
	for _, m := range marks {
		confidence, runnerUp, event, judged := "", "", "", "not told"
		if b := m.found.Bottleneck; b != nil {
			if b.Confidence != nil {
				confidence = fmt.Sprintf("%.1f %%", 100**b.Confidence)
			}
			if event = b.Event; b.Inferred {
				event += " (inferred)"
			}
			if b.RunnerUp != nil {
				runnerUp = fmt.Sprintf("%s %.3g ms", b.RunnerUp.Component, b.RunnerUp.Growth)
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

// scoreMySQL asks for eleven of the twelve at least.
func scoreMySQL(t *testing.T, marks []mark) {
	t.Helper()
	score(t, "mysql", marks, 11)
}

// scoreMariaDB asks for the cases that MariaDB shows (docs/exam.md tells the others).
func scoreMariaDB(t *testing.T, marks []mark) {
	t.Helper()
	score(t, "mariadb", marks, 0,
		"slow gateway", "hot row", "DDL under load", "pool of 2", "pool per request",
		"CPU-starved database", "missing index", "buffer pool of 16 MB", "redo flush")
}

// score asserts what a flavour has to get right: so many cases, some of them by
// name, and never a wrong one.
func score(t *testing.T, flavour string, marks []mark, least int, surely ...string) {
	t.Helper()
	t.Log(report(flavour, marks))
	right := 0
	for _, m := range marks {
		if m.wrong() {
			t.Errorf("%s: %s is named, %s is to blame: %s", m.name, m.named(), m.component, m.found.Bottleneck.Sentence)
		}
		if m.right() {
			right++
		} else if m.component == diagnose.None || slices.Contains(surely, m.name) {
			t.Errorf("%s: %s is named, not %s", m.name, m.named(), m.component)
		}
	}
	if right < least {
		t.Errorf("%d of %d are right, want at least %d", right, len(marks), least)
	}
}
