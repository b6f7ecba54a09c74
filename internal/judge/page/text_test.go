package page

import (
	"strings"
	"testing"
	"unicode/utf8"

	"assay.dev/assay/internal/mask"
)

// A message is one line without commands for a terminal, and not endless.
func TestMessage(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		" SELECT  1;\n\té ": "SELECT  1;  é",
		"x\x1b]0;pwned\a\n[ P A S S ] fake\r\u009b31m\u2028": "x?]0;pwned? [ P A S S ] fake ?31m ",
		"\x1b[31m\x00\u202e\xff":                             "?[31m??\ufffd",
		strings.Repeat("é", maxLine):                         strings.Repeat("é", maxLine),
		strings.Repeat("é", 10<<20):                          strings.Repeat("é", maxLine-6) + " [...]",
	} {
		if got := Message(text); strings.TrimSpace(got) != strings.TrimSpace(want) || !utf8.ValidString(got) {
			t.Errorf("%.100q is printed as %.100q, want %.100q", text, got, want)
		}
	}
}

// A secret is masked before a message is cut, and before its spaces are rewritten: afterwards
// it would not be found.
func TestMessageHasNoSecret(t *testing.T) {
	mask.Add("Zq7\tword of a page")
	for _, text := range []string{"dial Zq7\tword of a page: refused", strings.Repeat("x", maxLine-len(" [...]")-9) + "Zq7\tword of a page" + strings.Repeat("x", maxLine)} {
		if got := Message(text); strings.Contains(got, "Zq7") || !strings.Contains(got, "***") {
			t.Errorf("%q", got)
		}
	}
}
