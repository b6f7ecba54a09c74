package rulebook_test

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"assay.dev/assay/internal/rulebook"
)

var update = flag.Bool("update", false, "rewrite the table of docs/rulebook.md")

// Every rule is complete, and no two have the same id.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range rulebook.All() {
		for _, text := range []string{r.ID, r.What, r.Effect, r.Advice, r.Source} {
			if text == "" || strings.ContainsAny(text, "\n|") {
				t.Errorf("rule %q: want one line without a bar: %q", r.ID, text)
			}
		}
		if strings.HasSuffix(r.What, ".") || !strings.HasSuffix(r.Advice, ".") {
			t.Errorf("rule %s: want a full stop after the advice, and none after what it is about", r.ID)
		}
		if r.Override && r.Limit == "" {
			t.Errorf("rule %s has no limit that a profile could override", r.ID)
		}
		if found, ok := rulebook.Find(r.ID); seen[r.ID] || !ok || found != r {
			t.Errorf("rule %s is in the table twice", r.ID)
		}
		seen[r.ID] = true
	}
	if _, ok := rulebook.Find("no-such-rule"); ok || rulebook.Blames("no-such-rule") != "" {
		t.Error("found a rule that does not exist")
	}
	if !regexp.MustCompile(`^\d+\.\d+\.\d+$`).MatchString(rulebook.Version) {
		t.Errorf("%q is no semantic version", rulebook.Version)
	}
}

// The table of docs/rulebook.md is up to date.
func TestDocs(t *testing.T) {
	const path, begin, end = "../../docs/rulebook.md", "<!-- The table is generated. -->\n", "<!-- The end of the table. -->\n"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, ended := strings.Cut(rest, end)
	if !ok || !ended {
		t.Fatalf("%s has no place for the table", path)
	}
	want := before + begin + table() + end + after
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := gocmp.Diff(want, string(text)); diff != "" {
		t.Errorf("%s is out of date (to update: go test ./internal/rulebook -update):\n%s", path, diff)
	}
}

func table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\nThis is version %s of the rulebook.\n\n", rulebook.Version)
	b.WriteString("| id | what must hold | limit | where it does not | blames | advice | from |\n|---|---|---|---|---|---|---|\n")
	for _, r := range rulebook.All() {
		limit := cmp.Or(r.Limit, "none")
		if r.Override {
			limit += " (`rules` may override it)"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s | %s |\n", r.ID, r.What, limit, r.Effect, r.Blames, r.Advice, r.Source)
	}
	b.WriteString("\n")
	return b.String()
}
