package verdict

import (
	"math"
	"slices"
	"strings"
	"testing"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/synthetic"
)

// gauge adds a gauge of a worker in each of its frames.
func gauge(c *synthetic.Case, source, name string, value func(i int) float64) {
	n := 0
	for i, f := range c.Frames {
		if f.Source == source && !f.Closing {
			c.Frames[i].Points = append(slices.Clip(f.Points), metric.GaugePoint(metric.Of(name), value(n)))
			n++
		}
	}
}

func constant(v float64) func(int) float64 { return func(int) float64 { return v } }

// A clock that certainly drifts by more than a tenth of the tightest bound (25 ms) makes
// the run INVALID; one that may have is a limitation. A constant offset is corrected. The
// round trip of each second bounds what is known of this second, and the coordinator's own
// clock is another finding.
func TestClocksOfWorkers(t *testing.T) {
	drifting := func(i int) float64 { return 2 * float64(i) } // 94 ms in the end
	during := func(from, to int, v, otherwise float64) func(int) float64 {
		return func(i int) float64 {
			if i >= from && i < to {
				return v
			}
			return otherwise
		}
	}
	for name, c := range map[string]struct {
		worker            string
		offset, drift     func(int) float64
		roundTrip         func(int) float64
		step              float64 // step of the coordinator's clock, ms
		rule              Outcome
		words, limitation string
	}{
		"in step":                  {"worker/1", constant(0.1), constant(0.2), constant(1), 0, Pass, "the clock of worker/1 on b drifted by 0.2 ms", ""},
		"ahead":                    {"worker/1", constant(500), constant(0.2), constant(1), 0, Pass, "", ""},
		"drifting":                 {"worker/1", constant(500), drifting, constant(1), 0, Invalid, "the clock of worker/1 on b drifted by 94 ms against the coordinator's during the run", ""},
		"over a slow network":      {"worker/1", constant(500), drifting, constant(180), 0, Pass, "", "the clock of worker/1 on b drifted by 94 ms against the coordinator's, known to within 90 ms"},
		"half of the round trip":   {"worker/1", constant(500), drifting, constant(100), 0, Invalid, "worker/1 on b drifted by 94 ms", ""},
		"slow network for a while": {"worker/1", constant(500), drifting, during(10, 15, 400, 1), 0, Invalid, "worker/1 on b drifted by 94 ms", ""},
		"only by the slow network": {"worker/1", constant(0), during(10, 15, 150, 1), during(10, 15, 400, 1), 0, Pass, "", "the clock of worker/1 on b drifted by 150 ms against the coordinator's, known to within 200 ms"},
		"on the coordinator's":     {"worker/0", constant(0), drifting, constant(1), 0, Pass, "", ""},
		"drifting the other way":   {"worker/3", constant(0), func(i int) float64 { return -2 * float64(i) }, constant(1), 0, Invalid, "worker/3 on d drifted by 94 ms", ""},
		"without a known network":  {"worker/1", constant(0), nil, constant(1), 0, Pass, "", ""},
		"without a round trip":     {"worker/1", constant(0), drifting, nil, 0, Pass, "", ""},
		"coordinator is stepped":   {"worker/1", constant(0), constant(0.2), constant(1), 200, Pass, "", "the coordinator's wall clock was stepped by 200 ms during the run; no latency depends on it"},
		"and the worker drifts":    {"worker/1", constant(0), drifting, constant(1), 200, Invalid, "worker/1 on b drifted by 94 ms", "the coordinator's wall clock was stepped by 200 ms during the run; no latency depends on it"},
		"and the worker may drift": {"worker/1", constant(0), drifting, constant(180), -200, Pass, "", "the coordinator's wall clock was stepped by 200 ms during the run; no latency depends on it; the clock of worker/1 on b drifted by 94 ms against the coordinator's, known to within 90 ms"},
	} {
		t.Run(name, func(t *testing.T) {
			run := fleet(60, 60)
			run.Run.Facts.ClockStepMs = &c.step
			gauge(run, c.worker, metric.WorkerClockOffset, c.offset)
			if c.drift != nil {
				gauge(run, c.worker, metric.WorkerClockDrift, c.drift)
			}
			if c.roundTrip != nil {
				gauge(run, c.worker, metric.WorkerRoundTrip, c.roundTrip)
			}
			v := Judge(run.Record())
			r := ruleOf(t, v, "clock")
			observed := math.Abs(c.step)
			for i := range 48 {
				if c.drift != nil && c.roundTrip != nil && c.worker != "worker/0" && (c.rule == Invalid || math.Abs(c.drift(i)) > observed) {
					observed = math.Abs(c.drift(i)) // what makes the run INVALID, else the largest
				}
			}
			if r.Outcome != c.rule || v.Outcome != c.rule || *r.Limit != 25 || *r.Observed != observed || !strings.Contains(r.Detail, c.words) || r.Limitation != c.limitation {
				t.Errorf("%v; %v: %q, limitation %q", v.Outcome, r.Outcome, r.Detail, r.Limitation)
			}
			for _, w := range v.Generator.Fleet {
				if w.Worker == c.worker && (w.ClockOffsetMs == nil || *w.ClockOffsetMs != c.offset(0) || c.roundTrip != nil && *w.RoundTripMs != max(c.roundTrip(0), c.roundTrip(10))) {
					t.Errorf("%+v", w)
				}
			}
		})
	}
}

// Where persist_lag compares the coordinator's clock with the database's, both findings
// make the run INVALID.
func TestCoordinatorAndWorkerClocks(t *testing.T) {
	run := fleet(60, 60)
	run.Run.Plan.Profile.Flows[0].SLOs = append(run.Run.Plan.Profile.Flows[0].SLOs, spec.SLO{Metric: metric.PersistLag, Expression: "max<5000", Aggregate: spec.Max, Operator: "<", Bound: 5000})
	run.Run.Facts.ClockStepMs = new(80.0)
	gauge(run, "worker/1", metric.WorkerClockDrift, constant(60))
	gauge(run, "worker/1", metric.WorkerRoundTrip, constant(1))
	r := ruleOf(t, Judge(run.Record()), "clock")
	want := "the coordinator's wall clock was stepped by 80 ms during the run, which persist_lag compares with the database's; the clock of worker/1 on b drifted by 60 ms against the coordinator's during the run"
	if r.Outcome != Invalid || r.Detail != want || *r.Observed != 80 {
		t.Errorf("%v, %g: %q", r.Outcome, *r.Observed, r.Detail)
	}
}
