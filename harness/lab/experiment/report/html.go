package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"strings"
	"unicode"

	comparison "assay/harness/judge/compare/report"
	"assay/harness/lab/experiment"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// HTML is the result as a page of its own: no script, nothing from elsewhere. The
// metrics are drawn as assay compare draws them.
func HTML(d experiment.Document) ([]byte, error) {
	style, err := comparison.Style()
	if err != nil {
		return nil, err
	}
	v := view{Document: d, Style: style, Facts: facts(d)[1:], Limitations: limitations(d)}
	if t := capacities(d); len(t.Rows) > 0 {
		v.Capacity = &t
	}
	for _, e := range d.Effects {
		shown := effect{Effect: e, Tables: tables(d, e), Bars: bars(e), Heading: others(d, e)}
		if e.Comparison != nil {
			if shown.Metrics, err = comparison.Table(undecided(e)); err != nil {
				return nil, err
			}
		}
		v.Shown = append(v.Shown, shown)
	}
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, v); err != nil {
		return nil, fmt.Errorf("write page: %w", err)
	}
	return bytes.Map(printable, b.Bytes()), nil
}

// printable replaces what no page may hold, and names may.
func printable(r rune) rune {
	if r == '\n' || unicode.IsPrint(r) {
		return r
	}
	return unicode.ReplacementChar
}

// view is what the template shows.
type view struct {
	experiment.Document
	Style       template.CSS
	Facts       []fact
	Shown       []effect
	Capacity    *table
	Limitations []string
}

type effect struct {
	experiment.Effect
	Heading string // of the metrics
	Tables  []table
	Metrics template.HTML
	Bars    []bar
}

// bar is one event before and after, in pixels.
type bar struct {
	Label string
	A, B  float64
	TextA string
	TextB string
	Y     int
}

const (
	barPixels = 360.0
	barPitch  = 52
)

// Rows and places of a bar's two lines.
func (b bar) YA() int     { return b.Y + 18 }
func (b bar) YB() int     { return b.Y + 32 }
func (b bar) YText() int  { return b.Y + 11 }
func (b bar) XA() float64 { return b.A + 6 }
func (b bar) XB() float64 { return b.B + 6 }
func (b bar) YTextA() int { return b.Y + 26 }
func (b bar) YTextB() int { return b.Y + 40 }

// bars draws the events, all on one scale.
func bars(e experiment.Effect) (all []bar) {
	most := 0.0
	for _, w := range e.Events {
		for _, v := range []*float64{w.A, w.B} {
			if v != nil {
				most = max(most, *v)
			}
		}
	}
	if most == 0 {
		return nil
	}
	pixels := func(v *float64) float64 {
		if v == nil {
			return 0
		}
		return float64(int(10*barPixels**v/most)) / 10
	}
	for i, w := range e.Events {
		all = append(all, bar{
			Label: strings.TrimSpace(w.Class + "  " + eventName(w)), A: pixels(w.A), B: pixels(w.B), TextA: number(w.A), TextB: number(w.B), Y: i * barPitch,
		})
	}
	return all
}

// Height of the bars of an effect.
func (e effect) Height() int { return len(e.Bars) * barPitch }
