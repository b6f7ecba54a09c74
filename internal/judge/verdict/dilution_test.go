package verdict

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/metrictest"
	"assay.dev/assay/internal/testing/synthetic"
)

// flood are frames of a sender with n fast requests a second, none of which failed.
func flood(n, names int) (all []metric.Frame) {
	h := metrictest.Hist(slices.Repeat([]float64{1}, n/names)...)
	for at := range int64(48) {
		f := metric.Frame{Source: "otlp/shop", Second: synthetic.T0.Unix() + at}
		for i := range names {
			name := "pay"
			if i > 0 {
				name = fmt.Sprint("other", i)
			}
			f.Points = append(
				f.Points,
				metric.HistPoint(metric.NewSeries(metric.RequestDuration, "ms", "name", name), h),
				metric.CounterPoint(metric.NewSeries(metric.RequestFailed+metric.RateTotal, "", "name", name), float64(n/names)),
				metric.CounterPoint(metric.NewSeries(metric.RequestFailed+metric.RateOccurred, "", "name", name), 0),
			)
		}
		all = append(all, f)
	}
	return all
}

// Whatever fast requests another sender pushes, a FAIL of the workers' own stays one, and the
// certificate says that it is theirs.
func TestFastSamplesOfOthersDoNotDilute(t *testing.T) {
	failing := func(n int64) (float64, string) {
		if n%2 == 0 {
			return 20, metric.Failed
		}
		return slow(n)
	}
	for name, slo := range map[string]spec.SLO{
		"a percentile": synthetic.Percentile(metric.RequestDuration, 50, 5),
		"an endpoint":  synthetic.Percentile(metric.RequestDuration, 50, 5, metric.Label{Key: "name", Value: "pay"}),
		"a rate":       failedUnder,
		"at least":     {Metric: metric.RequestFailed, Expression: "rate<=0.2", Aggregate: spec.Rate, Operator: "<=", Bound: 0.2},
	} {
		t.Run(name, func(t *testing.T) {
			p := synthetic.Profile()
			p.Flows[0].SLOs = append([]spec.SLO{slo}, p.Flows[0].SLOs[2:5]...)
			c := synthetic.New(p, 2, failing)
			alone := Judge(c.Record())
			c.Frames = append(c.Frames, flood(100_000, 1)...)
			v := Judge(c.Record())
			want := slo.MetricText() + " " + slo.Expression + " is decided by the workers' samples alone: with those of other senders, which may only make it worse, it would be PASS"
			if alone.SLOs[0].Outcome != Fail || v.SLOs[0].Outcome != Fail || v.Outcome != alone.Outcome || *v.SLOs[0].Samples != *alone.SLOs[0].Samples || !slices.Contains(v.Limitations, want) {
				t.Errorf("%s instead of %s: %q", v.Outcome, alone.Outcome, v.Limitations)
			}
		})
	}
}

// Nor does a sender with many endpoints hide one of the workers', which the correction for
// their number would do.
func TestEndpointsOfOthersDoNotDilute(t *testing.T) {
	p := synthetic.Profile()
	p.Flows[0].SLOs = append([]spec.SLO{p95Under250}, p.Flows[0].SLOs[2:5]...)
	c := synthetic.New(p, 2, synthetic.Healthy)
	inEachFrame(func(f *metric.Frame) { // a second endpoint, a quarter of whose few requests are slow
		ms := 20.0
		if f.Second%4 == 0 {
			ms = 900
		}
		f.Points = append(f.Points, metric.HistPoint(metric.NewSeries(metric.RequestDuration, "ms", "name", "refund"), metrictest.Hist(ms)))
	})(c)
	over := func(frames ...metric.Frame) (Outcome, []string) {
		c := *c
		c.Frames = append(slices.Clone(c.Frames), frames...)
		v := Judge(c.Record())
		return ruleOf(t, v, "per-class").Outcome, v.Limitations
	}
	alone, _ := over()
	many, limitations := over(flood(2000, 1000)...)
	if alone != Fail || many != Fail {
		t.Errorf("%v alone, %v beside 1000 endpoints of another sender: %q", alone, many, limitations)
	}
}

// No samples of another sender make the outcome of any SLO better.
func TestOtherSendersNeverImprove(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		bad := rapid.IntRange(0, 60).Draw(rt, "bad")
		system := func(n int64) (float64, string) {
			if n%60 < int64(bad) {
				return 400, metric.Completed
			}
			return synthetic.Healthy(n)
		}
		p := synthetic.Profile()
		p.Flows[0].SLOs = append([]spec.SLO{p95Under250, failedUnder}, p.Flows[0].SLOs[2:]...)
		c := synthetic.New(p, 2, system)
		alone := Judge(c.Record())
		var samples []sample
		for range rapid.IntRange(1, 500).Draw(rt, "samples") {
			samples = append(samples, sample{rapid.Float64Range(0, 48).Draw(rt, "at"), rapid.SampledFrom([]float64{1, 240, 900}).Draw(rt, "ms"), rapid.Bool().Draw(rt, "failed")})
		}
		c.Frames = append(c.Frames, exported(t, "otlp/k6", samples, 0, rapid.SampledFrom([]float64{1, 10}).Draw(rt, "interval"), 48, sdkBounds)...)
		if rapid.Bool().Draw(rt, "flood") {
			c.Frames = append(c.Frames, flood(10_000, 1)...)
		}
		v := Judge(c.Record())
		for i := range v.SLOs {
			if Worse(v.SLOs[i].Outcome, alone.SLOs[i].Outcome) != v.SLOs[i].Outcome {
				rt.Errorf("%s %s: %v, alone %v", v.SLOs[i].Metric, v.SLOs[i].Expression, v.SLOs[i].Outcome, alone.SLOs[i].Outcome)
			}
		}
	})
}
