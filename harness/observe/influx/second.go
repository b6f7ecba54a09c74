package influx

import (
	"path"
	"slices"
	"strings"
	"time"

	"assay/harness/observe/metric"
	"assay/harness/observe/record"
	"assay/harness/plan"
)

// About is what the points of a run need beside its frames.
type About struct {
	Plan record.Plan
	T0   time.Time
	// DatabaseHere tells that the database shares the host, so that its CPUs are
	// known.
	DatabaseHere bool
}

// NewAbout takes it from what a run records.
func NewAbout(p record.Plan, e record.Environment, t0 time.Time) About {
	return About{Plan: p, T0: t0, DatabaseHere: slices.Contains(e.CoLocation, "database")}
}

// point makes a point of the run; one without fields is nil.
func (a About) point(measurement string, at int64, f fields, keyValues ...string) []Point {
	if len(f) == 0 {
		return nil
	}
	scenario := strings.TrimSuffix(path.Base(a.Plan.Profile.Scenario), path.Ext(a.Plan.Profile.Scenario))
	all := append([]string{"run", a.Plan.Run, "profile", a.Plan.Profile.Name, "scenario", scenario}, keyValues...)
	return []Point{{Measurement: measurement, Tags: tags(all...), Fields: f, Second: at}}
}

// Points makes the points of one second. They depend on that second of the timeline
// alone, whatever else it holds.
func Points(a About, t *record.Timeline, at int64) []Point {
	s := &second{About: a, line: t, at: at, span: record.Span{From: at, To: at + 1}}
	s.countOutcomes()
	for _, part := range []func(){
		s.transactions, s.requests, s.arrivals, s.slos,
		s.sessions, func() { s.measured("db_counter") }, s.statements, s.gauges, func() { s.measured("service") }, s.host, s.stages,
	} {
		part()
	}
	return s.points
}

// second is one second while it becomes points.
type second struct {
	About
	line   *record.Timeline
	at     int64
	span   record.Span
	ended  map[string]float64 // transactions by outcome
	known  bool               // any has ended
	points []Point
}

func (s *second) add(measurement string, f fields, keyValues ...string) {
	s.points = append(s.points, s.point(measurement, s.at, f, keyValues...)...)
}

func (s *second) sum(name string, selector ...metric.Label) (float64, bool) {
	return s.line.Sum(name, selector, s.span)
}

func (s *second) hist(name string, selector ...metric.Label) *metric.Hist {
	return s.line.Hist(name, selector, s.span)
}

func (s *second) level(name string, selector ...metric.Label) (float64, bool) {
	return s.line.GaugeSum(name, selector, s.at)
}

func (s *second) countOutcomes() {
	s.ended = map[string]float64{}
	for _, outcome := range metric.Outcomes {
		n, found := s.sum(metric.Transactions, metric.Label{Key: "outcome", Value: outcome})
		s.ended[outcome] = n
		s.known = s.known || found
	}
}

// started counts the transactions that reached the system, whatever became of
// them: what Little's law divides by, as in the certificate.
func (s *second) started() float64 {
	return s.ended[metric.Completed] + s.ended[metric.Failed] + s.ended[metric.TimedOut]
}

// groups lists the distinct values that the series of a name have for these
// labels, in the order of the series. A label that is not there is "".
func (s *second) groups(name string, keys ...string) (all [][]metric.Label) {
	seen := map[string]bool{}
	for _, series := range s.line.Series(name) {
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

// offset is when the second begins, since t0.
func (s *second) offset() time.Duration {
	return time.Duration(s.at-s.T0.Unix()) * time.Second
}

// planned tells whether the second is one of the schedule's.
func (s *second) planned() bool {
	return s.offset() >= 0 && s.offset() < s.Plan.Load.Duration()
}

// meanRate is the plan's rate, on average over the second that begins at from.
func meanRate(stages []plan.Stage, from time.Duration) (arrivals float64) {
	for _, st := range stages {
		begin, end := max(from, st.Start), min(from+time.Second, st.End())
		if begin >= end {
			continue
		}
		// Linear within the stage: the mean is the rate in the middle.
		middle := float64((begin+end)/2-st.Start) / float64(st.Duration)
		arrivals += (st.From + (st.To-st.From)*middle) * (end - begin).Seconds()
	}
	return arrivals
}
