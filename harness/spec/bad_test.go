package spec_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// badCase is a file that Decode must refuse.
type badCase struct {
	path   string
	data   []byte
	schema bool // structurally bad: the schema must refuse it as well
}

// beyondSchema are the whole files that are JSON of the right structure.
var beyondSchema = map[string]bool{"judged-short.json": true}

// badCases are the files of testdata/bad, then those that testdata/bad.edits
// makes of good files. A line of it is BASE NAME `old` => `new`; a NAME with a
// final ! marks what the schema must refuse too, and # starts a comment.
func badCases(t testing.TB) (all []badCase) {
	t.Helper()
	files, err := filepath.Glob("testdata/bad/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("files %v, error %v", files, err)
	}
	for _, path := range files {
		name := filepath.Base(path)
		all = append(all, badCase{name, read(t, path), !beyondSchema[name]})
	}
	for line := range strings.Lines(string(read(t, "testdata/bad.edits"))) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		head, edit, _ := strings.Cut(line, " `")
		base, name, _ := strings.Cut(head, " ")
		name = strings.TrimSpace(name)
		before, after, ok := strings.Cut(strings.TrimSuffix(edit, "`"), "` => `")
		good := string(read(t, "testdata/good/"+base+".json"))
		if !ok || strings.Count(good, before) != 1 {
			t.Fatalf("testdata/bad.edits: %s: %q stands %d times in %s", line, before, strings.Count(good, before), base)
		}
		plain, schema := strings.CutSuffix(name, "!")
		all = append(all, badCase{plain, []byte(strings.Replace(good, before, after, 1)), schema})
	}
	return all
}
