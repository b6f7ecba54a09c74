package main

import (
	"os"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// blocks are the fenced code blocks of a language in a Markdown text; those of a
// numbered list stand indented.
func blocks(text, language string) (all []string) {
	fence := regexp.MustCompile("(?ms)^( *)```" + language + "\n(.*?)^ *```")
	for _, m := range fence.FindAllStringSubmatch(text, -1) {
		var block strings.Builder
		for line := range strings.Lines(m[2]) {
			block.WriteString(strings.TrimPrefix(line, m[1]))
		}
		all = append(all, block.String())
	}
	return all
}

// writeblock MARKDOWN LANGUAGE FILE: writes the text's first block of the
// language into a file.
func writeblock(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: writeblock MARKDOWN LANGUAGE FILE")
	}
	found := blocks(ts.ReadFile(args[0]), args[1])
	if len(found) == 0 {
		ts.Fatalf("%s has no block of %s", args[0], args[1])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), []byte(found[0]), 0o644))
}

// follow MARKDOWN [HEADING]: runs every block of sh, of the whole text or below
// that heading, one after the other, as a reader would; each must succeed.
func follow(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: follow MARKDOWN [HEADING]")
	}
	text := ts.ReadFile(args[0])
	if len(args) == 2 {
		_, text, _ = strings.Cut(text, "\n## "+args[1]+"\n")
		text, _, _ = strings.Cut(text, "\n## ")
	}
	steps := blocks(text, "sh")
	if len(steps) == 0 {
		ts.Fatalf("%s has no step", strings.Join(args, ", "))
	}
	ts.Check(ts.Exec("bash", "-e", "-o", "pipefail", "-c", strings.Join(steps, "\n")))
}
