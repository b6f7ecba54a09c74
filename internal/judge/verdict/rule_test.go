package verdict

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/synthetic"
)

// edit changes every point of a counter in a worker's frames.
func edit(c *synthetic.Case, source, name string, change func(v float64) float64) {
	for _, f := range c.Frames {
		for i, p := range f.Points {
			if f.Source == source && !f.Closing && p.Series.Name == name {
				f.Points[i].Value = change(p.Value)
			}
		}
	}
}

// drop removes the frames that match.
func drop(c *synthetic.Case, match func(metric.Frame) bool) {
	c.Frames = slices.DeleteFunc(c.Frames, match)
}

// claimTotal changes a number of a closing frame.
func claimTotal(c *synthetic.Case, name, metricName string, change func(v float64) float64) {
	for _, f := range c.Frames {
		for i, p := range f.Points {
			if f.Closing && f.Source == "worker/0" && p.Series.Name == name && p.Series.Label("metric") == metricName {
				f.Points[i].Value = change(p.Value)
			}
		}
	}
}

func times(k float64) func(float64) float64 { return func(v float64) float64 { return v * k } }

func plus(k float64) func(float64) float64 { return func(v float64) float64 { return v + k } }

// displace makes the generator start a number of slots late in a second of the run.
func displace(c *synthetic.Case, second int64, slots float64) {
	for i, f := range c.Frames {
		if f.Source == "worker/0" && !f.Closing && f.Second == synthetic.T0.Unix()+second {
			c.Frames[i].Points = append(f.Points, metric.CounterPoint(metric.NewSeries(metric.GeneratorDisplaced, ""), slots))
		}
	}
}

func holdSecond(f metric.Frame) bool { return f.Second == synthetic.T0.Unix()+20 }

func TestBrokenRules(t *testing.T) {
	for name, tt := range map[string]struct {
		rule   string
		change func(c *synthetic.Case)
		detail string
	}{
		"stopped in the window": {"complete", func(c *synthetic.Case) {
			c.Run.Facts.Stopped, c.Run.Facts.Ended = "abort: rate>0.5 for 10s", synthetic.T0.Add(45*time.Second)
		}, "the run ended after 29 of the 30 judged seconds: abort: rate>0.5 for 10s"},
		"never started": {"complete", func(c *synthetic.Case) { c.Run.Facts.T0 = time.Time{} }, "the load never started"},
		"slots missing": {"open-loop", func(c *synthetic.Case) {
			edit(c, "worker/1", metric.TransactionsScheduled, times(0.5))
		}, "450 of 600 planned arrivals occurred, 600 with a measured lag"},
		"lag not measured": {"open-loop", func(c *synthetic.Case) {
			for i, f := range c.Frames {
				if f.Source == "worker/0" && holdSecond(f) {
					c.Frames[i].Points = slices.DeleteFunc(f.Points, func(p metric.Point) bool { return p.Series.Name == metric.GeneratorLag })
				}
			}
		}, "600 of 600 planned arrivals occurred, 590 with a measured lag"},
		"clock set": {"clock", func(c *synthetic.Case) {
			c.Run.Facts.ClockStepMs = new(-2000.0)
		}, "the coordinator's wall clock was stepped by 2000 ms during the run, which persist_lag compares with the database's"},
		"short certificate": {"window", func(c *synthetic.Case) { c.Run.Plan.Scope = "certificate" }, "30 s judged, too short for a certificate"},
		"window in the warm-up": {"warm-up", func(c *synthetic.Case) {
			c.Run.Plan.Load.Judged = []plan.Window{{Start: time.Second, End: 31 * time.Second}}
		}, "the judged window starts at 1 s, within the warm-up of 2 s"},
		"an outcome twice": {"accounted", func(c *synthetic.Case) {
			for i, f := range c.Frames {
				if f.Source == "worker/0" && holdSecond(f) {
					extra := metric.CounterPoint(metric.NewSeries(metric.Transactions, "", "outcome", metric.Failed), 1)
					c.Frames[i].Points = append(f.Points, extra)
				}
			}
		}, "1 transactions in 1 seconds have no outcome or more than one"},
		"an arrival too many, outside the window": {"accounted", func(c *synthetic.Case) {
			c.Run.Plan.Load.Stages[0].Arrivals--
		}, "750 transactions were scheduled, the plan has 749"},
		"an arrival that no SLO counts": {"accounted", func(c *synthetic.Case) {
			edit(c, "worker/0", metric.Judged, func(v float64) float64 { return v - 1 })
		}, "transaction_duration:p(95)<250 counts 570 transactions, 600 were scheduled"},
		"arrivals lost by the generator": {"generator-drops", func(c *synthetic.Case) {
			c.Frames[20].Points = append(c.Frames[20].Points, metric.CounterPoint(metric.NewSeries(metric.GeneratorDropped, ""), 1))
		}, "the generator lost 1 of 600 arrivals"},
		"late slots": {"offered", func(c *synthetic.Case) {
			displace(c, 20, 4)
		}, "the generator itself started 4 of 600 transactions more than 100ms late"},
		"late slots by histogram alone": {"offered", func(c *synthetic.Case) {
			for _, p := range c.Frames[20].Points {
				if p.Series.Name == metric.GeneratorLag {
					n := p.Hist.Count()
					*p.Hist = metric.Hist{}
					p.Hist.Record(200, n)
				}
			}
		}, "the generator itself started 10 of 600 transactions more than 100ms late"},
		"stream not closed": {"frames", func(c *synthetic.Case) {
			drop(c, func(f metric.Frame) bool { return f.Source == "worker/1" && f.Closing })
		}, "worker/1 did not report to its end"},
		"worker missing": {"frames", func(c *synthetic.Case) {
			drop(c, func(f metric.Frame) bool { return f.Source == "worker/0" })
		}, "worker/0 sent nothing"},
		"worker killed": {"worker-lost", func(c *synthetic.Case) {
			c.Run.Facts.Workers[0].Exit = "signal: killed"
		}, "worker/0 on synthetic was killed (signal: killed)"},
		"worker killed, after its last frame": {"frames", func(c *synthetic.Case) {
			c.Run.Facts.Workers[0].Exit = "signal: killed"
		}, "worker/0 reported to its end, but did not end by itself"},
		"a counter without end": {"frames", func(c *synthetic.Case) {
			edit(c, "worker/1", metric.Violations, times(math.NaN()))
		}, "slo_violations is not a finite number"},
		"unknown worker": {"frames", func(c *synthetic.Case) {
			c.Frames = append(c.Frames, metric.Frame{Source: "worker/2", Sequence: 1})
		}, "worker/2 is not in the plan"},
		"frame lost": {"frames", func(c *synthetic.Case) {
			drop(c, func(f metric.Frame) bool { return f.Source == "worker/1" && f.Sequence == 3 })
		}, "1 frames of worker/1 are missing"},
		"frame too many": {"frames", func(c *synthetic.Case) {
			claimTotal(c, metric.WorkerFrames, "", plus(-1))
		}, "worker/0 sent 47 frames, 48 were received"},
		"histogram differs": {"frames", func(c *synthetic.Case) {
			claimTotal(c, metric.WorkerSamples, metric.TransactionDuration, plus(1))
		}, "worker/0 sent 376 samples of transaction_duration, the record holds 375"},
		"rate differs": {"frames", func(c *synthetic.Case) {
			edit(c, "worker/0", "http_req_failed.total", times(2))
		}, "worker/0 sent 375 samples of http_req_failed.total, the record holds 750"},
		"SLO without data": {"data", func(c *synthetic.Case) {
			c.Run.Plan.Profile.Flows[0].SLOs = append(c.Run.Plan.Profile.Flows[0].SLOs, synthetic.Percentile("http_req_duration", 95, 200, metric.Label{Key: "name", Value: "refund"}))
		}, "no data for http_req_duration{name:refund} p(95)<200"},
		"ledger empty": {"data", func(c *synthetic.Case) {
			c.Run.Ledger.Acknowledged, c.Run.Ledger.Persisted, c.Run.Ledger.Lags = 0, 0, nil
		}, "no data for ledger missing==0; ledger duplicated==0; persist_lag max<5000"},
		"ledger half gathered": {"data", func(c *synthetic.Case) {
			c.Run.Facts.Ledger = record.LedgerFact{State: "failed", Reason: "worker/1 left none"}
		}, "no data for ledger missing==0; ledger duplicated==0; persist_lag max<5000; the ledger was not read back: worker/1 left none"},
	} {
		t.Run(name, func(t *testing.T) {
			c := healthy()
			tt.change(c)
			v := Judge(c.Record())
			r := ruleOf(t, v, tt.rule)
			if r.Outcome != Invalid || v.Outcome != Invalid || r.Detail != tt.detail {
				t.Errorf("%v; %s is %v: %s", v.Outcome, tt.rule, r.Outcome, r.Detail)
			}
			if !strings.HasPrefix(v.Claim, "synthetic cannot be judged: ") {
				t.Errorf("claim: %s", v.Claim)
			}
		})
	}
	t.Run("the profile's own limits", func(t *testing.T) {
		c := healthy()
		c.Frames[20].Points = append(c.Frames[20].Points, metric.CounterPoint(metric.NewSeries(metric.GeneratorDropped, ""), 1))
		c.Run.Plan.Profile.Rules.GeneratorDrops = new(0.01)
		if v := Judge(c.Record()); v.Outcome != Pass {
			t.Errorf("%v: %s", v.Outcome, v.Claim)
		}
	})
}

func TestWhatTheRulesAllow(t *testing.T) {
	for name, tt := range map[string]struct {
		rule       string
		change     func(c *synthetic.Case)
		limitation string
	}{
		"stopped after the window": {"complete", func(c *synthetic.Case) {
			c.Run.Facts.Stopped, c.Run.Facts.Ended = "interrupted", synthetic.T0.Add(46*time.Second)
			drop(c, func(f metric.Frame) bool { return f.Sequence > 46 && !f.Closing && f.Source != "database" })
			for i, f := range c.Frames {
				if f.Closing {
					c.Frames[i].Sequence = 47
					c.Frames[i].Points = slices.DeleteFunc(f.Points, func(p metric.Point) bool { return p.Series.Name == metric.WorkerSamples })
					for j, p := range c.Frames[i].Points {
						if p.Series.Name == metric.WorkerFrames {
							c.Frames[i].Points[j].Value = 46
						}
					}
				}
			}
		}, "after the judged windows: the run was stopped: interrupted"},
		"cold start": {"warm-up", func(c *synthetic.Case) {
			p := synthetic.Profile()
			p.Flows[0].Load.Warmup, p.Flows[0].Load.Baseline.For, p.Flows[0].Load.Ramp = 0, 0, 0
			*c = *synthetic.New(p, 1, synthetic.Healthy)
		}, "no warm-up: the judged window includes the cold start"},
		"long enough": {"window", func(c *synthetic.Case) {
			p := synthetic.Profile()
			p.Flows[0].Load.Hold = 600 * time.Second
			*c = *synthetic.New(p, 1, synthetic.Healthy)
			c.Run.Plan.Scope = "certificate"
		}, ""},
		"collector fails": {"collector", func(c *synthetic.Case) {
			drop(c, func(f metric.Frame) bool { return f.Source == "database" })
			c.Run.Facts.Collectors[0] = record.Collect{Source: "database", State: "failed", Reason: "access denied"}
		}, "no sample of the database was taken (access denied): the bottleneck is undetermined"},
		"collector stops": {"collector", func(c *synthetic.Case) {
			drop(c, func(f metric.Frame) bool { return f.Source == "database" && f.Second >= synthetic.T0.Unix()+43 })
		}, "waits are incomplete: 90 % of the samples, longest gap 3s"},
		"collector stalls": {"collector", func(c *synthetic.Case) {
			for _, f := range c.Frames {
				for _, p := range f.Points {
					if holdSecond(f) && p.Series.Name == metric.DBSampleInterval {
						p.Hist.Record(2001, 1)
					}
				}
			}
		}, "waits are incomplete: 100 % of the samples, longest gap 2.001s"},
	} {
		t.Run(name, func(t *testing.T) {
			c := healthy()
			tt.change(c)
			v := Judge(c.Record())
			r := ruleOf(t, v, tt.rule)
			if v.Outcome != Pass || r.Outcome != Pass || r.Limitation != tt.limitation {
				t.Errorf("%v; %s is %v: %s, limitation %q", v.Outcome, tt.rule, r.Outcome, r.Detail, r.Limitation)
				t.Log(v.Claim)
			}
		})
	}
}

// A clock that was stepped matters only to SLOs that compare it with another.
func TestClockStepWithoutPersistLag(t *testing.T) {
	c := synthetic.New(synthetic.Profile(), 1, synthetic.Healthy)
	slos := &c.Run.Plan.Profile.Flows[0].SLOs
	*slos = slices.DeleteFunc(slices.Clone(*slos), func(s spec.SLO) bool { return s.Metric == metric.PersistLag })
	c.Run.Facts.ClockStepMs = new(2000.0)
	r := ruleOf(t, Judge(c.Record()), "clock")
	if want := "the coordinator's wall clock was stepped by 2000 ms during the run; no latency depends on it"; r.Outcome != Pass || r.Limitation != want {
		t.Errorf("%v, %q", r.Outcome, r.Limitation)
	}
}
