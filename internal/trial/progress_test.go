package trial

import (
	"strings"
	"testing"
)

// What a worker, a pod or a server says takes one line of the progress.
func TestProgressIsOneLine(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	p := (&Console{W: &out}).Progress("steady")
	p.Note("x\x1b]0;pwned\a\n[ P A S S ] fake")
	p.Line("\x1b[2J\ry")
	if got, want := out.String(), "steady: x?]0;pwned? [ P A S S ] fake\n?[2J y\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
