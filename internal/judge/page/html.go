// SPDX-License-Identifier: Apache-2.0

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

// Each page has one style element and at most one script element, and loads nothing
// else. Only pages with charts contain the parts for charts.
var (
	style       = asset("page.css")
	chartStyle  = asset("uplot/uPlot.min.css") + style
	chartScript = "/* uPlot 1.6.32\n" + asset("uplot/LICENSE") + "*/\n" + asset("uplot/uPlot.iife.min.js") + asset("charts.js")
	layout      = template.Must(template.New("page.html.tmpl").Funcs(template.FuncMap{
		"below": func(l level, blocks []Block) level { return level{blocks, l.Depth + 1, l.Source} },
		"text":  func(l level, s string) string { return l.Source.shorten(s, maxParagraph) },
		"item":  func(l level, s string) string { return l.Source.shorten(s, maxItem) },
		"clean": Clean,
		"items": func(l List) []string { items, _ := truncate(l.Items, l.Limit); return items },
		"rows":  func(t Table) [][]Cell { rows, _ := truncate(t.Rows, t.Limit); return rows },
		"more":  moreOf,
		"class": func(c Column, s State) string { return strings.TrimSpace(c.Kind.class() + " " + s.String()) },
		"cell":  func(l level, c Column, text string) string { return l.Source.shorten(text, c.maxCharacters()) },
		"px":    func(share float64) float64 { return tenths(intervalWidth * share) },
		"width": func(from, to float64) float64 { return math.Max(1, tenths(intervalWidth*(to-from))) },
		"of100": func(share float64) float64 { return tenths(100 * share) },
	}).ParseFS(assets, "assets/page.html.tmpl"))
)

// intervalWidth is the width of an interval's axis in pixels.
const intervalWidth = 260

func asset(name string) string {
	data, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic(err) // the file is embedded
	}
	return string(data)
}

// level is a list of blocks with its nesting depth.
type level struct {
	Blocks []Block
	Depth  int
	Source source
}

// HTML renders a self-contained page: it loads and sends nothing, and only its charts
// need JavaScript. A page has at most one block of charts.
func HTML(p Page) ([]byte, error) {
	header := slices.IndexFunc(p.Blocks, func(b Block) bool { _, is := b.(Section); return is })
	if header < 0 {
		header = len(p.Blocks)
	}
	style, script, charts, in := style, "", chartsOf(p.Blocks), source(p.Source)
	if charts != nil {
		style, script = chartStyle, chartScript
	}
	var b bytes.Buffer
	if err := layout.Execute(&b, map[string]any{
		"Title": in.shorten(p.Title, maxItem), "Verdict": in.shorten(p.Verdict, maxCell), "State": VerdictState(p.Verdict),
		"Header": level{p.Blocks[:header], 1, in}, "Main": level{p.Blocks[header:], 1, in}, "Charts": charts,
		"Policy": policy(style, script), "Style": template.CSS(style), "Script": template.JS(script), //nolint:gosec // our own files
	}); err != nil {
		return nil, fmt.Errorf("write HTML page: %w", err)
	}
	return b.Bytes(), nil
}

// policy is a Content-Security-Policy that allows only the page's own style and script,
// by digest: text that became markup by mistake could not load, send or run anything.
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

// moreOf says how much a table or list leaves out.
func moreOf(l level, b Block) string {
	left := 0
	switch b := b.(type) {
	case List:
		_, left = truncate(b.Items, b.Limit)
	case Table:
		_, left = truncate(b.Rows, b.Limit)
	}
	return more(left, l.Source)
}

func (k Kind) class() string {
	return [...]string{Name: "name", Word: "word", Number: "number", Prose: "prose", Graph: ""}[k]
}

// tenths rounds to tenths of a pixel.
func tenths(x float64) float64 { return math.Round(10*x) / 10 }

// chartsOf finds the charts among blocks, with cleaned names.
func chartsOf(all []Block) *Charts {
	for _, b := range all {
		switch b := b.(type) {
		case Charts:
			cleaned := b.cleaned()
			return &cleaned
		case Section:
			if c := chartsOf(b.Blocks); c != nil {
				return c
			}
		}
	}
	return nil
}

// cleaned is a copy with the names of spans and curves in one short line each.
func (c Charts) cleaned() Charts {
	c.Spans, c.Charts = slices.Clone(c.Spans), slices.Clone(c.Charts)
	for i, s := range c.Spans {
		c.Spans[i].Name = cut(oneLine(s.Name), maxCell)
	}
	for i, chart := range c.Charts {
		c.Charts[i].Curves = slices.Clone(chart.Curves)
		for k, curve := range chart.Curves {
			c.Charts[i].Curves[k].Label = cut(oneLine(curve.Label), maxCell)
		}
	}
	return c
}
