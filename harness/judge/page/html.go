package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"
)

//go:embed assets
var assets embed.FS

// One style and one script element each, so that a page needs nothing else, now or
// in ten years; what only charts need is on pages with charts alone.
var (
	style       = asset("page.css")
	chartStyle  = asset("uplot/uPlot.min.css") + style
	chartScript = "/* uPlot 1.6.32\n" + asset("uplot/LICENSE") + "*/\n" + asset("uplot/uPlot.iife.min.js") + asset("charts.js")
	layout      = template.Must(template.New("page.html.tmpl").Funcs(template.FuncMap{
		"below": func(l level, blocks []Block) level { return level{blocks, l.Depth + 1, l.Source} },
		"text":  func(s string) string { return shorten(s, mostParagraph) },
		"item":  func(s string) string { return shorten(s, mostItem) },
		"clean": Clean,
		"items": func(l List) []string { items, _ := shown(l.Items, l.Most); return items },
		"rows":  func(t Table) [][]Cell { rows, _ := shown(t.Rows, t.Most); return rows },
		"more":  moreOf,
		"class": func(c Column, s State) string { return strings.TrimSpace(c.Kind.class() + " " + s.String()) },
		"cell":  func(c Column, text string) string { return shorten(text, c.most()) },
		"px":    func(share float64) float64 { return tenths(intervalWidth * share) },
		"width": func(from, to float64) float64 { return math.Max(1, tenths(intervalWidth*(to-from))) },
		"of100": func(share float64) float64 { return tenths(100 * share) },
	}).ParseFS(assets, "assets/page.html.tmpl"))
)

// intervalWidth is that of an interval's axis, in pixels.
const intervalWidth = 260

func asset(name string) string {
	data, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic(err) // a file of the binary
	}
	return string(data)
}

// level is blocks and how deep they stand.
type level struct {
	Blocks []Block
	Depth  int
	Source string
}

// HTML writes a page that needs nothing but itself: it loads and sends nothing, and
// without JavaScript it lacks the charts alone. A page has one block of charts.
func HTML(p Page) ([]byte, error) {
	header := slices.IndexFunc(p.Blocks, func(b Block) bool { _, is := b.(Section); return is })
	if header < 0 {
		header = len(p.Blocks)
	}
	style, script, charts := style, "", chartsOf(p.Blocks)
	if charts != nil {
		style, script = chartStyle, chartScript
	}
	var b bytes.Buffer
	if err := layout.Execute(&b, map[string]any{
		"Title": shorten(p.Title, mostItem), "Verdict": shorten(p.Verdict, mostCell), "State": VerdictState(p.Verdict),
		"Header": level{p.Blocks[:header], 1, p.Source}, "Main": level{p.Blocks[header:], 1, p.Source}, "Charts": charts,
		"Policy": policy(style, script), "Style": template.CSS(style), "Script": template.JS(script), //nolint:gosec // our own files
	}); err != nil {
		return nil, fmt.Errorf("write HTML page: %w", err)
	}
	return b.Bytes(), nil
}

// policy lets a page run and show what it brings along, by digest, and load or send
// nothing: a name that slipped through as markup would still do nothing.
func policy(style, script string) string {
	allowed := fmt.Sprintf("default-src 'none'; style-src '%s'; ", digest(style))
	if script != "" {
		allowed += fmt.Sprintf("script-src '%s'; ", digest(script))
	}
	return allowed + "base-uri 'none'; form-action 'none'"
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// moreOf says what a table or list leaves out.
func moreOf(l level, b Block) string {
	left := 0
	switch b := b.(type) {
	case List:
		_, left = shown(b.Items, b.Most)
	case Table:
		_, left = shown(b.Rows, b.Most)
	}
	return more(left, l.Source)
}

func (k Kind) class() string {
	return [...]string{Name: "name", Word: "word", Number: "number", Prose: "prose", Graph: ""}[k]
}

// tenths of a pixel are enough.
func tenths(x float64) float64 { return math.Round(10*x) / 10 }

// chartsOf are the charts among blocks, with clean names, for the script.
func chartsOf(all []Block) *Charts {
	for _, b := range all {
		switch b := b.(type) {
		case Charts:
			b.Spans, b.Charts = slices.Clone(b.Spans), slices.Clone(b.Charts)
			for i, s := range b.Spans {
				b.Spans[i].Name = shorten(s.Name, mostCell)
			}
			for i, chart := range b.Charts {
				b.Charts[i].Curves = slices.Clone(chart.Curves)
				for k, c := range chart.Curves {
					b.Charts[i].Curves[k].Label = shorten(c.Label, mostCell)
				}
			}
			return &b
		case Section:
			if c := chartsOf(b.Blocks); c != nil {
				return c
			}
		}
	}
	return nil
}
