package doctor

import (
	"strings"
	"testing"
)

// What a database answers takes its cells and lines, and sends no commands to a terminal.
func TestTextOfServersIsShown(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	forged := "x\x1b]0;pwned\a\n\tOK"
	all := Findings{{Check: "database", State: Lacking, Observed: forged, Needed: forged, Why: forged, Remedy: forged}}
	if err := all.WriteText(&out); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); strings.ContainsAny(got, "\x1b\a\t") || strings.Contains(got, "\nOK") || strings.Count(got, "x?]0;pwned?  OK") != 4 {
		t.Errorf("%q", got)
	}
}
