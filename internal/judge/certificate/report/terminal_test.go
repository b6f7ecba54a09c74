package report

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/judge/page"
	"assay.dev/assay/internal/testing/goldentest"
)

// terminal is the summary as a terminal shows it.
func terminal(c certificate.Certificate) string {
	return string(page.Terminal(Summary(c), page.Columns, false))
}

func TestTerminalGolden(t *testing.T) {
	for _, name := range names {
		text := terminal(example(name))
		goldentest.Compare(t, name+".txt", []byte(text))
		checkPage(t, text)
	}
	goldentest.Compare(t, "signed.txt", []byte(terminal(signedExample())))
}

// signedExample is a signed certificate with verdict PASS.
func signedExample() certificate.Certificate {
	c := example("pass")
	issuer := "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
	c = c.SignedBy(issuer, true)
	return c
}

// checkPage fails if a summary does not fit a terminal.
func checkPage(t *testing.T, text string) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) > 50 {
		t.Errorf("summary has %d lines", len(lines))
	}
	for _, line := range lines {
		if page.Width(line) > page.Columns {
			t.Errorf("line is %d wide: %s", page.Width(line), line)
		}
		if strings.TrimRight(line, " ") != line {
			t.Errorf("line ends in blanks: %q", line)
		}
	}
}

func TestColorDoesNotChangeTheText(t *testing.T) {
	for _, name := range names {
		c := example(name)
		text := string(page.Terminal(Summary(c), page.Columns, true))
		if !strings.Contains(text, "\x1b[") {
			t.Errorf("%s has no color", name)
		}
		for _, code := range []string{"\x1b[0m", "\x1b[1;31m", "\x1b[1;32m", "\x1b[1;33m"} {
			text = strings.ReplaceAll(text, code, "")
		}
		if diff := cmp.Diff(terminal(c), text); diff != "" {
			t.Errorf("%s: color changes the text:\n%s", name, diff)
		}
	}
}

// Names from scripts and databases may have any length and any characters.
func TestTerminalOfAnyCertificate(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := anyCertificate(rt)
		for _, line := range strings.Split(terminal(c)+string(page.Terminal(Diagnosis(c), page.Columns, false)), "\n") {
			if page.Width(line) > page.Columns {
				rt.Errorf("line is %d wide: %q", page.Width(line), line)
			}
			if strings.ContainsAny(line, "\x1b\r\x00") {
				rt.Errorf("line has control characters: %q", line)
			}
		}
	})
}

// Undecided rules are not broken: the claim counts only broken ones.
func TestBrokenAndUndecidedRules(t *testing.T) {
	for want, verdicts := range map[string][]string{
		"all N hold": {"PASS"}, "all N hold, 2 with a limitation": {certificate.Limitation, certificate.Limitation},
		"1 of N is broken": {"INVALID", certificate.Limitation}, "2 of N are broken": {"INVALID", "INVALID"},
		"1 of N is undecided": {"INCONCLUSIVE"}, "2 of N are undecided": {"INCONCLUSIVE", "INCONCLUSIVE"},
		"2 of N are broken, 1 undecided": {"INCONCLUSIVE", "INVALID", "INVALID"},
	} {
		c := example("pass")
		for i := range c.Rules {
			c.Rules[i].Verdict = "PASS"
		}
		want = strings.Replace(want, "N", strconv.Itoa(len(c.Rules)), 1)
		shown := ""
		for i, v := range verdicts {
			c.Rules[i].Verdict = v
		}
		for _, verdict := range []string{"INVALID", "INCONCLUSIVE"} {
			for _, r := range c.Rules {
				if r.Verdict == verdict {
					shown += "    - " + r.ID + " (" + verdict + "): "
				}
			}
		}
		text, got := terminal(c), ""
		if !strings.Contains(text, "\n  Rules      "+want+"\n") {
			t.Errorf("no %q in\n%s", want, text)
		}
		_, after, _ := strings.Cut(text, "\n  Rules ")
		for line := range strings.Lines(after) {
			if strings.HasPrefix(line, "  Waits") {
				break
			}
			if name, _, ok := strings.Cut(line, ": "); ok && !strings.HasPrefix(line, "      ") {
				got += name + ": "
			}
		}
		if got != shown {
			t.Errorf("%s: %q, want %q", want, got, shown)
		}
	}
}
