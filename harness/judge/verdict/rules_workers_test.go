package verdict

import (
	"slices"
	"strings"
	"testing"

	"assay/harness/judge/internal/synthetic"
	"assay/harness/observe/metric"
)

// fleet is a run of four workers of which the last sees another latency.
func fleet(others, last float64) *synthetic.Case {
	p := synthetic.Profile()
	p.SLOs = p.SLOs[len(p.SLOs)-2:] // of the transaction
	p.Ledger = nil
	p.Load.Target = 40
	c := synthetic.New(p, 4, func(n int64) (float64, string) {
		if n%4 == 3 {
			return last + float64(n*37%10), metric.Completed
		}
		return others + float64(n*37%10), metric.Completed
	})
	for i := range c.Run.Environment.Workers {
		w := &c.Run.Environment.Workers[i]
		w.Local, w.Host.Name = i == 0, []string{"a", "b", "c", "d"}[i]
	}
	return c
}

// A worker that is much slower than the others is named. It makes the run INVALID where
// it alone makes the run fail, and never turns a FAIL of all workers into anything else.
func TestWorkersEven(t *testing.T) {
	for name, c := range map[string]struct {
		others, last float64
		verdict      Outcome
		rule         Outcome
		detail       string
		limitation   string
	}{
		"alike":                        {100, 100, Pass, Pass, "the p95 of the slowest worker, worker/", ""},
		"a little slower":              {60, 90, Pass, Pass, "worker/3 on d, is ", ""},
		"slower, far below the bound":  {2, 20, Pass, Pass, "worker/3 on d, is ", ""},
		"slower":                       {60, 180, Pass, Pass, "worker/3 on d, is ", "worker/3 on d saw a p95 of 189 ms, the other workers 68 ms"},
		"only it fails":                {60, 400, Invalid, Invalid, "worker/3 on d saw a p95 of 409 ms, the other workers 68 ms: the run fails on this worker alone", ""},
		"all fail, and one is slowest": {300, 900, Fail, Pass, "worker/3 on d, is ", "worker/3 on d saw a p95 of "},
		"all fail":                     {400, 400, Fail, Pass, "the p95 of the slowest worker", ""},
	} {
		t.Run(name, func(t *testing.T) {
			v := Judge(fleet(c.others, c.last).Record())
			r := ruleOf(t, v, "workers-even")
			if v.Outcome != c.verdict || r.Outcome != c.rule || !strings.Contains(r.Detail, c.detail) || (c.limitation == "") != (r.Limitation == "") || !strings.Contains(r.Limitation, c.limitation) {
				t.Errorf("%v: %s; %v: %q, limitation %q", v.Outcome, v.Claim, r.Outcome, r.Detail, r.Limitation)
			}
			for _, w := range v.Generator.Fleet {
				if want := w.Source == "worker/3" && (c.limitation != "" || c.rule == Invalid); w.Unlike != want {
					t.Errorf("%s: unlike %t", w.Source, w.Unlike)
				}
			}
		})
	}
}

// The percentile of the run is that of all transactions, not the mean of the workers'.
func TestPercentilesOfWorkersAreNotAveraged(t *testing.T) {
	v := Judge(fleet(60, 1500).Record())
	mean := 0.0
	for _, w := range v.Generator.Fleet {
		if w.P99Ms == nil || w.Transactions == nil || *w.Transactions != 300 || w.Share != 0.25 {
			t.Fatalf("%+v", w)
		}
		mean += *w.P99Ms / 4
	}
	if p99 := *v.Latency[0].P99; p99 < 1490 || mean > 440 {
		t.Errorf("p99 of the run %.0f ms, mean of the workers' %.0f ms", p99, mean)
	}
}

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
// the run INVALID; one that may have is a limitation. A constant offset is corrected.
func TestClocksOfWorkers(t *testing.T) {
	drifting := func(i int) float64 { return 2 * float64(i) } // 94 ms in the end
	for name, c := range map[string]struct {
		worker            string
		offset, drift     func(int) float64
		roundTrip         float64
		rule              Outcome
		words, limitation string
	}{
		"in step":                 {"worker/1", constant(0.1), constant(0.2), 1, Pass, "", ""},
		"ahead":                   {"worker/1", constant(500), constant(0.2), 1, Pass, "", ""},
		"drifting":                {"worker/1", constant(500), drifting, 1, Invalid, "the clock of worker/1 on b drifted by 94 ms against the coordinator's during the run", ""},
		"over a slow network":     {"worker/1", constant(500), drifting, 90, Pass, "", "the clock of worker/1 on b drifted by 94 ms against the coordinator's, known to within 90 ms"},
		"on the coordinator's":    {"worker/0", constant(0), drifting, 1, Pass, "", ""},
		"drifting the other way":  {"worker/3", constant(0), func(i int) float64 { return -2 * float64(i) }, 1, Invalid, "worker/3 on d drifted by 94 ms", ""},
		"without a known network": {"worker/1", constant(0), nil, 1, Pass, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			run := fleet(60, 60)
			gauge(run, c.worker, metric.WorkerClockOffset, c.offset)
			if c.drift != nil {
				gauge(run, c.worker, metric.WorkerClockDrift, c.drift)
			}
			gauge(run, c.worker, metric.WorkerRoundTrip, constant(c.roundTrip))
			v := Judge(run.Record())
			r := ruleOf(t, v, "clock")
			want := Pass
			if c.rule == Invalid {
				want = Invalid
			}
			if r.Outcome != c.rule || v.Outcome != want || *r.Limit != 25 || !strings.Contains(r.Detail, c.words) || r.Limitation != c.limitation {
				t.Errorf("%v; %v: %q, limitation %q", v.Outcome, r.Outcome, r.Detail, r.Limitation)
			}
			for _, w := range v.Generator.Fleet {
				if w.Source == c.worker && (w.ClockOffsetMs == nil || *w.ClockOffsetMs != c.offset(0) || *w.RoundTripMs != c.roundTrip) {
					t.Errorf("%+v", w)
				}
			}
		})
	}
}

// Reports that arrive late in the judged windows are a limitation.
func TestReceiver(t *testing.T) {
	for name, c := range map[string]struct {
		delay, observed float64
		second          int64
		limitation      string
	}{
		"in time":         {150, 150, 20, ""},
		"late":            {9200, 9200, 20, "reports of worker/2 on c reached the record up to 9200 ms after their second: abort conditions could not see them in time"},
		"before the hold": {9200, 0, 3, ""},
	} {
		t.Run(name, func(t *testing.T) {
			run := fleet(60, 60)
			run.Frames = append(run.Frames, metric.Frame{Source: metric.SourceReceiver, Sequence: 1, Second: synthetic.T0.Unix() + c.second, Points: []metric.Point{
				metric.GaugePoint(metric.Of(metric.ReceiveDelay, "worker", "worker/1"), 10), metric.GaugePoint(metric.Of(metric.ReceiveDelay, "worker", "worker/2"), c.delay),
			}})
			r := ruleOf(t, Judge(run.Record()), "receiver")
			if r.Outcome != Pass || r.Limitation != c.limitation || (r.Observed == nil) != (c.observed == 0) || r.Observed != nil && *r.Observed != c.observed {
				t.Errorf("%+v", r)
			}
		})
	}
}

// Old records name no hosts and no shares.
func TestFleetOfOldRecord(t *testing.T) {
	c := healthy()
	c.Run.Environment.Workers = nil
	for i := range c.Run.Plan.Load.Workers {
		c.Run.Plan.Load.Workers[i].Share = 0
	}
	v := Judge(c.Record())
	if v.Outcome != Pass || len(v.Generator.Fleet) != 2 || v.Generator.Fleet[1].Share != 0.5 || v.Generator.Fleet[1].Host != "" || v.Generator.Fleet[1].ClockDriftMs != nil {
		t.Errorf("%v: %+v", v.Outcome, v.Generator.Fleet)
	}
}
