// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"assay.dev/assay/internal/judge/page"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/quantity"
	"assay.dev/assay/internal/spec"
)

// Timeline is a run over time: curves of at most maxSteps points, which keeps the page
// small, and a table row for each stage. A nil value is "no data".
type Timeline struct {
	Curves page.Charts
	Stages [][]page.Cell
}

const (
	maxSteps   = 400
	maxStages  = 100
	maxBounds  = 8
	maxClasses = 12
	maxFlows   = 12
)

// steps are the possible lengths of a step, in seconds.
var steps = []int64{1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600}

// NewTimeline reads the curves and stages of a run.
func NewTimeline(r record.Run) Timeline {
	seconds := int64(r.Plan.Load.Duration() / time.Second)
	c := page.Charts{Step: stepOf(seconds)}
	if r.Timeline == nil {
		return Timeline{Curves: c}
	}
	t0 := r.Facts.T0.Unix()
	var spans []record.Span
	for at := int64(0); at < seconds; at += c.Step {
		c.Seconds = append(c.Seconds, at)
		spans = append(spans, record.Span{From: t0 + at, To: t0 + min(at+c.Step, seconds)})
	}
	c.Charts = trafficCharts(r, spans, t0)
	if waits := classCurves(r, spans); len(waits) > 0 {
		c.Charts = append(c.Charts, page.Chart{Title: "Average active database sessions, by wait class (stacked)", Stacked: true, Curves: waits})
	}
	c.Charts = append(c.Charts, lagChart(r, spans)...)
	c.Charts = append(c.Charts, gaugeCharts(r, spans)...)
	if r.Plan.Profile.Named() {
		flows := r.PerFlow()
		for _, f := range flows[:min(len(flows), maxFlows)] {
			c.Charts = append(c.Charts, trafficCharts(f, spans, t0)...)
		}
	}
	t := Timeline{Curves: c}
	for _, s := range r.Plan.Load.Stages[:min(len(r.Plan.Load.Stages), maxStages)] {
		t.addStage(r, s)
	}
	return t
}

// trafficCharts have the rate, latency and failures of a run, or of one of its flows.
func trafficCharts(r record.Run, spans []record.Span, t0 int64) []page.Chart {
	ended := func(outcome string) []*float64 {
		return each(spans, perSecond(r, metric.Transactions, ofOutcome(outcome)))
	}
	title := func(text string) string { return spec.NameOf(r.Flow, text) }
	return []page.Chart{
		{Title: title("Rate, " + r.Plan.Load.Unit), Curves: []page.Curve{
			{Label: "target", Color: "quiet", Line: page.Dashed, Values: each(spans, func(s record.Span) *float64 { return planned(r.Plan.Load.Stages, s, t0) })},
			{Label: "scheduled", Color: "#8fb4ea", Line: page.Wide, Values: each(spans, perSecond(r, metric.TransactionsScheduled))},
			{Label: "completed", Color: "#3f9b50", Values: ended(metric.Completed)},
		}},
		{Title: title("Transaction latency, ms (logarithmic)"), Log: true, Curves: append(percentiles(r, spans), bounds(r.Plan.Profile.WholeSLOs())...)},
		{Title: title("Transactions not completed, per second"), Curves: []page.Curve{
			{Label: "failed", Color: "#d81b60", Line: page.Stepped, Values: ended(metric.Failed)},
			{Label: "timed out", Color: "#e8862a", Line: page.Stepped, Values: ended(metric.TimedOut)},
			{Label: "dropped", Color: "#8e5bd0", Line: page.Stepped, Values: ended(metric.Dropped)},
		}},
	}
}

// addStage adds a stage of the plan with its measurements.
func (t *Timeline) addStage(r record.Run, s plan.Stage) {
	from, to := int64(s.Start/time.Second), int64(s.End()/time.Second)
	judged := slices.ContainsFunc(r.Plan.Load.Judged, func(j plan.Window) bool { return s.Start >= j.Start && s.End() <= j.End })
	t.Curves.Spans = append(t.Curves.Spans, page.Span{Name: s.Name, From: from, To: to, Shaded: judged})
	name, rate := s.Name, quantity.Exact(s.To)
	if judged {
		name += " (judged)"
	}
	if s.From != s.To {
		rate = quantity.Exact(s.From) + " to " + rate
	}
	span := record.SpanOf(r.Facts.T0, plan.Window{Start: s.Start, End: s.End()})
	h := r.Timeline.Hist(metric.TransactionDuration, nil, span)
	ms := func(q float64) string { return quantity.OptionalValue(quantile(h, q), "ms") }
	completed, notCompleted := perSecond(r, metric.Transactions, ofOutcome(metric.Completed))(span), quantity.NoData
	if completed != nil {
		total := 0.0
		for _, o := range metric.Outcomes {
			if o != metric.Completed {
				n, _ := r.Timeline.Sum(metric.Transactions, []metric.Label{ofOutcome(o)}, span)
				total += n
			}
		}
		notCompleted = quantity.Exact(total)
	}
	t.Stages = append(t.Stages, page.Cells(name, fmt.Sprint(from), fmt.Sprint(to-from), rate,
		quantity.OptionalValue(completed, "1/s"), notCompleted, ms(0.5), ms(0.95), ms(0.99)))
}

func percentiles(r record.Run, spans []record.Span) []page.Curve {
	curves := []page.Curve{{Label: "p50", Color: "#3f9b50"}, {Label: "p95", Color: "#e8862a"}, {Label: "p99", Color: "#8e5bd0"}}
	for _, s := range spans {
		h := r.Timeline.Hist(metric.TransactionDuration, nil, s)
		for i, q := range []float64{0.5, 0.95, 0.99} {
			curves[i].Values = append(curves[i].Values, quantile(h, q))
		}
	}
	return curves
}

// bounds are the limits of the SLOs on transaction latency.
func bounds(slos []spec.SLO) (curves []page.Curve) {
	for _, s := range slos {
		if s.OfTransactions() && len(s.Selector) == 0 && s.Aggregate != spec.Rate && len(curves) < maxBounds {
			curves = append(curves, page.Curve{Label: s.Expression, Level: &s.Bound, Color: "bad", Line: page.Dashed})
		}
	}
	return curves
}

func stepOf(seconds int64) int64 {
	for _, s := range steps {
		if seconds <= s*maxSteps {
			return s
		}
	}
	return (seconds + maxSteps - 1) / maxSteps
}

func each(spans []record.Span, value func(record.Span) *float64) []*float64 {
	all := make([]*float64, len(spans))
	for i, s := range spans {
		all[i] = value(s)
	}
	return all
}

func ofOutcome(o string) metric.Label { return metric.Label{Key: "outcome", Value: o} }

// perSecond is the rate of a counter. A counter without data is 0 if transactions were
// scheduled in the span; otherwise there is no data.
func perSecond(r record.Run, name string, selector ...metric.Label) func(record.Span) *float64 {
	return func(s record.Span) *float64 {
		total, found := r.Timeline.Sum(name, selector, s)
		if !found {
			_, found = r.Timeline.Sum(metric.TransactionsScheduled, nil, s)
		}
		if !found || s.Seconds() <= 0 {
			return nil
		}
		return rounded(total / float64(s.Seconds()))
	}
}

func quantile(h *metric.Hist, q float64) *float64 {
	if v, ok := h.Quantile(q); ok {
		return rounded(v)
	}
	return nil
}

// rounded rounds to as many digits as a curve can show.
func rounded(v float64) *float64 {
	if rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 4, 64), 64); err == nil {
		v = rounded
	}
	return &v
}

// planned is the mean planned rate within a span.
func planned(stages []plan.Stage, s record.Span, t0 int64) *float64 {
	from, to := time.Duration(s.From-t0)*time.Second, time.Duration(s.To-t0)*time.Second
	arrivals := 0.0
	for _, st := range stages {
		begin, end := max(from, st.Start), min(to, st.End())
		if begin < end { // the rate is linear within a stage: its mean is that at the midpoint
			midpoint := float64((begin+end)/2-st.Start) / float64(st.Duration)
			arrivals += (st.From + (st.To-st.From)*midpoint) * (end - begin).Seconds()
		}
	}
	return rounded(arrivals / (to - from).Seconds())
}

// charts is the section with the curves, if there are any.
func (t Timeline) charts() page.Block {
	c := t.Curves
	if len(c.Seconds) == 0 {
		return page.Section{ID: "charts", Heading: "Over time", Blocks: []page.Block{page.Paragraph{Text: "No data."}}}
	}
	c.Note = fmt.Sprintf("Time since the start of the load, one point every %d s. Judged windows are shaded.", c.Step)
	c.NoScript = "Charts need JavaScript. The table below shows the same data by stage, and assay frames prints it by second."
	return page.Section{ID: "charts", Heading: "Over time", Blocks: []page.Block{c}}
}

// stages is the section with the table of stages, which also replaces the charts.
func (t Timeline) stages() page.Block {
	if len(t.Stages) == 0 {
		return page.Under("Stages", page.Paragraph{Text: "No data."})
	}
	return page.Under("Stages", page.Table{
		Columns: slices.Concat(page.Names("stage"), page.Numbers("start, s", "duration, s", "planned/s", "completed/s", "not completed", "p50", "p95", "p99")),
		Rows:    t.Stages, Limit: maxRows,
	}, note("Latency in ms, of the transactions scheduled in each stage."))
}

// colors by wait class.
var colors = map[string]string{
	"CPU": "#3f9b50", "commit": "#e8862a", "binlog": "#d9b310", "row lock": "#d81b60", "engine": "#2f6fd0", "buffer pool": "#5aa9e6",
	"latch": "#8e5bd0", "metadata lock": "#6a2c91", "table lock": "#a855c7", "connection storm": "#c65d00", "network": "#7fb7d9", "other": "#8c959f",
}

// spareColors are for other classes.
var spareColors = []string{"#00897b", "#795548", "#c0ca33", "#5c6bc0", "#ec407a", "#26a69a"}

// classCurves are the average active sessions of each wait class. If there are too many
// classes, the smallest are added up as "all others".
func classCurves(r record.Run, spans []record.Span) (curves []page.Curve) {
	samples := each(spans, func(s record.Span) *float64 {
		if n, found := r.Timeline.Sum(metric.DBSample, nil, s); found && n > 0 {
			return &n
		}
		return nil
	})
	spare := 0
	for i, class := range classes(r) {
		sessions := make([]*float64, len(spans))
		for k, s := range spans {
			if samples[k] != nil {
				n, _ := r.Timeline.Sum(metric.DBSession, ofClass(class), s)
				sessions[k] = rounded(n / *samples[k])
			}
		}
		if i >= maxClasses {
			last := &curves[maxClasses-1]
			last.Label = "all others"
			for k, n := range sessions {
				if n != nil {
					last.Values[k] = rounded(*last.Values[k] + *n)
				}
			}
			continue
		}
		c := page.Curve{Label: cmp.Or(class, "other"), Values: sessions}
		if c.Color = colors[c.Label]; c.Color == "" {
			c.Color = spareColors[spare%len(spareColors)]
			spare++
		}
		curves = append(curves, c)
	}
	return curves
}

// classes are the wait classes of a run in the order of their curves: CPU, which is not a
// wait, then the others, the largest first.
func classes(r record.Run) []string {
	totals := map[string]float64{}
	for _, series := range r.Timeline.Series(metric.DBSession) {
		class := series.Label("class")
		if _, known := totals[class]; known {
			continue
		}
		totals[class], _ = r.Timeline.Sum(metric.DBSession, ofClass(class), record.All)
	}
	waits := func(class string) int {
		if class == "CPU" {
			return 0
		}
		return 1
	}
	return slices.SortedFunc(maps.Keys(totals), func(a, b string) int {
		return cmp.Or(cmp.Compare(waits(a), waits(b)), cmp.Compare(totals[b], totals[a]), cmp.Compare(a, b))
	})
}

func ofClass(class string) []metric.Label { return []metric.Label{{Key: "class", Value: class}} }
