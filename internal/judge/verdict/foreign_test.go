package verdict

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"assay.dev/assay/internal/judge/stats"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/metrictest"
	"assay.dev/assay/internal/testing/synthetic"
)

// sample is a request of another sender.
type sample struct {
	at     float64 // s after T0
	ms     float64
	failed bool
}

// sdkBounds are the default bounds of OpenTelemetry's SDKs.
var sdkBounds = []float64{0, 5, 10, 25, 50, 75, 100, 250, 500, 750, 1000, 2500, 5000, 7500, 10000}

// exported are the frames of a sender of requests that exports in intervals of a length,
// from some time on; without bounds it has our buckets.
func exported(t testing.TB, source string, samples []sample, from, interval, until float64, bounds []float64) (all []metric.Frame) {
	t.Helper()
	for a := from; a < until; a += interval {
		b := min(a+interval, until)
		var ms []float64
		failed := 0.0
		for _, s := range samples {
			if s.at > a && s.at <= b {
				if ms = append(ms, s.ms); s.failed {
					failed++
				}
			}
		}
		h := metrictest.Hist(ms...)
		if bounds != nil {
			h = metrictest.Explicit(t, bounds, ms...)
		}
		first, last := int64(math.Floor(a)), int64(math.Ceil(b))-1
		all = append(all, metric.Frame{Source: source, Second: synthetic.T0.Unix() + last, Length: last - first + 1, Points: []metric.Point{
			metric.HistPoint(metric.NewSeries(metric.RequestDuration, "ms", "name", "https://shop/pay", "scenario", "default"), h),
			metric.CounterPoint(metric.NewSeries(metric.RequestFailed+metric.RateTotal, "", "name", "https://shop/pay", "scenario", "default"), float64(len(ms))),
			metric.CounterPoint(metric.NewSeries(metric.RequestFailed+metric.RateOccurred, "", "name", "https://shop/pay", "scenario", "default"), failed),
			metric.CounterPoint(metric.NewSeries(metric.Requests, "", "name", "https://shop/pay", "scenario", "default", "status", "200"), float64(len(ms))-failed),
			metric.CounterPoint(metric.NewSeries(metric.Requests, "", "name", "https://shop/pay", "scenario", "default", "status", "500"), failed),
		}})
	}
	return all
}

// withForeign is a healthy run of 30 s from second 16 on, with these SLOs, and frames of
// other senders.
func withForeign(slos []spec.SLO, frames ...metric.Frame) *synthetic.Case {
	p := synthetic.Profile()
	p.Flows[0].SLOs = append(slos, p.Flows[0].SLOs[2:]...)
	c := synthetic.New(p, 2, synthetic.Healthy)
	c.Frames = append(c.Frames, frames...)
	return c
}

var (
	p95Under250 = synthetic.Percentile(metric.RequestDuration, 95, 250)
	failedUnder = spec.SLO{Metric: metric.RequestFailed, Expression: "rate<0.1", Aggregate: spec.Rate, Operator: "<", Bound: 0.1}
)

// every is n samples a second with these latencies, over the whole run.
func every(n int, ms ...float64) (all []sample) {
	for i := range 48 * n {
		all = append(all, sample{at: (float64(i) + 0.5) / float64(n), ms: ms[i%len(ms)]})
	}
	return all
}

// Whatever another sender's buckets and intervals, the truth lies between what is certain
// and what is possible: the number of violations and their share.
func TestForeignViolationsBracketTheTruth(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var samples []sample
		for range rapid.IntRange(0, 300).Draw(rt, "samples") {
			samples = append(samples, sample{
				at: rapid.Float64Range(0, 48).Draw(rt, "at"), ms: rapid.OneOf(rapid.Float64Range(0, 600), rapid.SampledFrom([]float64{250, 249.9, 100})).Draw(rt, "ms"),
				failed: rapid.IntRange(0, 9).Draw(rt, "failed") == 0,
			})
		}
		var bounds []float64
		if rapid.Bool().Draw(rt, "explicit") {
			bounds = rapid.SampledFrom([][]float64{sdkBounds, {200, 300}, {1000}}).Draw(rt, "bounds")
		}
		p := synthetic.Profile()
		if rapid.Bool().Draw(rt, "two windows") {
			p.Flows[0].Load = spec.Load{Unit: "tps", Stages: []spec.Stage{{Rate: 20, For: 16 * time.Second}, {Rate: 20, For: 12 * time.Second, Judge: true}, {Rate: 20, For: 4 * time.Second}, {Rate: 20, For: 14 * time.Second, Judge: true}, {Rate: 20, For: 2 * time.Second}}}
		}
		succeeded := spec.SLO{Metric: metric.RequestFailed, Expression: "rate>=0.5", Aggregate: spec.Rate, Operator: ">=", Bound: 0.5}
		p.Flows[0].SLOs = []spec.SLO{p95Under250, failedUnder, succeeded}
		c := synthetic.New(p, 1, synthetic.Healthy)
		from := rapid.Float64Range(-3, 20).Draw(rt, "from") // samples before it are not sent
		c.Frames = append(c.Frames, exported(t, "otlp/k6", samples, from, rapid.SampledFrom([]float64{0.7, 1, 2.5, 10, 60}).Draw(rt, "interval"), 48, bounds)...)
		e := newEvidence(c.Record())
		alone := newEvidence(synthetic.New(p, 1, synthetic.Healthy).Record())

		for _, slo := range p.Flows[0].SLOs {
			v, own := violations{}, violations{}
			if slo.Aggregate == spec.Rate {
				v, own = rateViolations(e, slo), rateViolations(alone, slo)
			} else {
				v = latencyViolations(e, slo, e.distribution(slo.Metric, nil))
				own = latencyViolations(alone, slo, alone.distribution(slo.Metric, nil))
			}
			truth := stats.Sum(own.certain)
			for _, s := range samples {
				second := synthetic.T0.Unix() + int64(math.Ceil(s.at)) - 1
				if !slices.ContainsFunc(e.spans, func(w record.Span) bool { return second >= w.From && second < w.To }) || s.at <= from {
					continue
				}
				truth.N++
				failed := 0.0
				if s.failed {
					failed = 1
				}
				if slo.Aggregate == spec.Rate && slo.Violates(failed) || slo.Aggregate != spec.Rate && (slo.Violates(s.ms) || s.failed) {
					truth.K++
				}
			}
			certain, possible, cleared := stats.Sum(v.certain), stats.Sum(v.possible), stats.Sum(v.cleared)
			if certain.K > truth.K || cleared.K > truth.K || possible.K < truth.K {
				rt.Fatalf("%s: %g violations, got %g to %g, %g cleared", slo.Expression, truth.K, certain.K, possible.K, cleared.K)
			}
			if share := truth.K / truth.N; certain.K/certain.N > share+1e-12 || possible.K/possible.N < share-1e-12 || cleared.K/cleared.N > share+1e-12 {
				rt.Fatalf("%s: share %g of %g, got %g to %g", slo.Expression, share, truth.N, certain.K/certain.N, possible.K/possible.N)
			}
		}
	})
}

// The outcome of an SLO with another sender's samples, what is shown of them, and what a
// reader must know.
func TestForeignSamples(t *testing.T) {
	atMost250 := p95Under250
	atMost250.Expression, atMost250.Operator = "p(95)<=250", "<="
	under2000 := spec.SLO{Metric: metric.RequestDuration, Expression: "max<2000", Aggregate: spec.Max, Operator: "<", Bound: 2000}
	sent := func(n, of, slo string) string {
		return "otlp/k6 sent " + n + " of " + of + " samples of " + slo + ", by the second in which it recorded them, and with any delay that it caused itself"
	}
	for name, tt := range map[string]struct {
		slo         spec.SLO
		frames      []metric.Frame
		want        Outcome
		figures     string // violations_at_least..at_most/samples
		observed    string
		limitations []string
	}{
		"far below the limit": {
			p95Under250, exported(t, "otlp/k6", every(40, 20, 60), 16, 1, 46, sdkBounds), Pass,
			"12..12/1800", "",
			[]string{sent("1200", "1800", "http_req_duration")},
		},
		"around the limit": {
			p95Under250, exported(t, "otlp/k6", every(40, 120, 240), 16, 1, 46, sdkBounds), Inconclusive,
			"12..1212/1800", "106 to 250",
			[]string{
				sent("1200", "1800", "http_req_duration"),
				"of otlp/k6, 1200 samples are only known to lie between 100 and 250 ms, and may violate http_req_duration p(95)<250 or not (its buckets include their upper bound: p(95)<=250 would be counted exactly)",
			},
		},
		"at the bound of a bucket, which it includes": {
			atMost250, exported(t, "otlp/k6", every(40, 120, 250), 16, 1, 46, sdkBounds), Pass,
			"12..12/1800", "106 to 250",
			[]string{sent("1200", "1800", "http_req_duration")},
		},
		"above the limit": {
			p95Under250, exported(t, "otlp/k6", every(40, 20, 260), 16, 1, 46, sdkBounds), Fail,
			"612..612/1800", "250 to 500",
			[]string{sent("1200", "1800", "http_req_duration")},
		},
		"in our own buckets": {
			p95Under250, exported(t, "otlp/k6", every(40, 20, 240), 16, 1, 46, nil), Pass,
			"12..12/1800", "",
			[]string{sent("1200", "1800", "http_req_duration")},
		},
		"above the highest bound": {
			p95Under250, exported(t, "otlp/k6", every(40, 20, 20000), 16, 1, 46, []float64{100}), Inconclusive,
			"12..612/1800", "106 to ",
			[]string{
				sent("1200", "1800", "http_req_duration"),
				"of otlp/k6, 600 samples are only known to lie above 100 ms, and may violate http_req_duration p(95)<250 or not",
			},
		},
		"a maximum within its bucket": {
			under2000, exported(t, "otlp/k6", every(40, 20, 900), 16, 1, 46, sdkBounds), Pass,
			"0..0/1800", "750 to 1000",
			[]string{sent("1200", "1800", "http_req_duration")},
		},
		"a maximum that its bucket leaves open": {
			under2000, exported(t, "otlp/k6", every(40, 20, 1900), 16, 1, 46, sdkBounds), Inconclusive,
			"0..600/1800", "1000 to 2500",
			[]string{
				sent("1200", "1800", "http_req_duration"),
				"of otlp/k6, 600 samples are only known to lie between 1000 and 2500 ms, and may violate http_req_duration max<2000 or not",
			},
		},
		"exports across the window's ends": {
			p95Under250, exported(t, "otlp/k6", every(40, 20, 60), 1, 10, 48, sdkBounds), Pass,
			"12..12/1400", "",
			[]string{
				sent("800", "1400", "http_req_duration") + "; 680 more, in intervals of up to 10 s, may belong to a judged window or not",
			},
		},
		"slow samples across the window's start": {
			p95Under250, exported(t, "otlp/k6", append(every(1, 20), sample{15.5, 300, false}, sample{16.5, 300, false}), 12, 5, 48, nil), Pass,
			"12..14/627", "",
			[]string{sent("25", "625", "http_req_duration") + "; 12 more, in intervals of up to 5 s, may belong to a judged window or not"},
		},
		"reports that begin late": {
			p95Under250, exported(t, "otlp/k6", every(40, 20, 60), 26, 1, 40, sdkBounds), Pass,
			"12..12/1160", "",
			[]string{sent("560", "1160", "http_req_duration") + "; it reported for 14 of 30 judged seconds"},
		},
		"failures": {
			failedUnder, exported(t, "otlp/k6", append(every(1, 20), slices.Repeat([]sample{{20.5, 20, true}}, 300)...), 16, 1, 46, sdkBounds), Fail,
			"300..300/930", "",
			[]string{sent("330", "930", "http_req_failed")},
		},
		"failures across the window's start": {
			failedUnder, exported(t, "otlp/k6", append(every(1, 20), slices.Repeat([]sample{{15.5, 20, true}}, 300)...), 11, 10, 48, sdkBounds), Inconclusive,
			"0..300/920", "0 to 0.33",
			[]string{sent("20", "620", "http_req_failed") + "; 317 more, in intervals of up to 10 s, may belong to a judged window or not"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := Judge(withForeign([]spec.SLO{tt.slo}, tt.frames...).Record())
			s := v.SLOs[0]
			least, most := s.AtLeast, s.AtMost
			if s.Violations != nil {
				least, most = s.Violations, s.Violations
			}
			figures := number(float64(*least)) + ".." + number(float64(*most)) + "/" + number(float64(*s.Samples))
			observed := ""
			if s.ObservedAtLeast != nil {
				observed = number(*s.ObservedAtLeast) + " to "
			}
			if s.ObservedAtMost != nil {
				observed += number(*s.ObservedAtMost)
			}
			if s.Outcome != tt.want || figures != tt.figures || observed != tt.observed {
				t.Errorf("%v, %s, observed %q, want %v, %s, %q; %s", s.Outcome, figures, observed, tt.want, tt.figures, tt.observed, v.Claim)
			}
			var limitations []string
			for _, l := range v.Limitations {
				if strings.Contains(l, "otlp/") {
					limitations = append(limitations, l)
				}
			}
			if diff := cmp.Diff(tt.limitations, limitations); diff != "" {
				t.Error(diff)
			}
			if s.Outcome != Invalid && (s.Observed == nil || s.Lower != nil && *s.Lower > *s.Observed || s.Upper != nil && *s.Upper < *s.Observed ||
				s.ObservedAtLeast != nil && s.Lower != nil && *s.Lower > *s.ObservedAtLeast || s.ObservedAtMost != nil && s.Upper != nil && *s.Upper < *s.ObservedAtMost) {
				t.Errorf("observed %v, from %v to %v", s.Observed, s.Lower, s.Upper)
			}
			if r := ruleOf(t, v, "generator-lag"); r.Limitation != "" {
				t.Errorf("charged to the generator: %s", r.Limitation)
			}
		})
	}
}

// An SLO that only another sender's requests answer is judged by these, and has no data
// where it cannot be said that any of them belongs to the window.
func TestForeignSamplesAlone(t *testing.T) {
	checkout := synthetic.Percentile(metric.RequestDuration, 95, 250, metric.Label{Key: "name", Value: "https://shop/pay"})
	for interval, want := range map[float64]Outcome{1: Pass, 10: Pass, 60: Invalid} {
		c := withForeign(nil, exported(t, "otlp/k6", every(40, 20, 60), -20, interval, 48, sdkBounds)...)
		c.Run.Plan.Profile.Flows[0].SLOs = []spec.SLO{checkout} // which the workers did not count
		v := Judge(c.Record())
		s := v.SLOs[0]
		if s.Outcome != want || v.Outcome != want {
			t.Errorf("every %g s: %v: %s", interval, s.Outcome, v.Claim)
		}
		if want == Pass && (len(v.Latency) != 3 || v.Latency["https://shop/pay"].AtLeast.P95 == nil || *v.Latency["https://shop/pay"].AtMost.P95 != 75) {
			t.Errorf("every %g s: latencies %+v", interval, v.Latency)
		}
	}
}

// What workers and collectors alone can measure is never taken from another sender, nor
// what is no number, or in another unit.
func TestForeignSendersCannotInterfere(t *testing.T) {
	var frames []metric.Frame
	for _, d := range metric.Catalogue(func(d metric.Descriptor) bool { return !d.From(metric.SourceK6) && d.Name != metric.ForeignRefused }) {
		for at := int64(0); at < 50; at++ {
			p := metric.Point{Series: metric.Of(d.Name, "outcome", "failed", "slo", "http_req_duration:p(95)<250"), Kind: d.Kind, Value: 1e6}
			if d.Kind == metric.Histogram {
				p.Hist = metrictest.Hist(1e5, 1e5, 1e5)
			}
			frames = append(frames, metric.Frame{Source: "otlp/shop", Second: synthetic.T0.Unix() + at, Points: []metric.Point{p}})
		}
	}
	at := synthetic.T0.Unix() + 20
	frames = append(
		frames,
		metric.Frame{Source: "otlp/shop", Second: at, Points: []metric.Point{
			metric.CounterPoint(metric.NewSeries(metric.DataSent, "By", "scenario", "x"), 1e6),
			metric.CounterPoint(metric.NewSeries(metric.RequestFailed+metric.RateOccurred, ""), math.NaN()),
			metric.CounterPoint(metric.NewSeries(metric.RequestFailed+metric.RateTotal, ""), math.Inf(1)),
			metric.GaugePoint(metric.NewSeries(metric.RequestFailed, ""), 1),
			metric.HistPoint(metric.NewSeries(metric.RequestDuration, "s"), metrictest.Hist(1, 1)),
			metric.CounterPoint(metric.NewSeries(metric.RequestDuration, "ms"), 7),
			metric.CounterPoint(metric.Of(metric.ForeignRefused, "metric", metric.RequestFailed+metric.RateTotal, "reason", "value"), 3),
			metric.CounterPoint(metric.Of(metric.ForeignRefused, "metric", "other", "reason", "value"), 3),
			metric.GaugePoint(metric.Of(metric.ForeignDelay), 7000),
		}},
		metric.Frame{Source: "otlp/fast", Second: at, Points: []metric.Point{metric.GaugePoint(metric.Of(metric.ForeignDelay), -1500)}},
	)
	want := Judge(withForeign([]spec.SLO{p95Under250, failedUnder}).Record())
	got := Judge(withForeign([]spec.SLO{p95Under250, failedUnder}, frames...).Record())
	expected := []string{
		`otlp/shop sends http_req_duration as a counter, not as a histogram: not judged`,
		`otlp/shop sends http_req_duration in "s", not in "ms": not judged`,
		`otlp/shop sends http_req_failed as a gauge, not as http_req_failed.occurred and .total: not judged`,
		`3 points of http_req_failed.total from otlp/shop were not recorded (value)`,
		`an export of otlp/fast arrived 1500 ms before the time that it states: its clock is ahead`,
		`each export of otlp/shop arrived at least 7000 ms after the time that it states: it is sent late, or its clock is behind`,
	}
	var limitations []string
	for _, l := range got.Limitations {
		if strings.Contains(l, "otlp/") {
			limitations = append(limitations, l)
		}
	}
	got.Limitations = slices.DeleteFunc(got.Limitations, func(l string) bool { return strings.Contains(l, "otlp/") })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(expected, limitations); diff != "" {
		t.Error(diff)
	}
}

// Many senders do not fill a certificate.
func TestForeignLimitationsAreBounded(t *testing.T) {
	var frames []metric.Frame
	for i := range 40 {
		frames = append(frames, exported(t, "otlp/"+string(rune('A'+i)), every(1, 20), 16, 1, 46, sdkBounds)...)
	}
	v := Judge(withForeign([]spec.SLO{p95Under250}, frames...).Record())
	n := 0
	for _, l := range v.Limitations {
		if strings.Contains(l, "otlp/") || strings.Contains(l, "other senders") {
			n++
		}
	}
	if n != maxForeignLimitations || !slices.Contains(v.Limitations, "and 29 more about other senders") {
		t.Errorf("%d: %q", n, v.Limitations)
	}
}

// Nothing is inferred from samples that are reported in intervals longer than a batch may
// be.
func TestForeignIntervalsAreNotInferred(t *testing.T) {
	for interval, want := range map[float64]Outcome{1: Pass, 2: Pass, 10: Inconclusive} {
		p := synthetic.Profile()
		p.Flows[0].Load.Hold, p.Flows[0].SLOs = 600*time.Second, []spec.SLO{p95Under250}
		c := synthetic.New(p, 1, synthetic.Healthy)
		c.Run.Plan.Scope = spec.ScopeCertificate
		var samples []sample
		for i := range 618 * 5 {
			ms, _ := synthetic.Healthy(int64(i))
			samples = append(samples, sample{at: (float64(i) + 0.5) / 5, ms: ms})
		}
		c.Frames = append(c.Frames, exported(t, "otlp/k6", samples, 0.5, interval, 618, nil)...)
		v := Judge(c.Record())
		s := v.SLOs[0]
		const reason = "http_req_duration p(95)<250 cannot be inferred: other senders report less often than every 2 s"
		if s.Outcome != want || s.Basis != spec.Inferred || strings.Contains(v.Claim, reason) != (want == Inconclusive) {
			t.Errorf("every %g s: %v, %s: %s", interval, s.Outcome, s.Basis, v.Claim)
		}
	}
}

// Each of another sender's endpoints is judged by itself too; whether it is over its limit
// may be open, or not known because its sender did not tell all endpoints apart.
func TestForeignEndpoints(t *testing.T) {
	for name, tt := range map[string]struct {
		ms       float64
		overflow bool
		want     string
		outcome  Outcome
	}{
		"within": {60, false, "", Pass},
		"open":   {240, false, `perhaps over the limit for a single class, which is measured too coarsely to tell: http_req_duration{name:https\://shop/pay} p(95)<250`, Pass},
		"over":   {300, false, "", Fail},
		"pooled": {60, true, "classes beyond the first 200 are judged only all together: http_req_duration p(95)<250", Pass},
	} {
		frames := exported(t, "otlp/k6", every(2, tt.ms), 16, 1, 46, sdkBounds)
		if tt.overflow {
			frames[3].Points[0].Series = metric.NewSeries(metric.RequestDuration, "ms", metric.ForeignOverflowLabel, "true")
		}
		r := ruleOf(t, Judge(withForeign([]spec.SLO{p95Under250}, frames...).Record()), "per-class")
		if r.Outcome != tt.outcome || r.Limitation != tt.want {
			t.Errorf("%s: %v, %q, want %v, %q", name, r.Outcome, r.Limitation, tt.outcome, tt.want)
		}
	}
}

// What another sender's script excuses has failed by its status, where it tells that, and
// counts; where it does not, the certificate says so.
func TestForeignExcuses(t *testing.T) {
	failing := exported(t, "otlp/k6", append(every(1, 20), slices.Repeat([]sample{{20.5, 20, true}}, 300)...), 16, 1, 46, nil)
	without := func(drop func(metric.Point) bool) (all []metric.Frame) {
		for _, f := range failing {
			f.Points = slices.DeleteFunc(slices.Clone(f.Points), drop)
			all = append(all, f)
		}
		return all
	}
	for name, tt := range map[string]struct {
		drop     func(metric.Point) bool
		expected spec.Expected
		want     Outcome
		text     string
	}{
		"it says what has failed": {func(metric.Point) bool { return false }, spec.Expected{}, Fail, ""},
		"all are expected": {
			func(p metric.Point) bool { return p.Series.Name == metric.RequestFailed+metric.RateOccurred },
			spec.Expected{},
			Fail, "otlp/k6 says that 0 requests have failed, but by their status 300 have: the larger number counts",
		},
		"it has no callback": {
			func(p metric.Point) bool { return metric.WithoutRate(p.Series.Name) == metric.RequestFailed },
			spec.Expected{},
			Fail, "otlp/k6 says that 0 requests have failed, but by their status 300 have: the larger number counts",
		},
		"the profile expects it": {
			func(p metric.Point) bool { return p.Series.Name == metric.RequestFailed+metric.RateOccurred },
			spec.Expected{HTTP: []int{500}},
			Pass, "otlp/k6 excuses 300 requests with a status that is a failure",
		},
		"the status is not known": {
			func(p metric.Point) bool {
				return p.Series.Name == metric.RequestFailed+metric.RateOccurred || p.Series.Name == metric.Requests
			},
			spec.Expected{},
			Pass, "otlp/k6 decides by itself which requests have failed: the status of 330 of 330 requests is not known",
		},
	} {
		c := withForeign([]spec.SLO{failedUnder}, without(tt.drop)...)
		c.Run.Plan.Profile.Flows[0].Expected = tt.expected
		v := Judge(c.Record())
		if s := v.SLOs[0]; s.Outcome != tt.want || tt.text != "" && !slices.Contains(v.Limitations, tt.text) {
			t.Errorf("%s: %v, want %v with %q; %q", name, s.Outcome, tt.want, tt.text, v.Limitations)
		}
	}
}
