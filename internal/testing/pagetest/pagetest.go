package pagetest

import (
	"bytes"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	gmhtml "github.com/yuin/goldmark/renderer/html"
	"golang.org/x/net/html"
)

// TB is the part of testing.TB that a property's T has too.
type TB interface {
	Helper()
	Fatal(args ...any)
}

// HTML parses a page.
func HTML(t TB, data []byte) *html.Node {
	t.Helper()
	root, err := html.Parse(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// Markdown renders Markdown as GitHub does, but lets raw HTML through: our output must
// contain none.
func Markdown(t TB, data []byte) *html.Node {
	t.Helper()
	var out bytes.Buffer
	if err := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(gmhtml.WithUnsafe())).Convert(data, &out); err != nil {
		t.Fatal(err)
	}
	return HTML(t, out.Bytes())
}

// Text is the text of a node.
func Text(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return strings.TrimSpace(b.String())
}

// Elements are the names of the elements below a node, sorted.
func Elements(root *html.Node) (names []string) {
	for n := range root.Descendants() {
		if n.Type == html.ElementNode && !slices.Contains(names, n.Data) {
			names = append(names, n.Data)
		}
	}
	slices.Sort(names)
	return names
}

// Tables are the texts of all table cells, by table and row.
func Tables(root *html.Node) (tables [][][]string) {
	for n := range root.Descendants() {
		switch n.Data {
		case "table":
			tables = append(tables, nil)
		case "tr":
			last := &tables[len(tables)-1]
			*last = append(*last, cells(n))
		}
	}
	return tables
}

func cells(row *html.Node) (texts []string) {
	for c := range row.ChildNodes() {
		if c.Data == "td" || c.Data == "th" {
			texts = append(texts, Text(c))
		}
	}
	return texts
}

// loading are the attributes through which an element could load, run or link to
// something.
var loading = []string{"src", "href", "srcset", "action", "formaction", "data", "style", "poster", "background", "ping"}

// LoadingAttributes are the attributes of an element through which it could load, run or
// link to something.
func LoadingAttributes(n *html.Node) (found []string) {
	for _, a := range n.Attr {
		if slices.Contains(loading, a.Key) || strings.HasPrefix(a.Key, "on") {
			found = append(found, a.Key+"="+a.Val)
		}
	}
	return found
}
