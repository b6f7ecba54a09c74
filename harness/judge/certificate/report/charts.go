package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"assay/harness/judge/internal/plain"
	"assay/harness/observe/metric"
	"assay/harness/observe/record"
	"assay/harness/plan"
	"assay/harness/spec"
)

// Charts are a run's curves over time, thinned to at most mostSteps points
// each: a page of a ten-minute run must open on a phone. A nil value is "no
// data".
type Charts struct {
	Step      int64        `json:"step"`    // seconds from one point to the next
	Seconds   []int64      `json:"seconds"` // where each step begins, since t0
	Stages    []stageMark  `json:"stages"`
	Unit      string       `json:"unit"`
	Target    []*float64   `json:"target"` // arrivals a second, as those below
	Scheduled []*float64   `json:"scheduled"`
	Completed []*float64   `json:"completed"`
	P50       []*float64   `json:"p50"` // ms, of the transactions scheduled in the step
	P95       []*float64   `json:"p95"`
	P99       []*float64   `json:"p99"`
	Bounds    []bound      `json:"bounds"`
	Failed    []*float64   `json:"failed"` // transactions a second, as those below
	TimedOut  []*float64   `json:"timed_out"`
	Dropped   []*float64   `json:"dropped"`
	Waits     []classCurve `json:"waits"` // average active sessions, the lowest of the stack first
	Gauges    []gaugeCurve `json:"gauges,omitempty"`
}

// stageMark is a stage in seconds since t0.
type stageMark struct {
	Name   string `json:"name"`
	From   int64  `json:"from"`
	To     int64  `json:"to"`
	Judged bool   `json:"judged"`
	about  plan.Stage
	p50    *float64
	p95    *float64
	p99    *float64
	done   *float64 // completed a second
	broken *float64 // transactions that were not completed
}

// bound is an SLO of the transaction's latency.
type bound struct {
	Label string  `json:"label"`
	Limit float64 `json:"limit"`
}

type classCurve struct {
	Class    string     `json:"class"`
	Sessions []*float64 `json:"sessions"`
}

const (
	mostSteps   = 400
	mostStages  = 100
	mostBounds  = 8
	mostClasses = 12
)

// steps are lengths that read well on an axis of time, in seconds.
var steps = []int64{1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600}

// NewCharts reads the curves of a run.
func NewCharts(r record.Run) Charts {
	seconds := int64(r.Plan.Load.Duration() / time.Second)
	c := Charts{Step: stepOf(seconds), Unit: r.Plan.Load.Unit}
	if r.Timeline == nil {
		return c
	}
	t0 := r.Facts.T0.Unix()
	var spans []record.Span
	for at := int64(0); at < seconds; at += c.Step {
		c.Seconds = append(c.Seconds, at)
		spans = append(spans, record.Span{From: t0 + at, To: t0 + min(at+c.Step, seconds)})
	}
	c.Target = each(spans, func(s record.Span) *float64 { return planned(r.Plan.Load.Stages, s, t0) })
	c.Scheduled = each(spans, perSecond(r, metric.TransactionsScheduled))
	c.Completed = each(spans, perSecond(r, metric.Transactions, outcome(metric.Completed)))
	c.Failed = each(spans, perSecond(r, metric.Transactions, outcome(metric.Failed)))
	c.TimedOut = each(spans, perSecond(r, metric.Transactions, outcome(metric.TimedOut)))
	c.Dropped = each(spans, perSecond(r, metric.Transactions, outcome(metric.Dropped)))
	for _, s := range spans {
		h := r.Timeline.Hist(metric.TransactionDuration, nil, s)
		c.P50, c.P95, c.P99 = append(c.P50, quantile(h, 0.5)), append(c.P95, quantile(h, 0.95)), append(c.P99, quantile(h, 0.99))
	}
	for _, s := range r.Plan.Profile.SLOs {
		if s.Metric == metric.TransactionDuration && len(s.Selector) == 0 && s.Aggregate != spec.Rate && len(c.Bounds) < mostBounds {
			c.Bounds = append(c.Bounds, bound{shorten(oneLine(s.Expression), mostCell), s.Bound})
		}
	}
	c.Stages = stageMarks(r)
	c.Waits = classCurves(r, spans)
	c.Gauges = gaugeCurves(r, spans)
	return c
}

func stepOf(seconds int64) int64 {
	for _, s := range steps {
		if seconds <= s*mostSteps {
			return s
		}
	}
	return (seconds + mostSteps - 1) / mostSteps
}

func each(spans []record.Span, value func(record.Span) *float64) []*float64 {
	all := make([]*float64, len(spans))
	for i, s := range spans {
		all[i] = value(s)
	}
	return all
}

func outcome(of string) metric.Label { return metric.Label{Key: "outcome", Value: of} }

// perSecond is what a counter did a second. Where transactions were scheduled
// an outcome that none had is 0; where none were known of, there is no data.
func perSecond(r record.Run, name string, selector ...metric.Label) func(record.Span) *float64 {
	return func(s record.Span) *float64 {
		total, found := r.Timeline.Sum(name, selector, s)
		if !found {
			_, found = r.Timeline.Sum(metric.TransactionsScheduled, nil, s)
		}
		if !found || s.Seconds() <= 0 {
			return nil
		}
		return shown(total / float64(s.Seconds()))
	}
}

func quantile(h *metric.Hist, q float64) *float64 {
	if v, ok := h.Quantile(q); ok {
		return shown(v)
	}
	return nil
}

// shown rounds to what a curve can show.
func shown(v float64) *float64 {
	if rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 4, 64), 64); err == nil {
		v = rounded
	}
	return &v
}

// planned is the plan's mean rate within a span.
func planned(stages []plan.Stage, s record.Span, t0 int64) *float64 {
	from, to := time.Duration(s.From-t0)*time.Second, time.Duration(s.To-t0)*time.Second
	arrivals := 0.0
	for _, st := range stages {
		begin, end := max(from, st.Start), min(to, st.End())
		if begin < end { // linear within the stage: the mean is the rate in the middle
			middle := float64((begin+end)/2-st.Start) / float64(st.Duration)
			arrivals += (st.From + (st.To-st.From)*middle) * (end - begin).Seconds()
		}
	}
	return shown(arrivals / (to - from).Seconds())
}

func stageMarks(r record.Run) (all []stageMark) {
	for _, st := range r.Plan.Load.Stages[:min(len(r.Plan.Load.Stages), mostStages)] {
		w := plan.Window{Start: st.Start, End: st.End()}
		span := record.SpanOf(r.Facts.T0, w)
		m := stageMark{
			Name: st.Name, From: int64(st.Start / time.Second), To: int64(st.End() / time.Second), about: st,
			Judged: slices.ContainsFunc(r.Plan.Load.Judged, func(j plan.Window) bool { return w.Start >= j.Start && w.End <= j.End }),
			done:   perSecond(r, metric.Transactions, outcome(metric.Completed))(span),
		}
		h := r.Timeline.Hist(metric.TransactionDuration, nil, span)
		m.p50, m.p95, m.p99 = quantile(h, 0.5), quantile(h, 0.95), quantile(h, 0.99)
		if m.done != nil {
			broken := 0.0
			for _, o := range metric.Outcomes {
				if o != metric.Completed {
					n, _ := r.Timeline.Sum(metric.Transactions, []metric.Label{outcome(o)}, span)
					broken += n
				}
			}
			m.broken = &broken
		}
		all = append(all, m)
	}
	return all
}

// stagesSection is what the charts show, for those who cannot see them.
func stagesSection(c Charts) section {
	s := section{
		ID: "stages", Heading: "Stages", Note: "Latency in ms, of the transactions that were scheduled in each.",
		Columns: headings("stage", ">from second", ">seconds", ">asked a second", ">completed a second", ">not completed", ">p50", ">p95", ">p99"),
	}
	if len(c.Stages) == 0 {
		s.Note = "No data."
		return s
	}
	marks, more := first(c.Stages)
	s.More = more
	for _, m := range marks {
		name, rate := m.Name, plain.Number(&m.about.To)
		if m.Judged {
			name += " (judged)"
		}
		if m.about.From != m.about.To {
			rate = plain.Number(&m.about.From) + " to " + rate
		}
		s.Rows = append(s.Rows, texts(name, fmt.Sprint(m.From), fmt.Sprint(m.To-m.From), rate, plain.Number(m.done), plain.Number(m.broken), plain.Number(m.p50), plain.Number(m.p95), plain.Number(m.p99)))
	}
	return s.bounded()
}

// classCurves are the active sessions of each wait class: CPU at the bottom, as
// it is no wait, then the largest first; what is left over is "other".
func classCurves(r record.Run, spans []record.Span) []classCurve {
	totals := map[string]float64{}
	for _, series := range r.Timeline.Series(metric.DBSession) {
		class := series.Label("class")
		if _, known := totals[class]; !known {
			totals[class], _ = r.Timeline.Sum(metric.DBSession, []metric.Label{{Key: "class", Value: class}}, record.All)
		}
	}
	names := make([]string, 0, len(totals))
	for name := range totals {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(wait(a), wait(b)), cmp.Compare(totals[b], totals[a]), cmp.Compare(a, b))
	})
	samples := each(spans, func(s record.Span) *float64 {
		if n, found := r.Timeline.Sum(metric.DBSample, nil, s); found && n > 0 {
			return &n
		}
		return nil
	})
	var curves []classCurve
	for i, name := range names {
		sessions := make([]*float64, len(spans))
		for k, s := range spans {
			if samples[k] != nil {
				n, _ := r.Timeline.Sum(metric.DBSession, []metric.Label{{Key: "class", Value: name}}, s)
				sessions[k] = shown(n / *samples[k])
			}
		}
		if i < mostClasses {
			curves = append(curves, classCurve{shorten(oneLine(cmp.Or(name, "other")), mostCell), sessions})
			continue
		}
		last := &curves[mostClasses-1]
		last.Class = "all others"
		for k, v := range sessions {
			if v != nil {
				last.Sessions[k] = shown(*last.Sessions[k] + *v)
			}
		}
	}
	return curves
}

func wait(class string) int {
	if class == "CPU" {
		return 0
	}
	return 1
}
