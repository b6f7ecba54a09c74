package verdict

import (
	"strings"
	"testing"
	"time"

	"assay/harness/judge/internal/synthetic"
	"assay/harness/observe/metric"
	"assay/harness/observe/record"
	"assay/harness/spec"
)

// lagging is a run of 30 judged seconds, from second 16 on, whose readers are
// behind by what lag says, in ms, of a reader and a judged second; below 0 it was
// not read.
func lagging(readers []string, lag func(reader string, second int) float64, expressions ...spec.SLO) *synthetic.Case {
	p := synthetic.Profile()
	p.SLOs = append(p.SLOs, expressions...)
	c := synthetic.New(p, 1, synthetic.Healthy)
	c.Run.Plan.Readers = readers
	from := int(c.Run.Plan.Load.Judged[0].Start / time.Second)
	for second := range int(c.Run.Plan.Load.Duration() / time.Second) {
		f := metric.Frame{Source: "lag", Sequence: uint64(second + 1), Second: synthetic.T0.Unix() + int64(second)}
		for _, reader := range readers {
			if v := lag(reader, second-from); v >= 0 {
				f.Points = append(f.Points, metric.GaugePoint(metric.NewSeries(metric.ReplicaLag, "ms", "reader", reader), v))
			}
		}
		c.Frames = append(c.Frames, f)
	}
	return c
}

func lagMax(bound float64) spec.SLO {
	return spec.SLO{Metric: metric.ReplicaLag, Expression: "max<", Aggregate: spec.Max, Operator: "<", Bound: bound}
}

func TestLagOfReaders(t *testing.T) {
	steady := func(ms float64) func(string, int) float64 { return func(string, int) float64 { return ms } }
	but := func(reader string, from, to int, ms float64) func(string, int) float64 {
		return func(r string, second int) float64 {
			if r == reader && second >= from && second < to {
				return ms
			}
			return 10
		}
	}
	p90 := synthetic.Percentile(metric.ReplicaLag, 90, 500)
	for name, tt := range map[string]struct {
		lag      func(string, int) float64
		slo      spec.SLO
		want     Outcome
		observed float64
		at, most int64
	}{
		"below":                       {steady(100), lagMax(500), Pass, 100, 0, 0},
		"at the bound":                {steady(500), lagMax(500), Fail, 500, 30, 30},
		"one second of one reader":    {but("b", 7, 8, 900), lagMax(500), Fail, 900, 1, 1},
		"before the judged window":    {but("b", -9, 0, 900), lagMax(500), Pass, 10, 0, 0},
		"after it":                    {but("b", 30, 40, 900), lagMax(500), Pass, 10, 0, 0},
		"not read for a second":       {but("b", 7, 8, -1), lagMax(500), Inconclusive, 10, 0, 1},
		"not read, and too far":       {but("b", 7, 9, -1), lagMax(5), Fail, 10, 30, 30},
		"p(90) allows 3 of 30":        {but("a", 7, 10, 900), p90, Pass, 10, 3, 3},
		"p(90) does not allow 4":      {but("a", 7, 11, 900), p90, Fail, 900, 4, 4},
		"p(90) with 3 seconds unread": {but("a", 7, 10, -1), p90, Pass, 10, 0, 3},
		"p(90) with 4 seconds unread": {but("a", 7, 11, -1), p90, Inconclusive, 10, 0, 4},
	} {
		t.Run(name, func(t *testing.T) {
			v := Judge(lagging([]string{"a", "b"}, tt.lag, tt.slo).Record())
			var got SLO
			for _, s := range v.SLOs {
				if s.Metric == metric.ReplicaLag {
					got = s
				}
			}
			least, most := got.AtLeast, got.AtMost
			if got.Violations != nil {
				least, most = got.Violations, got.Violations
			}
			if got.Outcome != tt.want || v.Outcome != tt.want || got.Unit != "ms" || got.Observed == nil || *got.Observed != tt.observed || least == nil || *least != tt.at || *most != tt.most {
				t.Errorf("%v (run %v): %+v", got.Outcome, v.Outcome, got)
				t.Log(v.Claim)
			}
		})
	}
}

// A lag without data never passes.
func TestLagWithoutData(t *testing.T) {
	none := func(string, int) float64 { return -1 }
	c := lagging([]string{"a"}, none, lagMax(500))
	c.Run.Facts.Collectors = append(c.Run.Facts.Collectors, record.Collect{Source: "lag", State: "failed", Reason: "access denied"})
	v := Judge(c.Record())
	r := ruleOf(t, v, "data")
	if v.Outcome != Invalid || r.Detail != "no data for replica_lag max< (access denied)" || !strings.Contains(r.Advice, "--db-reader") {
		t.Errorf("%v; %s; %s", v.Outcome, r.Detail, r.Advice)
	}
	// One reader of two that was never read is no less a gap.
	half := func(reader string, _ int) float64 {
		if reader == "a" {
			return 10
		}
		return -1
	}
	if v := Judge(lagging([]string{"a", "b"}, half, lagMax(500)).Record()); v.Outcome != Inconclusive {
		t.Errorf("%v: %s", v.Outcome, v.Claim)
	}
}

// A source of one sample a second, such as Performance Insights, is complete with
// one sample a second.
func TestSamplesOnceASecond(t *testing.T) {
	once := func(lost func(second int64) bool) Rule {
		c := healthy()
		for i, f := range c.Frames {
			if f.Source != "database" {
				continue
			}
			var interval metric.Hist
			interval.Record(1000, 1)
			n := 1.0
			if lost(f.Second) {
				n = 0
			}
			c.Frames[i].Points = []metric.Point{
				metric.GaugePoint(metric.NewSeries(metric.DBSampleRate, ""), 1),
				metric.CounterPoint(metric.NewSeries(metric.DBSample, ""), n),
				metric.CounterPoint(metric.NewSeries(metric.DBSession, "", "event", "cpu", "class", "CPU"), 1.5*n),
				metric.HistPoint(metric.NewSeries(metric.DBSampleInterval, "ms"), &interval),
			}
		}
		return ruleOf(t, Judge(c.Record()), "collector")
	}
	if r := once(func(int64) bool { return false }); r.Limitation != "" || *r.Observed != 1 {
		t.Errorf("a whole record: %s", r.Limitation)
	}
	from := synthetic.T0.Unix() + 20
	if r := once(func(s int64) bool { return s >= from && s < from+3 }); r.Limitation != "waits are incomplete: 90 % of the samples, a gap of 3s" {
		t.Errorf("three seconds lost: %q", r.Limitation)
	}
}
