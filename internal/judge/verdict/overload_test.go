package verdict

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/synthetic"
)

// The load of overloadProfile: its seconds, and its first transactions.
const (
	overloadStart, overloadEnd = 40, 60 // seconds
	stepStart                  = 10
	baselineRate, targetRate   = 10, 20
	overloadRate               = 30
)

// overloadProfile holds its target, goes over it by half, and comes back.
func overloadProfile(settle, scale time.Duration, goodput string) spec.Profile {
	p := synthetic.Profile()
	p.Flows[0].Load = spec.Load{Unit: "tps", Stages: []spec.Stage{
		{Rate: baselineRate, For: stepStart * time.Second},
		{Rate: targetRate, For: (overloadStart - stepStart) * time.Second, Judge: true},
		{Rate: overloadRate, For: (overloadEnd - overloadStart) * time.Second, Overload: true},
		{Rate: targetRate, For: 60 * time.Second, Judge: true},
	}}
	limit := func(name string, d time.Duration) spec.SLO {
		return spec.SLO{Metric: name, Expression: "max<" + d.String(), Aggregate: spec.Max, Operator: "<", Bound: float64(d / time.Millisecond)}
	}
	p.Flows[0].SLOs = []spec.SLO{
		synthetic.Percentile(metric.TransactionDuration, 95, 250),
		limit(metric.SettleTime, settle), limit(metric.TimeToScale, scale),
		{Metric: metric.Goodput, Expression: "rate>" + goodput, Aggregate: spec.Rate, Operator: ">", Bound: 0.9},
	}
	return p
}

// second is when transaction n of overloadProfile arrives.
func second(n int64) float64 {
	at := float64(n - 1)
	for _, s := range []struct{ rate, seconds float64 }{
		{baselineRate, stepStart},
		{targetRate, overloadStart - stepStart},
		{overloadRate, overloadEnd - overloadStart},
	} {
		if at < s.rate*s.seconds {
			return at/s.rate + map[float64]float64{baselineRate: 0, targetRate: stepStart, overloadRate: overloadStart}[s.rate]
		}
		at -= s.rate * s.seconds
	}
	return overloadEnd + at/targetRate
}

// overloaded is a system that is slow for some seconds after the step up, that serves one
// transaction in so many too slowly while it is overloaded, and all of them for some seconds
// after that.
func overloaded(scales, settles float64, oneIn int64) synthetic.System {
	return func(n int64) (float64, string) {
		switch at := second(n); {
		case at >= stepStart && at < stepStart+scales, at >= overloadEnd && at < overloadEnd+settles:
			return 900, metric.Completed
		case at >= overloadStart && at < overloadEnd && n%oneIn == 0:
			return 900, metric.Completed
		}
		return 20, metric.Completed
	}
}

func findSLO(t interface{ Fatalf(string, ...any) }, v Verdict, name string) SLO {
	for _, s := range v.SLOs {
		if s.Metric == name {
			return s
		}
	}
	t.Fatalf("no SLO on %s", name)
	return SLO{}
}

// Goodput, settle_time and time_to_scale are those of the system: to a thousandth, and to a
// second. They decide by their limits, and the seconds in which the system may still be slow
// are judged by nothing else.
func TestOverloadIsMeasured(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scales, settles := float64(rapid.IntRange(0, 15).Draw(t, "scales")), float64(rapid.IntRange(0, 40).Draw(t, "settles"))
		oneIn := rapid.Int64Range(2, 20).Draw(t, "one in")
		limits := time.Duration(rapid.IntRange(1, 45).Draw(t, "limit")) * time.Second
		v := Judge(synthetic.New(overloadProfile(limits, limits, "0.9"), 1, overloaded(scales, settles, oneIn)).Record())
		slow := 0.0
		for n := int64(1); second(n) < overloadEnd; n++ {
			if second(n) >= overloadStart && n%oneIn == 0 {
				slow++
			}
		}
		const offered, planned = overloadRate * (overloadEnd - overloadStart), targetRate * (overloadEnd - overloadStart)
		if g := findSLO(t, v, metric.Goodput); g.Observed == nil || math.Abs(*g.Observed-(offered-slow)/planned) > 0.001 {
			t.Fatalf("goodput of %g good ones of %d: %+v", offered-slow, planned, g)
		} else if want := passOrFail(*g.Observed > 0.9); g.Outcome != want {
			t.Fatalf("goodput %g is %s", *g.Observed, g.Outcome)
		}
		worst := Pass
		for name, truth := range map[string]float64{metric.SettleTime: settles, metric.TimeToScale: scales} {
			s := findSLO(t, v, name)
			if s.Observed == nil || *s.Observed < 1000*truth-1 || *s.Observed > 1000*(truth+1) {
				t.Fatalf("%s of %g s: %+v", name, truth, s)
			}
			limit := limits.Seconds()
			switch {
			case truth <= limit-1 && s.Outcome != Pass, truth >= limit+1 && s.Outcome != Fail:
				t.Fatalf("%s of %g s, %g allowed, is %s", name, truth, limit, s.Outcome)
			}
			worst = Worse(worst, s.Outcome)
		}
		if latency := findSLO(t, v, metric.TransactionDuration); worst == Pass && latency.Outcome != Pass {
			t.Fatalf("the time of the recovery counts as latency: %+v", latency)
		}
	})
}

// A system that never recovers from an overload is FAIL by settle_time, which names the
// seconds since then.
func TestNeverSettles(t *testing.T) {
	v := Judge(synthetic.New(overloadProfile(20*time.Second, 20*time.Second, "0.9"), 1, overloaded(0, 1000, 2)).Record())
	s := findSLO(t, v, metric.SettleTime)
	if v.Outcome != Fail || s.Outcome != Fail || s.Upper != nil || *s.Observed < 48_000 || len(s.Seconds) != 1 || s.Seconds[0].From != synthetic.T0.Unix()+overloadEnd {
		t.Errorf("%s: %+v", v.Claim, s)
	}
	if !strings.Contains(v.Claim, "the end of the overload of 30/s: not settled after ") {
		t.Error(v.Claim)
	}
}

// Delay that the generator itself adds in an overload, or after it, decides nothing.
func TestOverloadWithoutTheGenerator(t *testing.T) {
	late := func(n int64) (lagMs, stalledMs float64) {
		if at := second(n); at >= overloadStart && at < overloadEnd+30 {
			return 0, 900
		}
		return 0, 0
	}
	v := Judge(synthetic.NewWith(overloadProfile(20*time.Second, 20*time.Second, "0.9"), 1, overloaded(0, 0, 1000), late).Record())
	for _, name := range []string{metric.Goodput, metric.SettleTime} {
		if s := findSLO(t, v, name); s.Outcome == Fail {
			t.Errorf("the generator's delay fails the system: %+v", s)
		}
	}
	if v.Outcome != Invalid && v.Outcome != Inconclusive {
		t.Errorf("%s: %s", v.Outcome, v.Claim)
	}
}

// An overload that the generator did not deliver shows nothing of the system: what it does
// with the rest of the load is no goodput in an overload, and it has nothing to settle from.
func TestOverloadNotDelivered(t *testing.T) {
	in := func(n int64) bool { return second(n) >= overloadStart && second(n) < overloadEnd }
	healthy := overloaded(0, 0, 1000)
	dropped := synthetic.New(overloadProfile(20*time.Second, 20*time.Second, "0.9"), 1, func(n int64) (float64, string) {
		if in(n) && n%3 == 0 { // 20/s of the 30/s remain: as many as the target
			return 0, metric.Dropped
		}
		return healthy(n)
	})
	for i, f := range dropped.Frames {
		if at := f.Second - synthetic.T0.Unix(); f.Source == metric.WorkerSource(0) && !f.Closing && at >= overloadStart && at < overloadEnd {
			dropped.Frames[i].Points = append(f.Points, metric.CounterPoint(metric.Of(metric.GeneratorDropped), 10))
		}
	}
	late := synthetic.NewWith(overloadProfile(20*time.Second, 20*time.Second, "0.9"), 1, healthy, func(n int64) (lagMs, stalledMs float64) {
		if in(n) && n%3 == 0 {
			return 150, 0
		}
		return 0, 0
	})
	for text, c := range map[string]*synthetic.Case{
		"holds, but in the overload the generator lost 200 of 600 arrivals":                                    dropped,
		"holds, but in the overload the generator itself started 200 of 600 transactions more than 100ms late": late,
	} {
		v := Judge(c.Record())
		for _, name := range []string{metric.Goodput, metric.SettleTime} {
			if s := findSLO(t, v, name); s.Outcome != Inconclusive || !s.HiddenByGenerator || s.Name()+" "+s.undecidedReason() != s.Name()+" "+text {
				t.Errorf("%s is %s: %+v", name, s.Outcome, s)
			}
		}
		if v.Outcome != Invalid || !strings.Contains(v.Claim, text) {
			t.Errorf("%s: %s", v.Outcome, v.Claim)
		}
	}
}

// endsOver is overloadProfile without the window after its overload: nothing is judged there
// but how the system settles.
func endsOver(goodput string, further ...spec.Stage) spec.Profile {
	p := overloadProfile(20*time.Second, 20*time.Second, goodput)
	p.Flows[0].Load.Stages = append(p.Flows[0].Load.Stages[:3:3], further...)
	return p
}

// What goodput, settle_time and time_to_scale judge is a part of what is judged: a run that
// ends before it does not pass, whatever its windows show.
func TestStoppedBeforeTheEndOfOverload(t *testing.T) {
	after := spec.Stage{Rate: targetRate, For: 40 * time.Second}
	scaling := overloadProfile(20*time.Second, 20*time.Second, "0.9")
	scaling.Flows[0].Load.Stages = []spec.Stage{{Rate: baselineRate, For: stepStart * time.Second}, {Rate: targetRate, For: 15 * time.Second, Judge: true}, {Rate: targetRate, For: 20 * time.Second}}
	scaling.Flows[0].SLOs = []spec.SLO{scaling.Flows[0].SLOs[0], scaling.Flows[0].SLOs[2]}
	twice := endsOver("0.9", after, spec.Stage{Rate: overloadRate, For: 20 * time.Second, Overload: true}, after)
	for name, tt := range map[string]struct {
		profile spec.Profile
		second  int64
		text    string
		goodput Outcome // if not aborted; 0: it has none
	}{
		"in the overload":            {endsOver("0.9", after), 50, "after its judged windows but before the end of what is judged by settle_time, time_to_scale and goodput", Inconclusive},
		"before the overload":        {endsOver("0.9", after), 40, "after its judged windows but before the end of what is judged by", Invalid},
		"while the system settles":   {endsOver("0.9", after), 85, "after its judged windows but before the end of what is judged by", Pass},
		"before it may relapse":      {endsOver("0.9", after), 95, "after its judged windows but before the end of what is judged by", Pass},
		"before the second overload": {twice, 95, "after its judged windows but before the end of what is judged by", Inconclusive},
		"while it scales":            {scaling, 35, "after its judged windows but before the end of what is judged by time_to_scale", 0},
	} {
		t.Run(name, func(t *testing.T) {
			c := synthetic.New(tt.profile, 1, overloaded(0, 0, 1000))
			stopAt(c, tt.second, "interrupted")
			v := Judge(c.Record())
			if v.Outcome != Invalid || !strings.Contains(v.Claim, "the run ended") || !strings.Contains(v.Claim, tt.text) {
				t.Errorf("interrupted: %s: %s", v.Outcome, v.Claim)
			}
			if tt.goodput != 0 {
				if s := findSLO(t, v, metric.Goodput); s.Outcome != tt.goodput {
					t.Errorf("interrupted: goodput is %s", s.Outcome)
				}
			}
			c = synthetic.New(tt.profile, 1, overloaded(0, 0, 1000))
			guarded(c, tt.second, record.Abort{Metric: "orders", Expression: "rate>0.05 for 3s", Limit: 0.05, Protects: "the neighbour orders"})
			v = Judge(c.Record())
			if v.Outcome != Fail || !v.Aborted.Truncated || !strings.Contains(v.Claim, "aborted") || !strings.Contains(v.Claim, tt.text) {
				t.Errorf("aborted: %s: %s", v.Outcome, v.Claim)
			}
			for _, s := range v.SLOs {
				if s.Outcome == Pass {
					t.Errorf("aborted: %s is PASS", s.Name())
				}
			}
		})
	}
}

// A recovery from a change in load is judged until the load rises again, as what the system
// does from then on is due to that; overload stages that follow each other are one overload.
func TestRecoveryUntilTheLoadRises(t *testing.T) {
	stage := func(rate float64, seconds int, judge, overload bool) spec.Stage {
		return spec.Stage{Rate: rate, For: time.Duration(seconds) * time.Second, Judge: judge, Overload: overload}
	}
	ramped := func(s spec.Stage, seconds int) spec.Stage {
		s.Ramp = time.Duration(seconds) * time.Second
		return s
	}
	type span struct{ from, to int }
	for name, tt := range map[string]struct {
		stages []spec.Stage
		slow   []span // seconds in which all transactions are too slow
		metric string
		want   Outcome
		number int // number of recoveries
		text   string
	}{
		"adjacent overloads": { // from second 10, 30 and 60 on
			[]spec.Stage{stage(20, 10, true, false), stage(30, 20, false, true), stage(40, 30, false, true), stage(20, 40, false, false)},
			[]span{{10, 65}},
			metric.SettleTime, Pass, 1, "the end of the overload of 40/s: settled within 5 s",
		},
		"adjacent overloads with ramps": { // from second 10, 32 and 62 on
			[]spec.Stage{stage(20, 10, true, false), stage(40, 20, false, true), ramped(stage(30, 28, false, true), 2), stage(20, 40, false, false)},
			[]span{{10, 63}},
			metric.SettleTime, Pass, 1, "the end of the overload of 40/s: settled within 3 s",
		},
		"that never settles": {
			[]spec.Stage{stage(20, 10, true, false), stage(30, 20, false, true), stage(40, 30, false, true), stage(20, 40, false, false)},
			[]span{{10, 100}},
			metric.SettleTime, Fail, 1, "the end of the overload of 40/s: not settled after ",
		},
		"a settling time that another overload ends": { // overloads from second 10 and 50 on
			[]spec.Stage{stage(20, 10, true, false), stage(30, 20, false, true), stage(20, 20, false, false), stage(30, 20, false, true), stage(20, 40, false, false)},
			[]span{{10, 42}, {50, 70}},
			metric.SettleTime, Inconclusive, 2, "the end of the overload of 30/s: not settled after 19 s",
		},
		"a settling time that a ramp ends": { // overload from second 10 on, ramp from second 50 on
			[]spec.Stage{stage(20, 10, true, false), stage(30, 20, false, true), stage(10, 20, false, false), ramped(stage(20, 30, false, false), 10)},
			[]span{{10, 45}, {50, 80}},
			metric.SettleTime, Inconclusive, 1, "the end of the overload of 30/s: not settled after 19 s",
		},
		"a settling time without time": {
			[]spec.Stage{stage(20, 10, true, false), stage(30, 20, false, true), stage(20, 5, false, false), stage(30, 20, false, true), stage(20, 40, false, false)},
			nil, metric.SettleTime, Invalid, 2, "the load rose again too early to show the effect of the end of the overload of 30/s",
		},
		"a step that an overload follows": { // step in second 10, overload from second 25 on
			[]spec.Stage{stage(10, 10, false, false), stage(20, 15, true, false), stage(30, 20, false, true), stage(20, 40, false, false)},
			[]span{{10, 22}, {25, 45}},
			metric.TimeToScale, Inconclusive, 1, "the step to 20/s: not scaled after 14 s",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := overloadProfile(20*time.Second, 20*time.Second, "0")
			limit := p.Flows[0].SLOs[1]
			if tt.metric == metric.TimeToScale {
				limit = p.Flows[0].SLOs[2]
			}
			p.Flows[0].Load.Stages, p.Flows[0].SLOs = tt.stages, []spec.SLO{p.Flows[0].SLOs[0], limit}
			c := synthetic.New(p, 1, arrivingIn(p, func(second int) bool {
				return slices.ContainsFunc(tt.slow, func(s span) bool { return second >= s.from && second < s.to })
			}))
			v := Judge(c.Record())
			s := findSLO(t, v, tt.metric)
			if s.Outcome != tt.want || len(v.Recoveries) != tt.number {
				t.Errorf("%s: %+v, %+v", s.Outcome, s, v.Recoveries)
			}
			if !strings.Contains(v.Claim, tt.text) {
				t.Error(v.Claim)
			}
		})
	}
}

// arrivingIn is a system that is too slow for what arrives in some seconds.
func arrivingIn(p spec.Profile, slow func(second int) bool) synthetic.System {
	var at []int // second in which each transaction arrives
	c := synthetic.New(p, 1, synthetic.Healthy)
	for _, f := range c.Frames {
		for _, pt := range f.Points {
			if pt.Series.Name == metric.TransactionsScheduled {
				for range int(pt.Value) {
					at = append(at, int(f.Second-synthetic.T0.Unix()))
				}
			}
		}
	}
	return func(n int64) (float64, string) {
		if slow(at[n-1]) {
			return 900, metric.Completed
		}
		return 20, metric.Completed
	}
}
