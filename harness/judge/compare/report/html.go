package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"math"

	"assay/harness/judge/compare"
	"assay/harness/judge/internal/plain"
	"assay/harness/judge/stats/effect"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"number": plain.Number, "ratio": ratio, "interval": interval,
}).Parse(pageText))

// HTML is a comparison as a page of its own: no script, nothing from elsewhere.
func HTML(c compare.Comparison) ([]byte, error) { return execute("page", viewOf(c)) }

// Table is its table of metrics, with what the columns mean, for a page that has
// Style.
func Table(c compare.Comparison) (template.HTML, error) {
	text, err := execute("table", viewOf(c))
	return template.HTML(text), err
}

// Style is the style of such pages.
func Style() (template.CSS, error) {
	text, err := execute("style", nil)
	return template.CSS(text), err
}

func execute(name string, of any) ([]byte, error) {
	var b bytes.Buffer
	if err := pageTemplate.ExecuteTemplate(&b, name, of); err != nil {
		return nil, fmt.Errorf("write page: %w", err)
	}
	return bytes.Map(printable, b.Bytes()), nil
}

func viewOf(c compare.Comparison) view {
	lower, upper := effect.Band(c.Tolerance)
	a := axisOf(c)
	view := view{
		Comparison: c, Lower: fixed(lower), Upper: fixed(upper), Alpha: effect.Alpha, Axis: a,
		Band:  span{a.At(lower), a.At(upper)},
		Notes: reasons(c.Metrics), LeftOut: leftOut(c),
	}
	for _, m := range c.Metrics {
		view.Rows = append(view.Rows, rowOf(m, a))
	}
	view.SideA, view.SideB, view.Result, view.Meaning = side(c.A), side(c.B), result(c.Metrics), meaning(c)
	return view
}

// printable replaces what no page may hold, and names may.
func printable(r rune) rune {
	if r == '\n' {
		return r
	}
	return plain.Printable(r)
}

// view is what the template shows.
type view struct {
	compare.Comparison
	SideA, SideB   string
	Result         string
	Meaning        string
	Lower, Upper   string
	Alpha          float64
	Axis           axis
	Band           span
	Rows           []row
	Notes, LeftOut []string
}

// row is a metric and its bar.
type row struct {
	compare.Metric
	Word string // the decision, and of a change its direction
	Dot  *float64
	Bar  *span
}

// span is from left to right, in pixels.
type span struct{ From, To float64 }

// Width of a span; a thread where it is thinner.
func (s span) Width() float64 { return math.Max(1, tenths(s.To-s.From)) }

// axis is logarithmic with 1 in its middle, so that twice and half are as far.
type axis struct {
	Pixels float64
	reach  float64 // of the logarithm at either end
}

// Middle is where the ratio is 1.
func (a axis) Middle() float64 { return a.Pixels / 2 }

// Least and Most are the ratios at the ends.
func (a axis) Least() string { return fixed(math.Exp(-a.reach)) }

// Most is the ratio at the right end.
func (a axis) Most() string { return fixed(math.Exp(a.reach)) }

// At is where a ratio stands; what is off the axis stands at its end.
func (a axis) At(ratio float64) float64 {
	at := math.Min(math.Max(math.Log(ratio)/a.reach, -1), 1)
	return tenths((1 + at) * a.Pixels / 2)
}

// tenths of a pixel are enough.
func tenths(x float64) float64 { return math.Round(x*10) / 10 }

// Widest reach: one ratio of a thousand must not flatten all others.
const (
	pixels = 260
	farOff = 100
)

// axisOf reaches over all intervals and some way over the band.
func axisOf(c compare.Comparison) axis {
	_, upper := effect.Band(c.Tolerance)
	a := axis{Pixels: pixels, reach: 3 * math.Log(upper)}
	for _, m := range c.Metrics {
		for _, v := range []*float64{m.Ratio, m.Lower, m.Upper} {
			if v != nil {
				a.reach = math.Max(a.reach, 1.1*math.Abs(math.Log(*v)))
			}
		}
	}
	a.reach = math.Min(a.reach, math.Log(farOff))
	return a
}

func rowOf(m compare.Metric, a axis) row {
	r := row{Metric: m, Word: string(m.Decision)}
	if m.Direction != compare.NoDirection {
		r.Word += ": " + m.Direction
	}
	if m.Ratio != nil {
		at := a.At(*m.Ratio)
		r.Dot = &at
	}
	if m.Lower != nil && m.Upper != nil {
		r.Bar = &span{a.At(*m.Lower), a.At(*m.Upper)}
	}
	return r
}
