package page

// Charts are curves over one axis of time, drawn where scripts run.
type Charts struct {
	Note    string  `json:"-"`       // before the charts
	Instead string  `json:"-"`       // where no script runs
	Step    int64   `json:"step"`    // seconds from one point to the next
	Seconds []int64 `json:"seconds"` // where each step begins
	Spans   []Span  `json:"spans"`
	Charts  []Chart `json:"charts"`
}

// Span is a named part of the axis, in seconds.
type Span struct {
	Name   string `json:"name"`
	From   int64  `json:"from"`
	To     int64  `json:"to"`
	Shaded bool   `json:"shaded"`
}

// Chart is curves with one scale.
type Chart struct {
	Title   string  `json:"-"`
	Log     bool    `json:"log,omitempty"`
	Stacked bool    `json:"stacked,omitempty"` // each curve on top of those before it
	Curves  []Curve `json:"curves"`
}

// Curve has a value for each step; nil is "no data".
type Curve struct {
	Label  string     `json:"label"`
	Values []*float64 `json:"values,omitempty"`
	Level  *float64   `json:"level,omitempty"` // in place of values: a limit, the same throughout
	Color  string     `json:"color"`           // "#rrggbb", or the name of a colour of the style sheet
	Line   Line       `json:"line,omitempty"`
}

// Line is how a curve is drawn.
type Line string

// The lines.
const (
	Solid   Line = ""
	Dashed  Line = "dashed"
	Wide    Line = "wide" // to be seen below another
	Stepped Line = "stepped"
)
