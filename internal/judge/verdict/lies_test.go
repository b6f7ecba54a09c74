package verdict

import (
	"slices"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/testing/metrictest"
	"assay.dev/assay/internal/testing/synthetic"
)

// points are those of a name in a frame.
func pointsNamed(f *metric.Frame, names ...string) (all []*metric.Point) {
	for i := range f.Points {
		if slices.Contains(names, f.Points[i].Series.Name) {
			all = append(all, &f.Points[i])
		}
	}
	return all
}

// claim makes the violations of all SLOs on a metric those of n samples, of which none
// violates.
func claimNone(f *metric.Frame, of string, samples *float64) {
	for _, p := range pointsNamed(f, metric.Judged, metric.Violations, metric.ViolationsCleared) {
		switch {
		case !strings.HasPrefix(p.Series.Label("slo"), of):
		case p.Series.Name != metric.Judged:
			p.Value = 0
		case samples != nil:
			p.Value = *samples
		}
	}
}

// fast are n observations of 1 ms.
func fast(n uint64) *metric.Hist { return metrictest.Hist(slices.Repeat([]float64{1}, int(n))...) }

// inEachFrame changes each frame of worker/1.
func inEachFrame(change func(f *metric.Frame)) func(c *synthetic.Case) {
	return func(c *synthetic.Case) {
		for i := range c.Frames {
			if f := &c.Frames[i]; f.Source == "worker/1" && !f.Closing {
				change(f)
			}
		}
	}
}

// moved books the requests of worker/1 in another second of the load than the one of their
// transactions, by frames of their own; with the names of the metrics that it moves.
func moved(second func(at int64) int64, names ...string) func(c *synthetic.Case) {
	return func(c *synthetic.Case) {
		var all []metric.Frame
		added := 0.0
		for _, f := range c.Frames {
			if f.Source != "worker/1" {
				all = append(all, f)
				continue
			}
			f.Sequence += uint64(added)
			if f.Closing {
				pointsNamed(&f, metric.WorkerFrames)[0].Value += added
				all = append(all, f)
				continue
			}
			to := metric.Frame{Source: f.Source, Sequence: f.Sequence + 1, Second: synthetic.T0.Unix() + second(f.Second-synthetic.T0.Unix())}
			f.Points = slices.DeleteFunc(slices.Clone(f.Points), func(p metric.Point) bool {
				move := slices.Contains(names, p.Series.Name) || p.Series.Name == metric.Judged && strings.HasPrefix(p.Series.Label("slo"), "http_req") ||
					p.Series.Name == metric.Violations && strings.HasPrefix(p.Series.Label("slo"), "http_req") || p.Series.Name == metric.ViolationsCleared && strings.HasPrefix(p.Series.Label("slo"), "http_req")
				if move {
					if strings.HasPrefix(p.Series.Name, "http_") {
						p.Series = metric.NewSeries(p.Series.Name, p.Series.Unit, "name", "pay", "scenario", "synthetic")
					}
					to.Points = append(to.Points, p)
				}
				return move
			})
			all = append(all, f, to)
			added++
		}
		c.Frames = all
	}
}

// Each lie makes a PASS of a FAIL while the other metrics of the same worker deny it.
func TestLiesInOneMetric(t *testing.T) {
	requestMetrics := []string{metric.Requests, metric.RequestDuration, "http_req_waiting", metric.RequestFailed + metric.RateTotal, metric.RequestFailed + metric.RateOccurred}
	one, pay := 1.0, metric.Label{Key: "name", Value: "pay"}
	for name, tt := range map[string]struct {
		lie  func(c *synthetic.Case)
		want string
	}{
		"each transaction took 1 ms": {inEachFrame(func(f *metric.Frame) {
			for _, p := range pointsNamed(f, metric.TransactionDuration) {
				p.Hist = fast(p.Hist.Count())
			}
			claimNone(f, metric.TransactionDuration, nil)
		}), "and their iterations"},
		"most transactions took 1 ms, and one as long as all": {inEachFrame(func(f *metric.Frame) {
			for _, p := range pointsNamed(f, metric.TransactionDuration) {
				if n, sum := p.Hist.Count(), p.Hist.Sum(); n > 1 {
					p.Hist = fast(n - 1)
					p.Hist.Record(sum, 1)
				}
			}
			for _, p := range pointsNamed(f, metric.Violations, metric.ViolationsCleared) {
				if strings.HasPrefix(p.Series.Label("slo"), metric.TransactionDuration+":p") {
					p.Value = min(p.Value, 1)
				}
			}
		}), "more iterations violate transaction_duration:p(50)<60 than transactions"},
		"one fast request a frame": {inEachFrame(func(f *metric.Frame) {
			for _, p := range pointsNamed(f, metric.RequestDuration) {
				p.Hist = fast(1)
			}
			for _, p := range pointsNamed(f, metric.RequestFailed+metric.RateTotal) {
				p.Value = 1
			}
			claimNone(f, "http_req", &one)
		}), "requests were issued, and http_req_duration has 1"},
		"each request took 1 ms": {inEachFrame(func(f *metric.Frame) {
			for _, p := range pointsNamed(f, metric.RequestDuration) {
				p.Hist = fast(p.Hist.Count())
			}
			claimNone(f, metric.RequestDuration, nil)
		}), "and their parts"},
		"slow requests of another name": {inEachFrame(func(f *metric.Frame) {
			for _, p := range pointsNamed(f, metric.RequestDuration) {
				p.Series = metric.NewSeries(metric.RequestDuration, "ms", "name", "other")
			}
			none := 0.0
			claimNone(f, metric.RequestDuration, &none)
		}), "requests were issued, and http_req_duration has"},
		"requests of before the load":                       {moved(func(int64) int64 { return -5 }, requestMetrics...), "are of transactions, and none was open"},
		"requests that ended before the load":               {moved(func(int64) int64 { return -5 }, append(requestMetrics, metric.EndedRequests)...), "are of transactions, and none was open"},
		"requests of after the load":                        {moved(func(int64) int64 { return 60 }, append(requestMetrics, metric.EndedRequests)...), "are of transactions, and none was open"},
		"requests of the first second, which is not judged": {moved(func(int64) int64 { return 0 }, append(requestMetrics, metric.EndedRequests)...), "are of transactions, and none was open"},
		"all requests failed, and none violates": {inEachFrame(func(f *metric.Frame) {
			for _, p := range pointsNamed(f, metric.RequestFailed+metric.RateOccurred) {
				p.Value = pointsNamed(f, metric.RequestFailed+metric.RateTotal)[0].Value
			}
			claimNone(f, "http_req_duration{name:pay}:p(50)<500", nil)
		}), "p(50)<500 has 0 violations, and the values of its "},
	} {
		t.Run(name, func(t *testing.T) {
			p := synthetic.Profile()
			p.Flows[0].SLOs = append(p.Flows[0].SLOs[2:5:5], synthetic.Percentile(metric.TransactionDuration, 50, 60), synthetic.Percentile(metric.RequestDuration, 50, 60, pay), synthetic.Percentile(metric.RequestDuration, 50, 500, pay))
			c := synthetic.New(p, 2, slow)
			tt.lie(c)
			v := sealedAndOpened(t, c)
			r := ruleOf(t, v, "frames")
			if v.Outcome != Invalid || !strings.HasPrefix(r.Detail, "worker/1 contradicts itself: ") || !strings.Contains(r.Detail, tt.want) {
				t.Errorf("%s; frames is %s: %s", v.Outcome, r.Outcome, r.Detail)
			}
		})
	}
}

// An exemplar is one of the transactions of its frame.
func TestExemplarThatTheHistogramDenies(t *testing.T) {
	for _, value := range []float64{1, 5000} {
		c := asked()
		inEachFrame(func(f *metric.Frame) {
			for _, p := range pointsNamed(f, metric.TransactionDuration) {
				p.Exemplars = []metric.Exemplar{{TraceID: [16]byte{1}, Nanos: time.Unix(f.Second, 0).UnixNano(), Value: value}}
			}
		})(c)
		if r := ruleOf(t, sealedAndOpened(t, c), "frames"); !strings.Contains(r.Detail, "worker/1 contradicts itself: transaction_duration has an exemplar of ") {
			t.Errorf("%g: %s: %s", value, r.Outcome, r.Detail)
		}
	}
}
