package spec_test

import (
	"maps"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"assay.dev/assay/internal/spec"
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
	for _, e := range badEdits(t) {
		all = append(all, e.badCase())
	}
	return all
}

// badEdit makes a bad file of a good one.
type badEdit struct {
	name, good, before, after string
	schema                    bool
}

func (e badEdit) badCase() badCase {
	return badCase{e.name, []byte(strings.Replace(e.good, e.before, e.after, 1)), e.schema}
}

func badEdits(t testing.TB) []badEdit {
	return editsIn(t, "testdata/bad.edits", func(base string) string { return "testdata/good/" + base + ".json" })
}

// editsIn reads a file of edits; goodFile is the path of the file to edit, by its BASE,
// which is empty where the lines have none.
func editsIn(t testing.TB, file string, goodFile func(base string) string) (all []badEdit) {
	t.Helper()
	for line := range strings.Lines(string(read(t, file))) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		head, edit, _ := strings.Cut(line, " `")
		base, name, ok := strings.Cut(strings.TrimSpace(head), " ")
		if !ok {
			base, name = "", base
		}
		before, after, ok := strings.Cut(strings.TrimSuffix(edit, "`"), "` => `")
		good := string(read(t, goodFile(base)))
		if !ok || strings.Count(good, before) != 1 {
			t.Fatalf("%s: %s: %q occurs %d times", file, line, before, strings.Count(good, before))
		}
		plain, schema := strings.CutSuffix(name, "!")
		all = append(all, badEdit{plain, good, before, after, schema})
	}
	return all
}

// misfit is the problem that a hold_max does not fit the hold, whose values another mistake
// may have changed.
var misfit = regexp.MustCompile(`^hold_max [0-9.hms]+ is `)

// Two mistakes in one file are reported as each is reported alone, without a third
// error. One may hide the other, if it is in a value that the other makes unreadable; and a
// hold_max that does not fit its hold may not fit another hold in another way.
func TestTwoMistakesCauseNoThirdError(t *testing.T) { twoMistakes(t, 0.1) }

// twoMistakes tries this share of the pairs.
func twoMistakes(t *testing.T, share float64) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 1))
	problems := func(text string) map[string]bool {
		_, err := spec.Decode("bad.json", []byte(text))
		found := map[string]bool{}
		for _, e := range faults(t, "bad.json", err) {
			found[e.Problem] = true
		}
		return found
	}
	anyMisfit := func(all map[string]bool) bool {
		return slices.ContainsFunc(slices.Collect(maps.Keys(all)), misfit.MatchString)
	}
	edits, pairs := badEdits(t), 0
	alone := make([]map[string]bool, len(edits))
	for i, e := range edits {
		alone[i] = problems(strings.Replace(e.good, e.before, e.after, 1))
	}
	for i, a := range edits {
		one := strings.Replace(a.good, a.before, a.after, 1)
		for j, b := range edits {
			if random.Float64() >= share || a.good != b.good || strings.Count(one, b.before) != 1 || strings.Count(b.after, a.before) != 0 {
				continue // they cannot be combined
			}
			pairs++
			for p := range problems(strings.Replace(one, b.before, b.after, 1)) {
				known := alone[i][p] || alone[j][p] || misfit.MatchString(p) && (anyMisfit(alone[i]) || anyMisfit(alone[j]))
				if !known && !strings.HasPrefix(p, "duplicate ") && !strings.Contains(p+a.name+b.name, "stages") {
					t.Errorf("%s and %s cause %s", a.name, b.name, p)
				}
			}
		}
	}
	if float64(pairs) < share*float64(len(edits)) {
		t.Errorf("%d pairs of %d mistakes were tried", pairs, len(edits))
	}
	t.Logf("%d pairs", pairs)
}
