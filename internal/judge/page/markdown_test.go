package page

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"
	"pgregory.net/rapid"

	"assay.dev/assay/internal/testing/pagetest"
)

// A rendered text reads like the original, character by character.
func FuzzEscape(f *testing.F) {
	for _, s := range hostile {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		s = oneLine(s)
		if s == "" {
			return
		}
		for _, markdown := range []string{"- " + escape(s) + "\n", escape(s) + "\n", "| a |\n|---|\n| " + escape(s) + " |\n"} {
			root := pagetest.Markdown(t, []byte(markdown))
			got := strings.TrimPrefix(pagetest.Text(root), "a\n")
			if _, last, found := strings.Cut(got, "\n\n"); strings.HasPrefix(markdown, "|") && found {
				got = strings.TrimSpace(last)
			}
			if got != s {
				t.Errorf("%q is rendered as %q", s, got)
			}
		}
	})
}

func TestMarkdown(t *testing.T) {
	p := Page{Title: "payment", Verdict: "FAIL", Source: "certificate.json", Blocks: []Block{
		Paragraph{Text: "Not signed.", State: Doubtful},
		Facts{{"target", "http://here"}},
		Section{Heading: "SLOs", Blocks: []Block{
			Table{
				Columns: slices.Concat(Names("SLO"), Words("verdict"), Numbers("observed"), []Column{{"drawn", Graph}}), Limit: 1,
				Rows: [][]Cell{{{Text: "a|b"}, {Text: "FAIL", State: Bad}, {Text: "36.7 ms"}, {}}, Cells("c", "PASS", "1", "")},
			},
			Section{Heading: "More", Blocks: []Block{List{Items: []string{"one", "two"}, Limit: 1}, Code{"assay judge RUN   # again"}}},
		}},
	}}
	want := `## FAIL: payment

**Not signed.**

- target: http\://here

### SLOs

| SLO | verdict | observed |
|---|---|---:|
| a\|b | **FAIL** | 36.7 ms |

and 1 more, in certificate.json

#### More

- one

and 1 more, in certificate.json

    assay judge RUN   # again

`
	if diff := cmp.Diff(want, string(Markdown(p))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Whatever its texts, a page has only our own elements, and no extra table cells.
func TestMarkdownOfAnyPage(t *testing.T) {
	ours := []string{"html", "head", "body", "h2", "h3", "h4", "h5", "p", "strong", "ul", "li", "table", "thead", "tbody", "tr", "th", "td", "pre", "code"}
	rapid.Check(t, func(rt *rapid.T) {
		root := pagetest.Markdown(t, Markdown(anyPage().Draw(rt, "page")))
		for n := range root.Descendants() {
			if n.Type == html.ElementNode && !slices.Contains(ours, n.Data) {
				rt.Errorf("there is a %s", n.Data)
			}
		}
		for _, table := range pagetest.Tables(root) {
			for _, row := range table {
				if len(row) != len(table[0]) {
					rt.Errorf("a row has %d cells, the first has %d", len(row), len(table[0]))
				}
			}
		}
	})
}
