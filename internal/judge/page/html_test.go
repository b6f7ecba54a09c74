package page

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"pgregory.net/rapid"

	"assay.dev/assay/internal/testing/pagetest"
)

func parsed(t pagetest.TB, p Page) *html.Node {
	t.Helper()
	data, err := HTML(p)
	if err != nil {
		t.Fatal(err)
	}
	return pagetest.HTML(t, data)
}

// Whatever its texts, a page has only our own elements, none of which loads anything,
// and scripts only if it has charts.
func TestHTMLOfAnyPage(t *testing.T) {
	ours := []string{
		"html", "head", "meta", "title", "style", "body", "header", "main", "section", "h1", "h2", "h3", "p", "dl", "dt", "dd", "ul", "li", "pre", "div",
		"table", "thead", "tbody", "tr", "th", "td", "svg", "rect", "line", "circle", "figure", "figcaption", "noscript", "script",
	}
	rapid.Check(t, func(rt *rapid.T) {
		p := anyPage().Draw(rt, "page")
		scripts, figures := 0, 0
		for n := range parsed(rt, p).Descendants() {
			if n.Type != html.ElementNode {
				continue
			}
			switch n.Data {
			case "script":
				scripts++
			case "figure":
				figures++
			}
			if !slices.Contains(ours, n.Data) {
				rt.Errorf("there is a %s", n.Data)
			}
			if found := pagetest.LoadingAttributes(n); len(found) > 0 {
				rt.Errorf("%s has %q", n.Data, found)
			}
		}
		if (scripts > 0) != (figures > 0) || scripts != 0 && scripts != 2 {
			rt.Errorf("%d scripts, %d figures", scripts, figures)
		}
	})
}

// The policy allows the page's own script and style, by digest, and nothing else.
func TestPolicy(t *testing.T) {
	for name, c := range map[string]struct {
		page   Page
		script bool
	}{
		"without charts": {Page{Title: "a"}, false},
		"with charts":    {Page{Blocks: []Block{Charts{Seconds: []int64{0}, Charts: []Chart{{Title: "rate"}}}}}, true},
	} {
		var policy, styleText, scriptText string
		for n := range parsed(t, c.page).Descendants() {
			switch {
			case n.Data == "meta" && len(n.Attr) > 1 && n.Attr[0].Val == "Content-Security-Policy":
				policy = n.Attr[1].Val
			case n.Data == "style":
				styleText = n.FirstChild.Data
			case n.Data == "script" && len(n.Attr) == 0:
				scriptText = n.FirstChild.Data
			}
		}
		if !strings.HasPrefix(policy, "default-src 'none'; ") || strings.Contains(policy, "unsafe") || !strings.Contains(policy, "style-src '"+digest(styleText)+"'") {
			t.Errorf("%s: policy %s", name, policy)
		}
		if (scriptText != "") != c.script || strings.Contains(policy, "script-src") != c.script || c.script && !strings.Contains(policy, "script-src '"+digest(scriptText)+"'") {
			t.Errorf("%s: policy %s, %d bytes of script", name, policy, len(scriptText))
		}
	}
}

// Texts are shortened only if the page names a file with the full texts.
func TestShortenedWithASource(t *testing.T) {
	long := strings.Repeat("word ", 1000) + "end"
	for source, whole := range map[string]bool{"": true, "certificate.json": false} {
		p := Page{Title: "a", Source: source, Blocks: []Block{
			Paragraph{Text: long}, Facts{{"name", long}}, List{Items: []string{long}}, Table{Columns: Names("a"), Rows: [][]Cell{Cells(long)}},
		}}
		data, err := HTML(p)
		if err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{"HTML": string(data), "Markdown": string(Markdown(p))} {
			want := 0
			if whole {
				want = 4
			}
			if got := strings.Count(text, "word end"); got != want {
				t.Errorf("%s with the source %q has %d full texts, want %d", name, source, got, want)
			}
		}
	}
}
