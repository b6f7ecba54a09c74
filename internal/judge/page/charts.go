// SPDX-License-Identifier: Apache-2.0

package page

// Charts are curves over one time axis, drawn by a script.
type Charts struct {
	Note     string  `json:"-"`       // shown above the charts
	NoScript string  `json:"-"`       // shown without JavaScript
	Step     int64   `json:"step"`    // seconds from one point to the next
	Seconds  []int64 `json:"seconds"` // start of each step
	Spans    []Span  `json:"spans"`
	Charts   []Chart `json:"charts"`
}

// Span is a named part of the time axis, in seconds.
type Span struct {
	Name   string `json:"name"`
	From   int64  `json:"from"`
	To     int64  `json:"to"`
	Shaded bool   `json:"shaded"`
}

// Chart is curves with one y-axis.
type Chart struct {
	Title   string  `json:"-"`
	Log     bool    `json:"log,omitempty"`
	Stacked bool    `json:"stacked,omitempty"` // each curve is drawn on top of those before it
	Curves  []Curve `json:"curves"`
}

// Curve is a value for each step; nil is "no data".
type Curve struct {
	Label  string     `json:"label"`
	Values []*float64 `json:"values,omitempty"`
	Level  *float64   `json:"level,omitempty"` // a constant, in place of values
	Color  string     `json:"color"`           // "#rrggbb", or the name of a color variable in page.css
	Line   Line       `json:"line,omitempty"`
}

// Line is how a curve is drawn.
type Line string

// The lines.
const (
	Solid   Line = ""
	Dashed  Line = "dashed"
	Wide    Line = "wide" // visible below another curve
	Stepped Line = "stepped"
)
