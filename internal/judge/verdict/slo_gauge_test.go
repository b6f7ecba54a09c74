package verdict

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/synthetic"
)

// lagging is a run of 30 judged seconds, from second 16 on, with the lag in ms of each
// reader in each judged second; a negative lag is "not read".
func lagging(readers []string, lag func(reader string, second int) float64, expressions ...spec.SLO) *synthetic.Case {
	p := synthetic.Profile()
	p.Flows[0].SLOs = append(p.Flows[0].SLOs, expressions...)
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
	// One reader of two that was never read is a gap too.
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

// A source with one sample per second, such as Performance Insights, is complete with
// that.
func TestSamplesOncePerSecond(t *testing.T) {
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
	if r := once(func(s int64) bool { return s >= from && s < from+3 }); r.Limitation != "waits are incomplete: 90 % of the samples, longest gap 3s" {
		t.Errorf("three seconds lost: %q", r.Limitation)
	}
}

// queueless is the part of queued that does not depend on the depth.
var queueless = sync.OnceValue(func() *synthetic.Case {
	p := synthetic.Profile()
	p.Flows[0].Load = spec.Load{Unit: "tps", Stages: []spec.Stage{
		{Rate: 5, For: 5 * time.Second}, {Rate: 20, For: 100 * time.Second, Judge: true}, {Rate: 5, For: 5 * time.Second}, {Rate: 20, For: 20 * time.Second, Judge: true},
	}}
	p.Gauges = map[string]spec.Gauge{"queue_depth": {Metric: "jobs"}}
	return synthetic.New(p, 1, synthetic.Healthy)
})

// queued is a run of two judged windows, of 100 s and of 20 s, with the depth of the
// queue in each judged second; a negative depth is "not read".
func queued(depth func(second int) float64, expressions ...spec.SLO) *synthetic.Case {
	made := queueless()
	c := &synthetic.Case{Run: made.Run, Frames: slices.Clone(made.Frames)}
	c.Run.Plan.Profile = c.Run.Plan.Profile.WithFlows(func(f *spec.Flow) { f.SLOs = slices.Concat(f.SLOs, expressions) })
	n := 0
	for _, w := range c.Run.Plan.Load.Judged {
		for at := w.Start; at < w.End; at, n = at+time.Second, n+1 {
			f := metric.Frame{Source: metric.SourceGauges, Sequence: uint64(n + 1), Second: synthetic.T0.Add(at).Unix()}
			if v := depth(n); v >= 0 {
				f.Points = []metric.Point{metric.GaugePoint(metric.Of("queue_depth"), v)}
			}
			c.Frames = append(c.Frames, f)
		}
	}
	return c
}

func depthMax(bound float64) spec.SLO {
	return spec.SLO{Metric: "queue_depth", Expression: "max<", Aggregate: spec.Max, Operator: "<", Bound: bound}
}

func TestQueueDepth(t *testing.T) {
	but := func(from, to int, depth float64) func(int) float64 {
		return func(second int) float64 {
			if second >= from && second < to {
				return depth
			}
			return 7
		}
	}
	p90 := synthetic.Percentile("queue_depth", 90, 500)
	for name, tt := range map[string]struct {
		depth          func(int) float64
		slo            spec.SLO
		want           Outcome
		at, most       int64
		failed, closed int // window; 0: none
	}{
		"shallow":                           {but(0, 0, 0), depthMax(500), Pass, 0, 0, 0, 0},
		"one second too deep":               {but(3, 4, 500), depthMax(500), Fail, 1, 1, 0, 0},
		"one second not read":               {but(3, 4, -1), depthMax(500), Inconclusive, 0, 1, 0, 1},
		"p(90) allows 10 of 100":            {but(90, 100, 900), p90, Pass, 10, 10, 0, 0},
		"p(90) does not allow 13 of 120":    {but(80, 93, 900), p90, Fail, 13, 13, 0, 0},
		"12 of 120, 11 of them in one":      {but(89, 101, 900), p90, Inconclusive, 12, 12, 0, 1},
		"3 in a window that allows 2":       {but(100, 103, 900), p90, Inconclusive, 3, 3, 0, 2},
		"10 in a window that allows 2":      {but(110, 120, 900), p90, Fail, 10, 10, 2, 0},
		"3 not read where 2 may violate":    {but(117, 120, -1), p90, Inconclusive, 0, 3, 0, 2},
		"2 not read where 2 may violate":    {but(118, 120, -1), p90, Pass, 0, 2, 0, 0},
		"13 not read":                       {but(0, 13, -1), p90, Inconclusive, 0, 13, 0, 1},
		"close in one, broken in the other": {func(s int) float64 { return map[bool]float64{true: 900}[s >= 89 && s < 91 || s >= 110] }, p90, Fail, 12, 12, 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			v := Judge(queued(tt.depth, tt.slo).Record())
			s := sloOf(t, v, "queue_depth:"+tt.slo.Expression)
			least, most := s.AtLeast, s.AtMost
			if s.Violations != nil {
				least, most = s.Violations, s.Violations
			}
			if s.Outcome != tt.want || v.Outcome != tt.want || s.Unit != "count" || s.Basis != spec.Counted || *s.Samples != 120 || *least != tt.at || *most != tt.most ||
				deref32(s.FailedWindow) != tt.failed || deref32(s.CloseWindow) != tt.closed {
				t.Errorf("%v (run %v): %+v", s.Outcome, v.Outcome, s)
				t.Log(v.Claim)
			}
		})
	}
}

func deref32(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}

// A gauge that was not read, or was sent by another source, has no data.
func TestQueueDepthWithoutData(t *testing.T) {
	c := queued(func(int) float64 { return -1 }, depthMax(500))
	c.Run.Facts.Collectors = append(c.Run.Facts.Collectors, record.Collect{Source: metric.SourceGauges, State: "failed", Reason: "no metric jobs"})
	for i := range c.Frames {
		if c.Frames[i].Source == metric.WorkerSource(0) && !c.Frames[i].Closing { // a script's own, or another sender's
			c.Frames[i].Points = append(slices.Clip(c.Frames[i].Points), metric.GaugePoint(metric.Of("queue_depth"), 1))
		}
	}
	v := Judge(c.Record())
	r := ruleOf(t, v, "data")
	if v.Outcome != Invalid || r.Detail != "no data for queue_depth max< (no metric jobs)" || !strings.Contains(r.Advice, "the profile's gauges") {
		t.Errorf("%v; %s; %s", v.Outcome, r.Detail, r.Advice)
	}
}

// A tighter bound or a higher percentile never turns FAIL into PASS; and fewer readings
// never turn anything into PASS.
func TestGaugeProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		level := rapid.SampledFrom([]float64{5, 50, 400}).Draw(rt, "level")
		depths := rapid.SliceOfN(rapid.Float64Range(0, level), 120, 120).Draw(rt, "depths")
		for range rapid.IntRange(0, 3).Draw(rt, "peaks") {
			from := rapid.IntRange(0, 119).Draw(rt, "from")
			for i := from; i < min(120, from+rapid.IntRange(1, 30).Draw(rt, "length")); i++ {
				depths[i] += 300
			}
		}
		bounds := rapid.SliceOfN(rapid.Float64Range(1, 800), 2, 5).Draw(rt, "bounds")
		slices.Sort(bounds)
		var slos []spec.SLO
		for _, b := range bounds {
			slos = append(slos, depthMax(b))
			for _, p := range []float64{99, 95, 90, 50} { // from the tightest on
				slos = append(slos, synthetic.Percentile("queue_depth", p, b))
			}
		}
		slosOf := func(depth func(int) float64) []SLO {
			c := queued(depth)
			c.Run.Plan.Profile.Flows[0].SLOs = slos
			return Judge(c.Record()).SLOs[:len(slos)]
		}
		complete := slosOf(func(second int) float64 { return depths[second] })
		looser := func(i, j int) bool { // the jth asks no more than the ith
			return slos[j].Bound >= slos[i].Bound && (slos[i].Aggregate == spec.Max || slos[j].Aggregate == spec.Percentile && slos[j].Quantile <= slos[i].Quantile)
		}
		for i, tight := range complete {
			for j, loose := range complete {
				if looser(i, j) && tight.Outcome == Pass && loose.Outcome != Pass {
					rt.Fatalf("%s passes, %s is %v", slos[i].ID(), slos[j].ID(), loose.Outcome)
				}
			}
		}
		gaps := rapid.SliceOfNDistinct(rapid.IntRange(0, 119), 1, 60, rapid.ID).Draw(rt, "not read")
		incomplete := slosOf(func(second int) float64 {
			if slices.Contains(gaps, second) {
				return -1
			}
			return depths[second]
		})
		for i, s := range incomplete {
			if s.Outcome == Pass && (complete[i].Outcome != Pass || int64(len(gaps)) > *s.Allowed) || s.Outcome == Fail && complete[i].Outcome != Fail {
				rt.Fatalf("%s is %v; without %d seconds %v", slos[i].ID(), complete[i].Outcome, len(gaps), s.Outcome)
			}
		}
	})
}
