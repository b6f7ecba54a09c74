package influx

import (
	"path"
	"slices"
	"strings"
	"time"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/plan"
)

// RunInfo is what the points of a run contain in addition to its frames.
type RunInfo struct {
	Plan record.Plan
	T0   time.Time
	// DatabaseHere: the database shares the generator's host, so that its number of
	// CPUs is known.
	DatabaseHere bool
}

// NewRunInfo makes it from parts of the record.
func NewRunInfo(p record.Plan, e record.Environment, t0 time.Time) RunInfo {
	return RunInfo{Plan: p, T0: t0, DatabaseHere: slices.Contains(e.CoLocation, "database")}
}

// point makes a point of the run, or none if it has no fields.
func (r RunInfo) point(measurement string, at int64, f fields, keyValues ...string) []Point {
	if len(f) == 0 {
		return nil
	}
	all := append(slices.Clone(keyValues), "run", r.Plan.Run, "profile", r.Plan.Profile.Name, "scenario", r.scenario())
	return []Point{{Measurement: measurement, Tags: tags(all...), Fields: f, Second: at}}
}

// scenario names the profile's script; the whole load of flows with names has the
// profile's name.
func (r RunInfo) scenario() string {
	if r.Plan.Profile.Named() {
		return r.Plan.Profile.Name
	}
	script := path.Base(r.Plan.Profile.Flows[0].Scenario)
	return strings.TrimSuffix(script, path.Ext(script))
}

// Points makes the points of one second. They depend only on that second of the
// timeline.
func Points(r RunInfo, t *record.Timeline, at int64) []Point {
	s := &second{RunInfo: r, timeline: t, at: at, span: record.Span{From: at, To: at + 1}}
	s.ended, s.known = s.outcomes()
	plans := r.Plan.Load.PerFlow()
	for i, of := range r.Plan.Profile.Flows {
		f := flow{scenario: s.scenario(), plan: plans[i], ended: s.ended, known: s.known}
		if of.Name != "" {
			f.scenario, f.selector = of.Name, []metric.Label{{Key: "scenario", Value: of.Name}}
			f.ended, f.known = s.outcomes(f.selector...)
		}
		s.flows = append(s.flows, f)
	}
	s.transactions()
	s.requests()
	s.arrivals()
	s.slos()
	s.sessions()
	s.measured("db_counter")
	s.statements()
	s.gauges()
	s.measured("service")
	s.measured("stub")
	s.measured("error")
	s.host()
	s.stages()
	return s.points
}

// second makes the points of one second.
type second struct {
	RunInfo
	timeline *record.Timeline
	at       int64 // unix
	span     record.Span
	ended    map[string]float64 // transactions by outcome
	known    bool               // at least one transaction has ended
	flows    []flow             // flows of the profile; the whole load if it has none
	points   []Point
}

// flow is one of the profile's flows in this second.
type flow struct {
	scenario string         // value of the tag
	selector []metric.Label // labels that select the flow's series; nil: all series
	plan     plan.Plan
	ended    map[string]float64 // transactions by outcome
	known    bool               // at least one transaction has ended
}

func (s *second) add(measurement string, f fields, keyValues ...string) {
	s.points = append(s.points, s.point(measurement, s.at, f, keyValues...)...)
}

func (s *second) sum(name string, selector ...metric.Label) (float64, bool) {
	return s.timeline.Sum(name, selector, s.span)
}

func (s *second) hist(name string, selector ...metric.Label) *metric.Hist {
	return s.timeline.Hist(name, selector, s.span)
}

func (s *second) gauge(name string, selector ...metric.Label) (float64, bool) {
	return s.timeline.GaugeSum(name, selector, s.at)
}

// outcomes counts the transactions of some series by outcome; known is false if none has
// ended.
func (s *second) outcomes(selector ...metric.Label) (ended map[string]float64, known bool) {
	ended = map[string]float64{}
	for _, outcome := range metric.Outcomes {
		n, found := s.sum(metric.Transactions, append([]metric.Label{{Key: "outcome", Value: outcome}}, selector...)...)
		ended[outcome] = n
		known = known || found
	}
	return ended, known
}

// started is the number of transactions that reached the system, with any outcome: the
// throughput of Little's law, as in the certificate.
func (s *second) started() float64 { return started(s.ended) }

func started(ended map[string]float64) float64 {
	return ended[metric.Completed] + ended[metric.Failed] + ended[metric.TimedOut]
}

// groups lists the distinct combinations of these labels among the series of a name, in
// the order of the series. A missing label is "".
func (s *second) groups(name string, keys ...string) (all [][]metric.Label) {
	seen := map[string]bool{}
	for _, series := range s.timeline.Series(name) {
		group := make([]metric.Label, len(keys))
		id := ""
		for i, key := range keys {
			group[i] = metric.Label{Key: key, Value: series.Label(key)}
			id += group[i].Value + "\x00"
		}
		if !seen[id] {
			seen[id] = true
			all = append(all, group)
		}
	}
	return all
}

// offset is the start of the second relative to t0.
func (s *second) offset() time.Duration {
	return time.Duration(s.at-s.T0.Unix()) * time.Second
}

// planned reports whether the second is part of the schedule.
func (s *second) planned() bool {
	return s.offset() >= 0 && s.offset() < s.Plan.Load.Duration()
}

// meanRate is the mean of the plan's rate over the second that begins at from.
func meanRate(stages []plan.Stage, from time.Duration) (arrivals float64) {
	for _, st := range stages {
		begin, end := max(from, st.Start), min(from+time.Second, st.End())
		if begin >= end {
			continue
		}
		// Linear within the stage: the mean is the rate at the midpoint.
		midpoint := float64((begin+end)/2-st.Start) / float64(st.Duration)
		arrivals += (st.From + (st.To-st.From)*midpoint) * (end - begin).Seconds()
	}
	return arrivals
}
