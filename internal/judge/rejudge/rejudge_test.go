package rejudge_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"assay.dev/assay/internal/judge/rejudge"
	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/synthetic"
)

// sealed is a run in which the generator started every slot 12 ms late, well within the
// limit of 100 ms.
func sealed(t *testing.T) (dir string) {
	t.Helper()
	c := synthetic.New(synthetic.Profile(), 2, synthetic.Healthy)
	for _, f := range c.Frames {
		for _, p := range f.Points {
			if p.Series.Name == metric.GeneratorLag {
				n := p.Hist.Count()
				*p.Hist = metric.Hist{}
				p.Hist.Record(12, n)
			}
		}
	}
	for i := range c.Frames {
		if strings.HasPrefix(c.Frames[i].Source, "worker/") && !c.Frames[i].Closing {
			c.Frames[i].Points = append(c.Frames[i].Points, metric.CounterPoint(metric.NewSeries(metric.GeneratorDisplaced, ""), 0))
		}
	}
	dir = filepath.Join(t.TempDir(), "run")
	if err := c.Seal(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func file(slos ...spec.SLO) spec.File {
	p := synthetic.Profile()
	p.Flows[0].SLOs, p.Flows[0].Load, p.Flows[0].Timeout, p.Flows[0].Scenario = slos, spec.Load{Unit: "rps", Target: 1}, time.Second, "other.js"
	return spec.File{Path: "other.json", Profiles: map[string]spec.Profile{p.Name: p}}
}

func latency(bound float64) spec.SLO {
	return synthetic.Percentile(metric.TransactionDuration, 95, bound)
}

func judge(t *testing.T, dir string, slos ...spec.SLO) (record.Run, verdict.Verdict) {
	t.Helper()
	r, err := rejudge.Open(dir, file(slos...))
	if err != nil {
		t.Fatal(err)
	}
	return r, verdict.Judge(r)
}

// SLOs and rules come from the file, the rest from the run, which is a limitation.
func TestOnlyThresholdsAreReplaced(t *testing.T) {
	dir := sealed(t)
	was, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	is, v := judge(t, dir, latency(400))
	if is.Plan.Profile.Flows[0].Timeout != was.Plan.Profile.Flows[0].Timeout || is.Plan.Profile.Flows[0].Scenario != was.Plan.Profile.Flows[0].Scenario ||
		is.Plan.Profile.Flows[0].Load.Target != was.Plan.Profile.Flows[0].Load.Target || is.Manifest != was.Manifest || is.Plan.Profile.Flows[0].Ledger == nil {
		t.Errorf("%+v", is.Plan.Profile)
	}
	if len(is.Plan.Profile.Flows[0].SLOs) != 1 || len(v.SLOs) != 2 { // and the throughput
		t.Errorf("SLOs %+v", v.SLOs)
	}
	if want := "re-judged with other.json: the load, the scenario and the timeout are the run's"; !slices.Contains(v.Limitations, want) {
		t.Errorf("limitations %q", v.Limitations)
	}
	if len(was.Facts.Limitations) != len(is.Facts.Limitations)-1 {
		t.Errorf("the record has changed: %q", was.Facts.Limitations)
	}
}

// Violations of a bound without a counter are counted by the histogram, which decides
// where its bounds are narrow enough.
func TestBoundsWithoutACounter(t *testing.T) {
	dir := sealed(t)
	for bound, want := range map[float64]verdict.Outcome{50: verdict.Fail, 90: verdict.Fail} {
		_, v := judge(t, dir, latency(bound))
		if s := v.SLOs[0]; s.Outcome != want || s.Samples == nil {
			t.Errorf("p(95)<%g is %s: %+v", bound, s.Outcome, s)
		}
	}
}

// With a bound of 10 ms slots that were started 12 ms late are displaced, although no
// worker counted them.
func TestLatenessIsMeasuredAgainstTheNewBound(t *testing.T) {
	dir := sealed(t)
	for _, c := range []struct {
		bound float64
		limit time.Duration
		share float64
	}{{250, 100 * time.Millisecond, 0}, {10, 10 * time.Millisecond, 1}} {
		r, v := judge(t, dir, latency(c.bound))
		offered := v.Rules[slices.IndexFunc(v.Rules, func(r verdict.Rule) bool { return r.ID == "offered" })]
		if r.Plan.Load.DisplacedAfter != c.limit || *offered.Observed != c.share {
			t.Errorf("by a bound of %g ms a slot may be %s late, and %g of them are later", c.bound, r.Plan.Load.DisplacedAfter, *offered.Observed)
		}
	}
}

// With its own thresholds a run has the same verdict.
func TestSameThresholds(t *testing.T) {
	dir := sealed(t)
	was, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, v := judge(t, dir, was.Plan.Profile.Flows[0].SLOs...)
	before := verdict.Judge(was)
	if v.Outcome != before.Outcome || v.Claim != strings.Replace(before.Claim, ").", "; re-judged with other.json).", 1) {
		t.Errorf("%s instead of %s: %s", v.Outcome, before.Outcome, v.Claim)
	}
}

// An SLO that does not pass does not pass with a tighter bound either.
func TestTighteningNeverHelps(t *testing.T) {
	dir := sealed(t)
	rapid.Check(t, func(rt *rapid.T) {
		loose := rapid.Float64Range(1, 1000).Draw(rt, "loose")
		tight := loose * rapid.Float64Range(0.1, 1).Draw(rt, "tighter")
		_, a := judge(t, dir, latency(loose))
		_, b := judge(t, dir, latency(tight))
		if a.SLOs[0].Outcome != verdict.Pass && b.SLOs[0].Outcome == verdict.Pass {
			rt.Errorf("p(95)<%g is %s, p(95)<%g is PASS", loose, a.SLOs[0].Outcome, tight)
		}
	})
}

func TestMissingProfile(t *testing.T) {
	dir := sealed(t)
	f := spec.File{Path: "other.json", Profiles: map[string]spec.Profile{"payment": {Name: "payment"}}}
	_, err := rejudge.Open(dir, f)
	var hinted *spec.Error
	if !errors.As(err, &hinted) || !strings.Contains(hinted.Error(), `unknown profile "synthetic"`) || hinted.Hint() != "profiles: payment" {
		t.Errorf("error %v", err)
	}
}

// A gauge has the run's readings, whatever metric the other file names for it.
func TestGaugesAreTheRuns(t *testing.T) {
	was := synthetic.New(synthetic.Profile(), 1, synthetic.Healthy).Record()
	was.Plan.Profile.Gauges = map[string]spec.Gauge{"queue_depth": {Metric: "jobs"}}
	p := synthetic.Profile()
	p.Gauges = map[string]spec.Gauge{"queue_depth": {Metric: "mails"}}
	is := rejudge.Apply(was, p, record.Digest{Path: "other.json"})
	if got := is.Plan.Profile.Gauges["queue_depth"].Metric; got != "jobs" {
		t.Errorf("the gauge is %s", got)
	}
	if want := "re-judged with other.json: the load, the scenario, the timeout and the gauges are the run's"; !slices.Contains(is.Facts.Limitations, want) {
		t.Errorf("limitations %q", is.Facts.Limitations)
	}
}

// So has the lag of a consumer group.
func TestConsumerIsTheRuns(t *testing.T) {
	was := synthetic.New(synthetic.Profile(), 1, synthetic.Healthy).Record()
	was.Plan.Profile.Consumer = &spec.Consumer{Group: "g", Topic: "t"}
	p := synthetic.Profile()
	p.Consumer = &spec.Consumer{Group: "other", Topic: "t"}
	is := rejudge.Apply(was, p, record.Digest{Path: "other.json"})
	if got := is.Plan.Profile.Consumer.Group; got != "g" {
		t.Errorf("the group is %s", got)
	}
	if want := "re-judged with other.json: the load, the scenario, the timeout and the consumer are the run's"; !slices.Contains(is.Facts.Limitations, want) {
		t.Errorf("limitations %q", is.Facts.Limitations)
	}
}
