package cli

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/spec"
)

// Every error of a file is printed on its own line, followed by its hint.
func TestPrintError(t *testing.T) {
	unit := &spec.Error{Path: "t.json", Line: 6, Place: "profiles.p.load.unit", Problem: `unknown unit "tpm"`, Next: "known: tps, rps"}
	rate := &spec.Error{Path: "t.json", Line: 7, Place: "profiles.p.load.target", Problem: "rate 0 is not above 0"}
	unitLines := `assay: t.json:6: profiles.p.load.unit: unknown unit "tpm"
hint: known: tps, rps
`
	rateLine := "assay: t.json:7: profiles.p.load.target: rate 0 is not above 0\n"
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"one":     {spec.Errors{unit}, unitLines},
		"two":     {spec.Errors{unit, rate}, unitLines + rateLine},
		"wrapped": {fmt.Errorf("profiles: %w", spec.Errors{rate, unit}), strings.ReplaceAll(rateLine+unitLines, "assay: ", "assay: profiles: ")},
		"joined":  {errors.Join(spec.Errors{unit, rate}, errors.New("remove run: busy")), unitLines + rateLine + "assay: remove run: busy\n"},
		"joined, with hints": {
			errors.Join(hint.With(errors.New("a"), "do a"), hint.With(errors.New("b"), "do b")), "assay: a\nhint: do a\nassay: b\nhint: do b\n",
		},
		"of two causes": {fmt.Errorf("%w: %w", errors.New("a"), errors.New("b")), "assay: a: b\n"},
		"with commands for a terminal": {
			hint.With(errors.New("x\x1b]0;title\a\n[ P A S S ] fake\r\u009b31m \u202e"), "a\nb\x1b[2J"),
			"assay: x?]0;title? [ P A S S ] fake ?31m ?\nhint: a b?[2J\n",
		},
		"long":       {errors.New(strings.Repeat("x", 1<<20)), "assay: " + strings.Repeat("x", 3994) + " [...]\n"},
		"of no file": {errors.New("no such run"), "assay: no such run\n"},
	} {
		var got strings.Builder
		PrintError(&got, c.err)
		if diff := cmp.Diff(c.want, got.String()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestPrintErrorLimit(t *testing.T) {
	var all spec.Errors
	for i := range 2*maxErrors + 1 {
		all = append(all, &spec.Error{Path: "t.json", Line: i + 1, Problem: "wrong", Next: "do right"})
	}
	var got strings.Builder
	PrintError(&got, all)
	lines := strings.Split(strings.TrimSpace(got.String()), "\n")
	if len(lines) != 2*maxErrors+1 || lines[len(lines)-1] != fmt.Sprintf("assay: there are %d more errors", maxErrors+1) {
		t.Errorf("%d lines, the last is %q", len(lines), lines[len(lines)-1])
	}
}

// What a worker prints may be of a coordinator, or of what answers in its place.
func TestMessages(t *testing.T) {
	var got strings.Builder
	fmt.Fprintf(Messages{&got}, "worker: %s\n", "x\x1b[2J\n[ P A S S ]")
	if want := "worker: x?[2J [ P A S S ]\n"; got.String() != want {
		t.Errorf("%q, want %q", got.String(), want)
	}
}
