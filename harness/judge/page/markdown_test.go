package page

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	gmhtml "github.com/yuin/goldmark/renderer/html"
	"golang.org/x/net/html"
	"pgregory.net/rapid"
)

// rendered is Markdown as GitHub renders it, but with raw HTML let through: our output
// must contain none.
func rendered(t testing.TB, markdown []byte) *html.Node {
	t.Helper()
	var out bytes.Buffer
	if err := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(gmhtml.WithUnsafe())).Convert(markdown, &out); err != nil {
		t.Fatal(err)
	}
	root, err := html.Parse(&out)
	if err != nil {
		t.Fatal(err)
	}
	return root
}

func textOf(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return strings.TrimSpace(b.String())
}

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
			root := rendered(t, []byte(markdown))
			got := strings.TrimPrefix(textOf(root), "a\n")
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
		root := rendered(t, Markdown(anyPage().Draw(rt, "page")))
		for n := range root.Descendants() {
			if n.Type == html.ElementNode && !slices.Contains(ours, n.Data) {
				rt.Errorf("there is a %s", n.Data)
			}
			if n.Data == "table" {
				checkCells(rt, n)
			}
		}
	})
}

// checkCells fails if the rows of a table differ in length.
func checkCells(rt *rapid.T, table *html.Node) {
	first := -1
	for n := range table.Descendants() {
		if n.Data != "tr" {
			continue
		}
		cells := 0
		for c := range n.ChildNodes() {
			if c.Data == "td" || c.Data == "th" {
				cells++
			}
		}
		if first < 0 {
			first = cells
		}
		if cells != first {
			rt.Errorf("a row has %d cells, the first has %d", cells, first)
		}
	}
}
