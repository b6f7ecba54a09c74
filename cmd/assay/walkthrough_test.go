//go:build live

package main

import (
	"os"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// blocks returns the fenced code blocks of a language in a Markdown text, without the
// indentation that they have in a list.
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

// write-block MARKDOWN LANGUAGE FILE writes the text's first block of the language to a
// file.
func writeBlock(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: write-block MARKDOWN LANGUAGE FILE")
	}
	found := blocks(ts.ReadFile(args[0]), args[1])
	if len(found) == 0 {
		ts.Fatalf("%s has no block of %s", args[0], args[1])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), []byte(found[0]), 0o644))
}

// run-blocks MARKDOWN [HEADING] runs every sh block of the text, or below that heading, in
// order, as a reader would; each must succeed.
func runBlocks(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: run-blocks MARKDOWN [HEADING]")
	}
	text := ts.ReadFile(args[0])
	if len(args) == 2 {
		_, text, _ = strings.Cut(text, "\n## "+args[1]+"\n")
		text, _, _ = strings.Cut(text, "\n## ")
	}
	steps := blocks(text, "sh")
	if len(steps) == 0 {
		ts.Fatalf("%s has no block of sh", strings.Join(args, ", "))
	}
	ts.Check(ts.Exec("bash", "-e", "-o", "pipefail", "-c", strings.Join(steps, "\n")))
}
