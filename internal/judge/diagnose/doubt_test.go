package diagnose

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/observe/wait"
	"assay.dev/assay/internal/spec"
)

// without drops the points of metrics by name.
func without(names ...string) func(int64, string, []metric.Point) []metric.Point {
	return func(_ int64, _ string, points []metric.Point) []metric.Point {
		return slices.DeleteFunc(points, func(p metric.Point) bool { return slices.Contains(names, p.Series.Name) })
	}
}

// silent drops the points of a source in some seconds.
func silent(source string, when func(second int64) bool) func(int64, string, []metric.Point) []metric.Point {
	return func(second int64, from string, points []metric.Point) []metric.Point {
		if from == source && when(second) {
			return nil
		}
		return points
	}
}

// factor scales the counters of a source.
func factor(source string, by float64) func(int64, string, []metric.Point) []metric.Point {
	return func(_ int64, from string, points []metric.Point) []metric.Point {
		for i, p := range points {
			if from == source && p.Kind == metric.Counter {
				points[i].Value *= by
			}
		}
		return points
	}
}

func inHold(second int64) bool { return second >= 0 }

// No component is named if the record says too little, or describes another load.
func TestDoubts(t *testing.T) {
	grown := func(name string) map[string]float64 { return with(healthy(), map[string]float64{name: 400}) }
	http := []string{"http_req_duration", "http_reqs", metric.EndedRequests, metric.EndedRequestTime, metric.EndedBlockedTime, "http_req_failed" + metric.RateTotal, "http_req_failed" + metric.RateOccurred}
	for name, c := range map[string]struct {
		w    system
		says string
	}{
		"the database is not sampled in the hold": {
			system{hold: grown(wait.Binlog), frames: silent("database", inHold)}, "the database was sampled in 0 % of the judged seconds",
		},
		"the service reports nothing in the hold": {
			system{hold: grown(Downstream), frames: silent("service", inHold)}, "the service reported metrics in 0 % of the judged seconds",
		},
		"the service reports nothing at the baseline": {
			system{
				base: with(healthy(), map[string]float64{Downstream: 180}), hold: with(healthy(), map[string]float64{Downstream: 180, wait.Binlog: 120}),
				frames: silent("service", func(second int64) bool { return second < 0 }),
			}, "0 % of the baseline's",
		},
		"the service misses a third of its seconds": {
			system{hold: grown(wait.Binlog), frames: silent("service", func(second int64) bool { return second%3 == 0 })}, "the service reported metrics in 66.7 %",
		},
		"calls downstream are not reported": {
			system{hold: grown(Downstream), frames: without(metric.ServiceDownstreamTime)}, "in a call that it makes",
		},
		"a service that reports requests only": {
			system{hold: grown(wait.Binlog), noDatabase: true, frames: without(metric.ServiceDownstreamTime, metric.ServiceQueryTime, metric.ServiceQueries,
				metric.ServiceAcquireTime, metric.ServicePoolWaitTime)}, "reports too little to tell which",
		},
		"a script that calls without HTTP": {
			system{hold: grown(Service), noDatabase: true, noService: true, frames: without(http...)}, "in calls that it makes without HTTP",
		},
		"a pool of unknown size": {
			system{hold: with(healthy(), map[string]float64{wait.CPU: 20, Pool: 600}), frames: without(metric.ServicePoolMax)}, "the pool's size is not known",
		},
		"connections that are held during a slow gateway call": {
			system{hold: with(healthy(), map[string]float64{Downstream: 250, Pool: 900}), frames: func(_ int64, source string, points []metric.Point) []metric.Point {
				if source == "service" {
					points = append(points, metric.GaugePoint(metric.NewSeries(metric.ServicePoolInUse, ""), 20))
				}
				return points
			}}, "they are held during other work",
		},
		"a generator that broke a rule, and was not late": {
			system{hold: with(healthy(), map[string]float64{wait.Binlog: 4000}), starvedWorker: true}, "the generator broke rule generator-",
		},
		"a baseline that is broken too, and something else that grew": {
			system{base: with(healthy(), map[string]float64{Downstream: 205}), hold: with(healthy(), map[string]float64{Downstream: 205, wait.Binlog: 190}), noise: 0.2},
			"binlog grew most since the baseline",
		},
		"no wait is sampled, and no CPU is used": {
			system{hold: grown(wait.CPU), cpu: 0.05, queue: 0.02}, "its sessions show no wait",
		},
		"metrics of one of three instances": {
			system{hold: grown(Downstream), frames: factor("service", 1.0/3)}, "there are other instances",
		},
		"all time out, and no metric shows where": {
			system{hold: with(healthy(), map[string]float64{wait.CPU: 4}), frames: timeOut}, "less than a third of the",
		},
		"a window of 3 s": {
			system{hold: grown(wait.Binlog), change: func(r *record.Run) { r.Plan.Load.Judged[0].End = r.Plan.Load.Judged[0].Start + 3*time.Second }},
			"a window of 3 s is too short",
		},
	} {
		if c.w.base == nil {
			c.w.base = healthy()
		}
		if c.w.noise == 0 {
			c.w.noise = 0.1
		}
		b := c.w.diagnosed().Bottleneck
		if b.Component != Undetermined || !strings.Contains(b.Sentence, c.says) || b.Class != "" || b.Remedy != "" {
			t.Errorf("%s: %+v", name, b)
		}
	}
}

// timeOut makes every transaction of the hold time out in a request that no source reports.
func timeOut(second int64, source string, points []metric.Point) []metric.Point {
	if second < 0 {
		return points
	}
	switch source {
	case "worker/0":
		h := &metric.Hist{}
		h.Record(10_000, 20)
		points = without("http_req_duration", "http_reqs", metric.EndedIterations, metric.EndedIterationTime, metric.EndedRequests, metric.EndedRequestTime, metric.EndedBlockedTime, metric.Transactions, metric.TransactionDuration)(second, source, points)
		points = append(points, metric.CounterPoint(metric.NewSeries(metric.Transactions, "", "outcome", metric.TimedOut), 20), metric.HistPoint(metric.NewSeries(metric.TransactionDuration, "ms"), h))
	case "service":
		points = without(metric.ServiceRequests, metric.ServiceRequestTime, metric.ServiceDownstreamTime)(second, source, points)
		points = append(points, metric.CounterPoint(metric.NewSeries(metric.ServiceRequestTime, "ms"), 0))
	}
	return points
}

// Causes with similar symptoms are distinguished.
func TestSimilarCauses(t *testing.T) {
	grown := func(more map[string]float64) map[string]float64 { return with(healthy(), more) }
	for name, c := range map[string]struct {
		w    system
		want string
	}{
		"CPUs in use, and an empty run queue": {
			system{hold: grown(map[string]float64{wait.RowLock: 400}), cpu: 1.75, queue: 0.02}, "row lock",
		},
		"most holders are idle": {
			system{hold: grown(map[string]float64{wait.RowLock: 300, wait.Binlog: 160}), blockers: map[string]float64{"idle": 90, wait.Binlog: 10}}, "row lock",
		},
		"others' sessions on the database": {
			system{hold: grown(map[string]float64{Downstream: 300}), frames: func(second int64, source string, points []metric.Point) []metric.Point {
				if source == "database" && second >= 0 {
					points = append(points, metric.CounterPoint(metric.NewSeries(metric.DBSession, "", "class", wait.CPU, "event", "cpu", "digest", "batch"), 100))
				}
				return points
			}}, Downstream,
		},
		"a session that sends to its client": {
			system{hold: grown(map[string]float64{Network: 60, wait.Binlog: 30, Pool: 300}), frames: func(_ int64, source string, points []metric.Point) []metric.Point {
				if source == "database" {
					points = append(points, metric.CounterPoint(metric.NewSeries(metric.DBSession, "", "class", "network", "event", "Sending to client", "digest", "w"), 0.01))
				}
				return points
			}}, "binlog",
		},
	} {
		c.w.base, c.w.noise = healthy(), 0.1
		if b := c.w.diagnosed().Bottleneck; b.Component != c.want || *b.Confidence < MinConfidence {
			t.Errorf("%s: %+v", name, b)
		}
	}
}

// An aborted run is diagnosed from the seconds that it has.
func TestAbortedRun(t *testing.T) {
	var end int64
	w := system{
		base: healthy(), hold: with(healthy(), map[string]float64{Downstream: 300, wait.Binlog: 150}), noise: 0.1, failing: 0.6,
		frames: func(second int64, _ string, points []metric.Point) []metric.Point {
			if second >= 10 {
				return nil
			}
			return points
		},
		change: func(r *record.Run) {
			end = record.SpanOf(r.Facts.T0, r.Plan.Load.Judged[0]).From + 10
			r.Facts.Aborted = &record.Abort{Metric: "http_req_failed", Expression: "rate>0.5 for 10s", Limit: 0.5, From: end - 10, To: end}
			r.Facts.Ended = time.Unix(end, 0)
		},
	}
	f := w.diagnosed()
	if !strings.Contains(f.Bottleneck.Sentence, "at 20/s,") || f.Bottleneck.Component != Downstream {
		t.Errorf("%+v", f.Bottleneck)
	}
	for _, seen := range f.Waits {
		if seen.Class == wait.Binlog && (*seen.MsPerTransaction < 145 || *seen.MsPerTransaction > 165) {
			t.Errorf("%+v", seen)
		}
	}
}

// Lost writes are not a connection storm, even if connections were refused.
func TestRefusalsThatBreakNothing(t *testing.T) {
	w := system{base: healthy(), hold: healthy(), noise: 0.1, refused: 1, change: func(r *record.Run) {
		r.Plan.Profile.Flows[0].SLOs = append(r.Plan.Profile.Flows[0].SLOs, spec.SLO{Metric: metric.Ledger, Expression: "missing==0", Aggregate: spec.Exact, Count: "missing", Operator: "=="})
		r.Ledger.Missing = 3
	}}
	if b := w.diagnosed().Bottleneck; b.Component != Undetermined || !strings.Contains(b.Sentence, "ledger missing==0 is broken, which the time of transactions does not explain") {
		t.Errorf("%+v", b)
	}
}

// If two components grew by almost the same, the wrong one is rarely named, however short
// the window.
func TestConfidenceOfShortWindows(t *testing.T) { confidenceOfShortWindows(t, 12) }

func confidenceOfShortWindows(t *testing.T, seeds uint64) {
	t.Helper()
	for _, length := range []int{5, 8, 11, 20} {
		wrong := uint64(0)
		for seed := range seeds {
			b := system{
				base: healthy(), hold: with(healthy(), map[string]float64{wait.Binlog: 400, Downstream: 385}),
				jitter: map[string]float64{wait.Binlog: 0.5, Downstream: 0.5}, seed: seed,
				change: func(r *record.Run) {
					r.Plan.Load.Judged[0].End = r.Plan.Load.Judged[0].Start + time.Duration(length)*time.Second
				},
			}.diagnosed().Bottleneck
			if b.Component == Downstream {
				wrong++
			}
		}
		t.Logf("%d s: the wrong component is named in %d of %d", length, wrong, seeds)
		if 12*wrong > seeds {
			t.Errorf("%d s: the wrong component is named in %d of %d", length, wrong, seeds)
		}
	}
}

// Costs are divided by all transactions that ended, including those that timed out.
func TestCostsCountTimedOutTransactions(t *testing.T) {
	f := system{base: healthy(), hold: healthy(), noise: 0.1, frames: func(second int64, source string, points []metric.Point) []metric.Point {
		if source == "worker/0" && second >= 0 {
			for i, p := range points {
				if p.Series.Name == metric.EndedIterations {
					points[i].Value = 1
				}
			}
			points = append(points, metric.CounterPoint(metric.NewSeries(metric.Transactions, "", "outcome", metric.TimedOut), 19))
		}
		return points
	}}.diagnosed()
	costs := map[string]float64{}
	for _, r := range f.Resources {
		costs[r.Name] = *r.PerTransaction
	}
	if !maps.Equal(costs, map[string]float64{"commits": 3, "CPU of the service": 0}) {
		t.Errorf("%v", costs)
	}
	if s := f.Statements[0]; *s.CallsPerTransaction < 0.99 || *s.CallsPerTransaction > 1.01 {
		t.Errorf("%+v", s)
	}
}
