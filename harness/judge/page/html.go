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
	layout      = template.Must(template.ParseFS(assets, "assets/page.html.tmpl"))
	style       = asset("page.css")
	chartStyle  = asset("uplot/uPlot.min.css") + style
	chartScript = "/* uPlot 1.6.32\n" + asset("uplot/LICENSE") + "*/\n" + asset("uplot/uPlot.iife.min.js") + asset("charts.js")
)

func asset(name string) string {
	data, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic(err) // a file of the binary
	}
	return string(data)
}

// HTML writes a page that needs nothing but itself: it loads and sends nothing, and
// without JavaScript it lacks the charts alone. A page shows one block of charts.
func HTML(p Page) ([]byte, error) {
	h := &htmlPage{source: p.Source}
	sections := slices.IndexFunc(p.Blocks, func(b Block) bool { _, is := b.(Section); return is })
	if sections < 0 {
		sections = len(p.Blocks)
	}
	data := map[string]any{
		"Title": shorten(p.Title, mostItem), "Verdict": shorten(p.Verdict, mostCell), "State": VerdictState(p.Verdict),
		"Header": h.blocks(p.Blocks[:sections], 2), "Main": h.blocks(p.Blocks[sections:], 2),
	}
	style, script := style, ""
	if h.charts != nil {
		style, script = chartStyle, chartScript
		data["Charts"] = h.charts
	}
	data["Policy"] = policy(style, script)
	data["Style"], data["Script"] = template.CSS(style), template.JS(script) //nolint:gosec // our own files
	var b bytes.Buffer
	if err := layout.ExecuteTemplate(&b, "page.html.tmpl", data); err != nil {
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

// What the template shows, cleaned and cut; it escapes.
type (
	htmlPage struct {
		source string
		charts *Charts
	}
	htmlBlock struct {
		Kind    string
		Block   Block
		Level   int // of a section's heading
		Heading string
		Inner   []htmlBlock
		Text    string
		State   State
		Facts   Facts
		Items   []string
		Head    []htmlCell
		Rows    [][]htmlCell
		More    string
	}
	htmlCell struct {
		Class    string
		Text     string
		Bars     *Bars // in percent
		Interval *htmlInterval
	}
	htmlInterval struct { // in pixels
		Label         string
		State         State
		Width, Middle float64
		Band          htmlSpan
		Range         *htmlSpan
		Value         *float64
	}
	htmlSpan struct{ X, Width float64 }
)

func (h *htmlPage) blocks(all []Block, level int) (out []htmlBlock) {
	for _, b := range all {
		v := htmlBlock{Block: b, Level: level}
		left := 0
		switch b := b.(type) {
		case Paragraph:
			v.Kind, v.Text, v.State = "paragraph", shorten(b.Text, mostParagraph), b.State
		case Facts:
			v.Kind = "facts"
			for _, f := range b {
				v.Facts = append(v.Facts, Fact{shorten(f.Name, mostCell), shorten(f.Text, mostItem)})
			}
		case List:
			var items []string
			v.Kind = "list"
			items, left = shown(b.Items, b.Most)
			for _, item := range items {
				v.Items = append(v.Items, shorten(item, mostItem))
			}
		case Code:
			v.Kind = "code"
			for _, line := range b {
				v.Items = append(v.Items, Clean(line))
			}
		case Table:
			v.Kind = "table"
			left = v.table(b)
		case Charts:
			v.Kind, h.charts = "charts", b.clean()
			for _, c := range b.Charts {
				v.Items = append(v.Items, shorten(c.Title, mostCell))
			}
		case Section:
			v.Kind, v.Heading, v.Inner = "section", shorten(b.Heading, mostItem), h.blocks(b.Blocks, level+1)
		}
		if left > 0 {
			v.More = more(left, h.source)
		}
		out = append(out, v)
	}
	return out
}

// table sets the cells of a table, and tells how many rows are left out.
func (v *htmlBlock) table(t Table) (left int) {
	rows, left := shown(t.Rows, t.Most)
	if t.headed() && len(rows) > 0 {
		for _, c := range t.Columns {
			v.Head = append(v.Head, htmlCell{Class: c.class(), Text: shorten(c.Name, mostCell)})
		}
	}
	for _, row := range rows {
		var cells []htmlCell
		for i, c := range row {
			cell := htmlCell{
				Class: strings.TrimSpace(t.Columns[i].class() + " " + c.State.String()),
				Text:  shorten(c.Text, t.Columns[i].most()),
			}
			switch g := c.Graph.(type) {
			case Bars:
				cell.Bars = &Bars{tenths(100 * g.Upper), tenths(100 * g.Lower)}
			case Interval:
				cell.Interval = g.html()
			}
			cells = append(cells, cell)
		}
		v.Rows = append(v.Rows, cells)
	}
	return left
}

func (c Column) class() string {
	return map[Kind]string{Name: "name", Word: "word", Number: "number", Prose: "prose"}[c.Kind]
}

// intervalWidth is that of an interval's axis, in pixels.
const intervalWidth = 260

func (i Interval) html() *htmlInterval {
	x := func(at float64) float64 { return tenths(intervalWidth * at) }
	span := func(from, to float64) htmlSpan { return htmlSpan{x(from), max(1, tenths(x(to)-x(from)))} }
	out := &htmlInterval{
		Label: shorten(i.Label, mostCell), State: i.State, Width: intervalWidth, Middle: intervalWidth / 2, Band: span(i.BandFrom, i.BandTo),
	}
	if i.From != nil && i.To != nil {
		s := span(*i.From, *i.To)
		out.Range = &s
	}
	if i.Value != nil {
		at := x(*i.Value)
		out.Value = &at
	}
	return out
}

// tenths of a pixel are enough.
func tenths(x float64) float64 { return math.Round(10*x) / 10 }

// clean cleans the names, which a script draws.
func (c Charts) clean() *Charts {
	c.Spans, c.Charts = slices.Clone(c.Spans), slices.Clone(c.Charts)
	for i := range c.Spans {
		c.Spans[i].Name = shorten(c.Spans[i].Name, mostCell)
	}
	for i := range c.Charts {
		c.Charts[i].Curves = slices.Clone(c.Charts[i].Curves)
		for k := range c.Charts[i].Curves {
			c.Charts[i].Curves[k].Label = shorten(c.Charts[i].Curves[k].Label, mostCell)
		}
	}
	return &c
}
