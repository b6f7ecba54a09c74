package verdict

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/mask"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/metrictest"
	"assay.dev/assay/internal/testing/property"
	"assay.dev/assay/internal/testing/synthetic"
)

// sealedAndOpened judges a run from its folder, whose manifest is right whatever its frames
// hold.
func sealedAndOpened(t testing.TB, c *synthetic.Case) Verdict {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	if err := c.Seal(dir); err != nil {
		t.Fatal(err)
	}
	r, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return Judge(r)
}

// slow has a p50 of about 200 ms.
func slow(n int64) (float64, string) { return 150 + float64(n*37%100), metric.Completed }

// asked is a run of a slow system of which p(50)<60 is asked.
func asked() *synthetic.Case {
	p := synthetic.Profile()
	p.Flows[0].SLOs = append(p.Flows[0].SLOs[:5:5], synthetic.Percentile(metric.TransactionDuration, 50, 60))
	return synthetic.New(p, 2, slow)
}

// However a worker writes its violations, a p50 of 200 ms is never a PASS of p(50)<60.
func TestViolationsThatTheHistogramDenies(t *testing.T) {
	if v := sealedAndOpened(t, asked()); v.Outcome != Fail {
		t.Fatalf("as measured it is %s: %s", v.Outcome, v.Claim)
	}
	for name, change := range map[string]func(float64) float64{
		"negative": times(-1), "zero": times(0), "half": times(0.5), "a fraction less": plus(-0.5), "one less": plus(-1), "NaN": times(math.NaN()), "endless": times(math.Inf(1)),
	} {
		t.Run(name, func(t *testing.T) {
			c := asked()
			for _, counter := range []string{metric.Violations, metric.ViolationsCleared} {
				edit(c, "worker/1", counter, change)
			}
			v := sealedAndOpened(t, c)
			r := ruleOf(t, v, "frames")
			if v.Outcome != Invalid || r.Outcome != Invalid || !strings.HasPrefix(r.Detail, "worker/1 contradicts itself: ") {
				t.Errorf("%s; frames is %s: %s", v.Outcome, r.Outcome, r.Detail)
			}
		})
	}
}

// of changes the points of a name in a worker's frame; false: the frame has none.
func of(name string, change func(p *metric.Point)) func(*rapid.T, *metric.Frame) bool {
	return func(_ *rapid.T, f *metric.Frame) (found bool) {
		for i := range f.Points {
			if f.Points[i].Series.Name == name {
				change(&f.Points[i])
				found = true
			}
		}
		return found
	}
}

// contradictions change one frame of a worker into what it cannot have measured.
var contradictions = map[string]func(*rapid.T, *metric.Frame) bool{
	"a negative counter":        anyPoint(metric.Counter, func(p *metric.Point) { p.Value = -p.Value - 1 }),
	"a counter that is NaN":     anyPoint(metric.Counter, func(p *metric.Point) { p.Value = math.NaN() }),
	"a counter without end":     anyPoint(metric.Counter, func(p *metric.Point) { p.Value = math.Inf(1) }),
	"a huge counter":            anyPoint(metric.Counter, func(p *metric.Point) { p.Value = 1e300 }),
	"a gauge that is NaN":       anyPoint(metric.Gauge, func(p *metric.Point) { p.Value = math.NaN() }),
	"a counter as a gauge":      anyPoint(metric.Counter, func(p *metric.Point) { p.Kind = metric.Gauge }),
	"a gauge as a counter":      anyPoint(metric.Gauge, func(p *metric.Point) { p.Kind = metric.Counter }),
	"a count as a histogram":    anyPoint(metric.Counter, func(p *metric.Point) { p.Kind, p.Hist = metric.Histogram, metrictest.Hist(p.Value) }),
	"a latency too many":        of(metric.TransactionDuration, func(p *metric.Point) { p.Hist.Record(30, 1) }),
	"a latency that is endless": of(metric.TransactionDuration, func(p *metric.Point) { p.Hist.Record(math.Inf(1), 1) }),
	"a lag too many":            of(metric.GeneratorLag, func(p *metric.Point) { p.Hist.Record(0, 1) }),
	"an outcome too many":       of(metric.Transactions, plusOne),
	"an unknown outcome":        of(metric.Transactions, func(p *metric.Point) { p.Series = metric.Of(metric.Transactions, "outcome", "fine") }),
	"an arrival too many":       of(metric.TransactionsScheduled, plusOne),
	"half an arrival":           of(metric.TransactionsScheduled, func(p *metric.Point) { p.Value += 0.5 }),
	"no sample of an SLO":       of(metric.Judged, func(p *metric.Point) { p.Value = 0 }),
	"another sample of an SLO":  of(metric.Judged, plusOne),
	"cleared of nothing":        of(metric.ViolationsCleared, func(p *metric.Point) { p.Value += 1000 }),
	"more failures than requests": of(metric.RequestFailed+metric.RateOccurred, func(p *metric.Point) {
		p.Value += 1000
	}),
	"a request that did not fail": of(metric.RequestFailed+metric.RateTotal, plusOne),
	"slower requests":             of(metric.RequestDuration, func(p *metric.Point) { p.Hist.Record(9000, 1) }),
	"a gRPC request without a duration": func(_ *rapid.T, f *metric.Frame) bool {
		f.Points = append(f.Points, metric.CounterPoint(metric.Of(metric.GRPC.Requests, "status", "0"), 1))
		return true
	},
	"displaced, and not late": func(_ *rapid.T, f *metric.Frame) bool {
		f.Points = append(f.Points, metric.CounterPoint(metric.Of(metric.GeneratorDisplaced), 1))
		return true
	},
	"lost, and not dropped": func(_ *rapid.T, f *metric.Frame) bool {
		f.Points = append(f.Points, metric.CounterPoint(metric.Of(metric.GeneratorDropped), 1))
		return true
	},
	"not completed by the generator, and completed": func(_ *rapid.T, f *metric.Frame) bool {
		f.Points = append(f.Points, metric.CounterPoint(metric.Of(metric.GeneratorUndone), 1000))
		return true
	},
	"failed for what the generator lacks, and completed": func(_ *rapid.T, f *metric.Frame) bool {
		f.Points = append(f.Points, metric.CounterPoint(metric.Of(metric.GeneratorLacks, "class", metric.ErrorNoPort), 1))
		return true
	},
	"what another source measures": func(t *rapid.T, f *metric.Frame) bool {
		name := rapid.SampledFrom([]string{metric.DBSample, metric.ServiceQueries, metric.ReceiveDelay, metric.HostCPU}).Draw(t, "metric")
		d, _ := metric.Find(name)
		f.Points = append(f.Points, metric.Point{Series: metric.Of(name), Kind: d.Kind, Value: 1})
		return true
	},
	"before the load":          func(_ *rapid.T, f *metric.Frame) bool { f.Second -= 3600; return true },
	"after the load":           func(_ *rapid.T, f *metric.Frame) bool { f.Second += 3600; return true },
	"several seconds at once":  func(_ *rapid.T, f *metric.Frame) bool { f.Length = 2; return true },
	"a frame without a number": func(_ *rapid.T, f *metric.Frame) bool { f.Sequence = 0; return true },
}

func plusOne(p *metric.Point) { p.Value++ }

// anyPoint changes a point of a kind that the catalogue knows.
func anyPoint(kind metric.Kind, change func(p *metric.Point)) func(*rapid.T, *metric.Frame) bool {
	return func(t *rapid.T, f *metric.Frame) bool {
		var all []int
		for i, p := range f.Points {
			if p.Kind == kind && !slices.Contains([]string{metric.EndedIterationTime, metric.EndedRequestTime, metric.EndedBlockedTime}, p.Series.Name) {
				all = append(all, i)
			}
		}
		if len(all) == 0 {
			return false
		}
		change(&f.Points[rapid.SampledFrom(all).Draw(t, "point")])
		return true
	}
}

// One contradiction in one frame makes a run INVALID, by name of its worker. Without it the
// same run, from the same folder, is judged as it was.
func TestContradictionsAreFound(t *testing.T) {
	property.Share(t, 3)
	systems := map[string]synthetic.System{"healthy": synthetic.Healthy, "slow": slow}
	short := synthetic.Profile()
	short.Flows[0].Load.Warmup, short.Flows[0].Load.Baseline.For, short.Flows[0].Load.Ramp, short.Flows[0].Load.Hold, short.Flows[0].Load.Cooldown = time.Second, time.Second, time.Second, 10*time.Second, time.Second
	contradictions := maps.Clone(contradictions)
	contradictions["a coarse histogram"] = of(metric.TransactionDuration, func(p *metric.Point) {
		p.Hist = metrictest.Explicit(t, []float64{10, 1000}, slices.Repeat([]float64{30}, int(p.Hist.Count()))...)
	})
	for name, contradict := range contradictions {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				system := rapid.SampledFrom([]string{"healthy", "slow"}).Draw(rt, "system")
				c := synthetic.New(short, 2, systems[system])
				worker := rapid.IntRange(0, 1).Draw(rt, "worker")
				var frames []int
				for i, f := range c.Frames {
					if f.Source == metric.WorkerSource(worker) && !f.Closing {
						frames = append(frames, i)
					}
				}
				if !contradict(rt, &c.Frames[rapid.SampledFrom(frames).Draw(rt, "frame")]) {
					rt.Skip("the frame has no such point")
				}
				v := sealedAndOpened(t, c)
				r := ruleOf(t, v, "frames")
				if want := fmt.Sprintf("worker/%d contradicts itself: ", worker); v.Outcome != Invalid || r.Outcome != Invalid || !strings.HasPrefix(r.Detail, want) || !strings.Contains(r.Advice, "build of Assay") {
					rt.Errorf("%s; frames is %s: %s; %s", v.Outcome, r.Outcome, r.Detail, r.Advice)
				}
			})
		})
	}
	for name, system := range systems {
		c := synthetic.New(synthetic.Profile(), 2, system)
		before, after := Judge(c.Record()), sealedAndOpened(t, c)
		if before.Outcome != after.Outcome || before.Claim != after.Claim {
			t.Errorf("%s: %s instead of %s: %s", name, after.Outcome, before.Outcome, after.Claim)
		}
	}
}

// Two workers whose lies cancel each other are found, too.
func TestContradictionsOfEachWorker(t *testing.T) {
	c := synthetic.New(synthetic.Profile(), 2, synthetic.Healthy)
	for worker, n := range []float64{1, -1} {
		edit(c, metric.WorkerSource(worker), metric.TransactionsScheduled, plus(n))
	}
	r := ruleOf(t, sealedAndOpened(t, c), "frames")
	if want := "worker/0 contradicts itself: second 0 of the load: 1 of its scheduled transactions have no outcome; worker/1 contradicts itself: second 0 of the load: 1 more transactions have ended than were scheduled"; r.Detail != want {
		t.Errorf("%s: %s", r.Outcome, r.Detail)
	}
}

// A frame after the closing frame is of somebody else, and adds nothing.
func TestFramesAfterTheEnd(t *testing.T) {
	c := synthetic.New(synthetic.Profile(), 2, synthetic.Healthy)
	c.Frames = append(c.Frames, metric.Frame{Source: "worker/0", Sequence: 1000, Second: synthetic.T0.Unix() + 20})
	if r := ruleOf(t, sealedAndOpened(t, c), "frames"); r.Detail != "worker/0 contradicts itself: it has reported after its end" {
		t.Errorf("%s: %s", r.Outcome, r.Detail)
	}
}

// However many others contradict themselves first, a worker that does is found.
func TestContradictionsOfOthersHideNoWorker(t *testing.T) {
	c := synthetic.New(synthetic.Profile(), 2, synthetic.Healthy)
	edit(c, "worker/1", metric.TransactionsScheduled, plus(-1))
	for n := range 200 {
		name := strings.Repeat("x", 200_000/(1+n*n))
		c.Frames = append([]metric.Frame{{
			Source: fmt.Sprintf("otlp/%d%s", n, name), Second: synthetic.T0.Unix() + 20,
			Points: []metric.Point{metric.CounterPoint(metric.NewSeries(name, ""), 1e17)},
		}}, c.Frames...)
	}
	v := sealedAndOpened(t, c)
	if r := ruleOf(t, v, "frames"); v.Outcome != Invalid || !strings.HasPrefix(r.Detail, "worker/1 contradicts itself: ") {
		t.Errorf("%s; frames is %s: %s", v.Outcome, r.Outcome, r.Detail)
	}
	for _, l := range v.Limitations {
		if len(l) > 10_000 {
			t.Errorf("a limitation has %d bytes", len(l))
		}
	}
}

// What is judged does not depend on the secrets of whoever judges it: a password may be a word
// of a contradiction.
func TestSecretsOfTheJudge(t *testing.T) {
	c := synthetic.New(synthetic.Profile(), 2, synthetic.Healthy)
	edit(c, "worker/1", metric.TransactionsScheduled, plus(-1))
	want := sealedAndOpened(t, c)
	what := ruleOf(t, want, "frames").Detail
	mask.Add(what[strings.Index(what, ": ")+2:]) // as long as it is, so that no other test knows it
	if diff := cmp.Diff(want, sealedAndOpened(t, c)); diff != "" {
		t.Errorf("(-without secrets +with):\n%s", diff)
	}
}

// A script may tag its requests with more label sets than are kept. The series of the rest has
// no scenario, with several flows too.
func TestOverflowOfFlows(t *testing.T) {
	p := synthetic.Profile()
	slo := synthetic.Percentile(metric.TransactionDuration, 80, 2000)
	p.Flows = []spec.Flow{flowOf("orders", slo), flowOf("views", slo)}
	c := withFlows(p, synthetic.Healthy, synthetic.Healthy)
	checker := record.NewChecker(c.Run.Plan)
	checker.Start(c.Run.Facts.T0)
	for _, f := range c.Frames {
		if metric.IsWorker(f.Source) && !f.Closing {
			f.Points = append(f.Points, metric.HistPoint(metric.NewSeries("iteration_duration", "ms", metric.OverflowLabel, "true"), fast(5)))
		}
		if err := checker.Frame(f); err != nil {
			t.Fatalf("%s: %v", f.Source, err)
		}
	}
}

// However many other senders there are, the run is judged as without them.
func TestTooManyOthersDestroyNoRecord(t *testing.T) {
	c := synthetic.New(synthetic.Profile(), 2, synthetic.Healthy)
	want := Judge(c.Record())
	for n := range 1100 {
		c.Frames = append([]metric.Frame{{
			Source: fmt.Sprint("otlp/", n), Second: synthetic.T0.Unix() + 20, Points: []metric.Point{metric.CounterPoint(metric.NewSeries("hits", ""), 1)},
		}}, c.Frames...)
	}
	v := sealedAndOpened(t, c)
	const left = "points of other senders from second 20 of the load on, beyond the number that is read: 100 points"
	if v.Outcome != want.Outcome || v.Claim != want.Claim || !slices.ContainsFunc(v.LeftOut, func(o certificate.Omission) bool { return o.String() == left }) {
		t.Errorf("%s instead of %s: %v", v.Outcome, want.Outcome, v.LeftOut)
	}
}

// An SLO holds by all samples of its metric or not at all: those that were not read may violate it.
func TestSamplesOfOthersThatAreNotRead(t *testing.T) {
	c := synthetic.New(synthetic.Profile(), 2, synthetic.Healthy)
	slo := synthetic.Percentile("checkout_time", 95, 2000)
	c.Run.Plan.Profile.Flows[0].SLOs = append(c.Run.Plan.Profile.Flows[0].SLOs, slo)
	for n := range 1100 {
		c.Frames = append(c.Frames, metric.Frame{
			Source: fmt.Sprint("otlp/", n), Second: synthetic.T0.Unix() + 20 + int64(n)%20,
			Points: []metric.Point{metric.HistPoint(metric.NewSeries(slo.Metric, "ms"), metrictest.Hist(slices.Repeat([]float64{30}, 20)...))},
		})
	}
	v := Judge(c.Record())
	if s := sloOf(t, v, slo.ID()); s.Outcome != Pass {
		t.Fatalf("all are read: %s", s.Outcome)
	}
	v = sealedAndOpened(t, c)
	if s := sloOf(t, v, slo.ID()); s.Outcome != Inconclusive || v.Outcome != Inconclusive || !strings.Contains(v.Claim, "other senders are left out") {
		t.Errorf("%s, %s: %s", s.Outcome, v.Outcome, v.Claim)
	}
}

// A script's own metric may be named like k6's times of requests. That a request failed says
// nothing of its samples.
func TestScriptsMetricNamedLikeThoseOfRequests(t *testing.T) {
	p := synthetic.Profile()
	login := synthetic.Percentile("http_req_login", 50, 60)
	for name, counted := range map[string]bool{"by its counters": true, "by its histogram": false} {
		t.Run(name, func(t *testing.T) {
			c := synthetic.New(p, 2, func(int64) (float64, string) { return 30, metric.Failed })
			c.Run.Plan.Profile.Flows[0].SLOs = append(c.Run.Plan.Profile.Flows[0].SLOs, login)
			for i := range c.Frames {
				f := &c.Frames[i]
				if !metric.IsWorker(f.Source) || f.Closing {
					continue
				}
				f.Points = append(f.Points, metric.HistPoint(metric.NewSeries(login.Metric, "ms"), fast(5)))
				if counted {
					f.Points = append(f.Points, metric.CounterPoint(metric.Of(metric.Judged, "slo", login.ID()), 5), metric.CounterPoint(metric.Of(metric.ViolationsCleared, "slo", login.ID()), 0))
				}
				if f.Second == synthetic.T0.Unix()+30 {
					f.Points = append(f.Points, metric.HistPoint(metric.Of(metric.OpenRequests), metrictest.Hist(slices.Repeat([]float64{9000}, 500)...)))
				}
			}
			v := Judge(c.Record()) // by thresholds other than the run's
			if counted {
				v = sealedAndOpened(t, c)
			}
			if r, s := ruleOf(t, v, "frames"), sloOf(t, v, login.ID()); r.Outcome != Pass || s.Outcome != Pass || s.AtMost != nil && *s.AtMost > 0 {
				t.Errorf("frames is %s: %s; the SLO is %s", r.Outcome, r.Detail, s.Outcome)
			}
		})
	}
}

// What another source than a worker sends and cannot have measured is left out point by point:
// a service's strange counter spoils no run.
func TestContradictionsOfOthersAreLimitations(t *testing.T) {
	c := synthetic.New(synthetic.Profile(), 2, synthetic.Healthy)
	want := Judge(c.Record())
	at := synthetic.T0.Unix() + 20
	c.Frames = append(
		c.Frames,
		metric.Frame{Source: "otlp/shop", Second: at, Points: []metric.Point{metric.CounterPoint(metric.NewSeries("uptime", ""), 1e17), metric.CounterPoint(metric.NewSeries("hits", ""), 7)}},
		metric.Frame{Source: metric.SourceService, Sequence: 1, Second: at, Points: []metric.Point{
			metric.CounterPoint(metric.Of(metric.ServiceRequests), 1e17), metric.CounterPoint(metric.Of(metric.ServiceQueries), 7),
		}},
		metric.Frame{Source: "nobody", Sequence: 1, Second: at, Points: []metric.Point{metric.CounterPoint(metric.Of(metric.Transactions, "outcome", metric.Failed), 1e6)}},
	)
	dir := filepath.Join(t.TempDir(), "run")
	if err := c.Seal(dir); err != nil {
		t.Fatal(err)
	}
	r, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	v := Judge(r)
	const limitation = "what cannot have been measured is left out: otlp/shop contradicts itself: uptime is 1e+17, too large for a count; " +
		"service contradicts itself: service_requests is 1e+17, too large for a count; nobody contradicts itself: nothing sends frames under this name"
	if v.Outcome != want.Outcome || *v.Outcomes.Failed != *want.Outcomes.Failed || !slices.Contains(v.Limitations, limitation) {
		t.Errorf("%s, %d failed: %q", v.Outcome, *v.Outcomes.Failed, v.Limitations)
	}
	queries, _ := r.Timeline.Sum(metric.ServiceQueries, nil, record.All)
	requests, _ := r.Timeline.Sum(metric.ServiceRequests, nil, record.All)
	if hits := r.Timeline.Foreign("hits", nil, record.All); queries != 7 || requests != 0 || len(hits) != 1 || len(r.Timeline.Foreign("uptime", nil, record.All)) != 0 {
		t.Errorf("%g queries, %g requests, %d hits", queries, requests, len(hits))
	}
}
