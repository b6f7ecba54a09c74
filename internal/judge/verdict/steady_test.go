package verdict

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/synthetic"
)

// A hold that must be steady: 60 s with 1,200
// transactions, after the 110 of the phases before.
const before, inHold = 110, 1200

func longHold(system synthetic.System) *synthetic.Case {
	p := synthetic.Profile()
	p.Flows[0].Load.Hold = 60 * time.Second
	return synthetic.New(p, 1, system)
}

// below replaces the SLOs of the case by one p95.
func below(ms float64, c *synthetic.Case) *synthetic.Case {
	c.Run.Plan.Profile.Flows[0].SLOs = []spec.SLO{synthetic.Percentile(metric.TransactionDuration, 95, ms)}
	return c
}

// timedOut removes the SLOs of the case and sets a timeout of 200 ms.
func timedOut(c *synthetic.Case) *synthetic.Case {
	c.Run.Plan.Profile.Flows[0].SLOs, c.Run.Plan.Load.Timeout = nil, 200*time.Millisecond
	return c
}

// withGrowingSteal adds a steal time of 20 % from the middle of the hold on.
func withGrowingSteal(c *synthetic.Case) *synthetic.Case {
	for _, w := range c.Run.Plan.Load.Judged {
		for at := w.Start; at < w.End; at += time.Second {
			stolen := 0.0
			if at > (w.Start+w.End)/2 {
				stolen = 0.4
			}
			c.Frames = append(c.Frames, metric.Frame{Source: "host", Second: synthetic.T0.Add(at).Unix(), Points: modes(metric.HostCPU, stolen)})
		}
	}
	return c
}

// moving is a latency around 60 ms that changes by a share over the hold.
func moving(change float64) synthetic.System {
	rng := rand.New(rand.NewPCG(7, 8))
	noise := make([]float64, before+inHold+200)
	for i := range noise {
		noise[i] = 40 + rng.ExpFloat64()*20
	}
	return func(n int64) (float64, string) {
		x := min(max(float64(n-before)/inHold, 0), 1)
		return noise[n%int64(len(noise))] * (1 + change*(x-0.5)), metric.Completed
	}
}

func TestSteady(t *testing.T) {
	// The system completes 19 of 20 transactions per second, and each waits for the
	// backlog.
	behind := func(n int64) (float64, string) {
		return 50 + max(0, float64(n-before))*50*0.05, metric.Completed
	}
	step := func(n int64) (float64, string) {
		ms, outcome := moving(0)(n)
		return ms * (1 + float64((n-before)/(inHold/2))*0.5), outcome
	}
	rise := func(n int64) (float64, string) {
		ms, outcome := moving(0)(n)
		return ms * (1 + max(0, float64(n-before)/inHold-0.5)), outcome
	}
	settling := func(n int64) (float64, string) {
		return 50 + max(0, 3000-float64(n-before)*20), metric.Completed
	}
	for name, tt := range map[string]struct {
		c      *synthetic.Case
		want   Outcome
		detail string
	}{
		"still":               {longHold(moving(0)), Pass, "latency drifted by at most +"},
		"a little slower":     {longHold(moving(0.08)), Pass, "latency may have drifted by +"},
		"a step":              {below(170, longHold(step)), Invalid, "the same drift again would break transaction_duration p(95)<170"},
		"a late rise":         {below(170, longHold(rise)), Invalid, "the same drift again would break transaction_duration p(95)<170"},
		"slower":              {below(170, longHold(moving(0.5))), Invalid, "the same drift again would break transaction_duration p(95)<170"},
		"slower, with room":   {below(500, longHold(moving(0.5))), Pass, "latency drifted by +"},
		"slower, to timeouts": {timedOut(longHold(moving(0.5))), Invalid, "the same drift again would break transaction_duration p(99)<200, the timeout"},
		"slower, with steal":  {withGrowingSteal(below(170, longHold(moving(0.5)))), Pass, "while steal time or CPU throttling grew"},
		"faster":              {below(170, longHold(moving(-0.5))), Pass, "latency drifted by -"},
		"slower, but short":   {synthetic.New(synthetic.Profile(), 1, moving(0.8)), Pass, "windows under 40 s are too short"},
		"falls behind":        {longHold(behind), Fail, "completions fell behind the schedule: 4.7"},
		"falls behind, short": {synthetic.New(synthetic.Profile(), 1, behind), Fail, "completions fell behind the schedule"},
		"a slow start, short": {synthetic.New(synthetic.Profile(), 1, settling), Pass, "windows under 40 s are too short"},
	} {
		t.Run(name, func(t *testing.T) {
			v := Judge(tt.c.Record())
			r := ruleOf(t, v, "steady")
			if r.Outcome != tt.want || !strings.Contains(r.Detail, tt.detail) {
				t.Errorf("%v: %s", r.Outcome, r.Detail)
			}
			if tt.want == Fail && v.Outcome != Fail {
				t.Errorf("the run is %v: %s", v.Outcome, v.Claim)
			}
		})
	}
	t.Run("a generator that falls behind", func(t *testing.T) {
		c := longHold(behind)
		c.Run.Plan.Profile.Flows[0].SLOs = nil // which fail, whatever the generator does
		displace(c, 20, 30)
		v := Judge(c.Record())
		if r := ruleOf(t, v, "steady"); r.Outcome != Invalid || v.Outcome != Invalid {
			t.Errorf("%v; steady is %v: %s", v.Outcome, r.Outcome, r.Advice)
		}
	})
}

// A harmless growth in one window does not hide a harmful one in the next.
func TestSteadyOfEachWindow(t *testing.T) {
	for name, tt := range map[string]struct {
		second func(x float64) float64 // latency in the second window, of its time
		want   Outcome
		detail string
	}{
		"still":        {func(float64) float64 { return 60 }, Pass, "latency drifted by +"},
		"near a bound": {func(x float64) float64 { return 250 + 150*x }, Invalid, "the same drift again would break transaction_duration p(95)<500"},
		"a backlog":    {func(x float64) float64 { return 60 + 6000*x }, Fail, "completions fell behind the schedule"},
	} {
		p := synthetic.Profile()
		p.Flows[0].Load.Hold = 120 * time.Second
		rng := rand.New(rand.NewPCG(7, 8))
		c := below(500, synthetic.New(p, 1, func(n int64) (float64, string) {
			x := min(max(float64(n-before)/inHold, 0), 2)
			ms := 40 * (1 + 0.8*x)
			if x >= 1 {
				ms = tt.second(x - 1)
			}
			return ms + 10*rng.ExpFloat64(), metric.Completed
		}))
		w := c.Run.Plan.Load.Judged[0]
		first, second := w, w
		first.End = (w.Start + w.End) / 2
		second.Start = first.End
		c.Run.Plan.Load.Judged = []plan.Window{first, second}
		v := Judge(c.Record())
		if r := ruleOf(t, v, "steady"); r.Outcome != tt.want || !strings.Contains(r.Detail, tt.detail) {
			t.Errorf("%s: %v: %s (%s)", name, r.Outcome, r.Detail, v.Claim)
		}
	}
}

// The open transactions at the end of each second, as estimated from the histograms,
// agree with their exact number.
func TestOpenTransactions(t *testing.T) {
	const latency = 1750.0
	c := synthetic.New(synthetic.Profile(), 1, func(int64) (float64, string) { return latency, metric.Completed })
	e := newEvidence(c.Record())
	for i, open := range openAt(e, e.spans[0]) {
		if open < 32 || open > 38 { // due within the last 1.75 s at 20/s

			t.Errorf("second %d: %g open, of 35", i, open)
		}
	}
}

func TestSeededAndStart(t *testing.T) {
	change := func(name string, to func(p *metric.Point)) func(*synthetic.Case) {
		return func(c *synthetic.Case) {
			for _, f := range c.Frames {
				for i := range f.Points {
					if f.Closing && f.Source == "worker/1" && f.Points[i].Series.Name == name {
						to(&f.Points[i])
					}
				}
			}
		}
	}
	forget := func(p *metric.Point) { p.Series.Name = "other" }
	for name, tt := range map[string]struct {
		rule   string
		change func(*synthetic.Case)
		detail string
	}{
		"another seed": {"seeded", change(metric.WorkerSeed, func(p *metric.Point) {
			p.Series = metric.NewSeries(metric.WorkerSeed, "", "seed", "2")
		}), "the plan's seed is 1: worker/1 reports seed 2"},
		"no seed":        {"seeded", change(metric.WorkerSeed, forget), "the plan's seed is 1: worker/1 reports seed none"},
		"a late worker":  {"start-skew", change(metric.WorkerStartDelay, func(p *metric.Point) { p.Value = 1200.1 }), "the workers' first arrivals were at most 1200 ms apart, relative to their schedules"},
		"no first slot":  {"start-skew", change(metric.WorkerStartDelay, forget), "worker/1 did not report its first arrival"},
		"too late a bit": {"start-skew", change(metric.WorkerStartDelay, func(p *metric.Point) { p.Value = 1000.2 }), "the workers' first arrivals were at most 1000 ms apart, relative to their schedules"},
	} {
		t.Run(name, func(t *testing.T) {
			c := healthy()
			tt.change(c)
			v := Judge(c.Record())
			if r := ruleOf(t, v, tt.rule); r.Outcome != Invalid || r.Detail != tt.detail || v.Outcome != Invalid {
				t.Errorf("%v; %s is %v: %s", v.Outcome, tt.rule, r.Outcome, r.Detail)
			}
		})
	}
}

func TestSamples(t *testing.T) {
	c := healthy()
	c.Run.Plan.Profile.Flows[0].SLOs = append(c.Run.Plan.Profile.Flows[0].SLOs, synthetic.Percentile(metric.TransactionDuration, 99.9, 1000))
	v := Judge(c.Record())
	const has = "transaction_duration p(99.9)<1000 has 600 samples, of which 0 may violate it; a decision needs at least 5"
	if r := ruleOf(t, v, "samples"); v.Outcome != Inconclusive || r.Outcome != Inconclusive || r.Detail != has {
		t.Errorf("%v; %v: %s", v.Outcome, r.Outcome, r.Detail)
	}
	if !strings.Contains(v.Claim, "does not show whether synthetic sustains 20 transactions per second for 30 s: "+has) {
		t.Errorf("claim: %s", v.Claim)
	}
	// A condition that certainly fails needs no more samples.
	c.Run.Plan.Profile.Flows[0].SLOs[len(c.Run.Plan.Profile.Flows[0].SLOs)-1] = synthetic.Percentile(metric.TransactionDuration, 99.9, 30)
	v = Judge(c.Record())
	if r := ruleOf(t, v, "samples"); v.Outcome != Fail || r.Outcome != Pass {
		t.Errorf("%v; %v: %s", v.Outcome, r.Outcome, r.Detail)
	}
}

// addEndpoint adds requests of another endpoint to every frame of the workers.
func addEndpoint(c *synthetic.Case, name string, perSecond, slow int) {
	for i, f := range c.Frames {
		if f.Closing || !metric.IsWorker(f.Source) {
			continue
		}
		h := &metric.Hist{}
		h.Record(20, uint64(perSecond-slow))
		h.Record(900, uint64(slow))
		c.Frames[i].Points = append(f.Points, metric.HistPoint(metric.NewSeries(metric.RequestDuration, "ms", "name", name), h))
	}
}

// A frequent and fast endpoint must not hide one that breaks the SLO.
func TestPerClass(t *testing.T) {
	pooled := synthetic.Percentile(metric.RequestDuration, 95, 500)
	for name, tt := range map[string]struct {
		perSecond, slow int
		want            Outcome
		detail, limits  string
	}{
		"both hold":                  {40, 0, Pass, "none of 1 conditions on single classes is broken", ""},
		"hidden":                     {20, 5, Fail, "broken for a single class: http_req_duration{name:rare} p(95)<500 (150 of 600 violate it)", ""},
		"too rare to say":            {1, 0, Pass, "none of 1 conditions on single classes is broken", ""},
		"over its share, not surely": {15, 1, Pass, "none of 1 conditions on single classes is broken", "over the limit for a single class, but not significantly: http_req_duration{name:rare} p(95)<500 (30 of 450 violate it)"},
	} {
		t.Run(name, func(t *testing.T) {
			c := synthetic.New(synthetic.Profile(), 1, synthetic.Healthy)
			c.Run.Plan.Profile.Flows[0].SLOs = append(c.Run.Plan.Profile.Flows[0].SLOs, pooled)
			addEndpoint(c, "rare", tt.perSecond, tt.slow)
			if tt.slow > 0 { // so many others that the pool holds
				addEndpoint(c, "pay", 400, 0)
			}
			c.Frames = recount(c)
			v := Judge(c.Record())
			r := ruleOf(t, v, "per-class")
			if r.Outcome != tt.want || r.Detail != tt.detail || r.Limitation != tt.limits {
				t.Errorf("%v: %s; %s", r.Outcome, r.Detail, r.Limitation)
			}
			if s := sloOf(t, v, "http_req_duration:p(95)<500"); s.Outcome != Pass {
				t.Errorf("the pool is %v", s.Outcome)
			}
			if tt.want == Fail && (v.Outcome != Fail || !strings.Contains(v.Claim, r.Detail)) {
				t.Errorf("%v: %s", v.Outcome, v.Claim)
			}
		})
	}
}

// recount makes the closing frames agree with the added points.
func recount(c *synthetic.Case) []metric.Frame {
	for i, f := range c.Frames {
		if f.Closing && metric.IsWorker(f.Source) {
			retotal(c, f)
			c.Frames[i] = f
		}
	}
	return c.Frames
}

// In short windows the number of open transactions varies by chance, although the latency is
// always 0.5 s. A system that completes 95 % of the arrivals falls behind.
func TestBacklogOfChance(t *testing.T) {
	const runs = 1000
	grown := func(rate, seconds int, latency func(at float64) float64) (n int) {
		for seed := range uint64(runs) {
			rng := rand.New(rand.NewPCG(seed, 1))
			levels := make([]float64, seconds/2)
			for range rate * (seconds + 1) { // from a second before the window on
				at := rng.Float64()*float64(seconds+1) - 1
				for end := range seconds {
					if now := float64(end + 1); at <= now && now < at+latency(at) {
						levels[end/2] += 0.5
					}
				}
			}
			if _, grew := growth(levels, float64(rate*seconds)); grew {
				n++
			}
		}
		return n
	}
	if n := grown(10, 10, func(float64) float64 { return 0.5 }); n > 0 {
		t.Errorf("%d of %d steady windows fell behind", n, runs)
	}
	if n := grown(20, 60, func(at float64) float64 { return 0.5 + 0.05*max(0, at) }); n < runs*9/10 {
		t.Errorf("%d of %d windows with a backlog fell behind", n, runs)
	}
}
