package verdict

import (
	"slices"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/testing/synthetic"
)

// aborted is a run that was stopped by its abort condition at the given second: nothing
// was scheduled after it, and the last five seconds failed.
func aborted(c *synthetic.Case, second int64) {
	from, to := synthetic.T0.Unix()+second-5, synthetic.T0.Unix()+second
	drop(c, func(f metric.Frame) bool { return !f.Closing && f.Second >= to })
	for i, f := range c.Frames {
		if f.Source == "worker/0" && !f.Closing && f.Second >= from {
			c.Frames[i].Points = append(f.Points,
				metric.CounterPoint(metric.NewSeries("gateway_errors"+metric.RateTotal, ""), 10),
				metric.CounterPoint(metric.NewSeries("gateway_errors"+metric.RateOccurred, ""), 9))
		}
	}
	stopAt(c, second, "aborted to protect the target")
	c.Run.Facts.Aborted = &record.Abort{Metric: "gateway_errors", Expression: "rate>0.5 for 5s", Limit: 0.5, From: from, To: to, Occurred: 45, Total: 50}
}

// stopAt is a run that was stopped at the given second: nothing was scheduled after it.
func stopAt(c *synthetic.Case, second int64, why string) {
	end := synthetic.T0.Unix() + second
	drop(c, func(f metric.Frame) bool { return !f.Closing && f.Second >= end })
	for i, f := range c.Frames { // the workers' own totals are of what they sent
		if f.Closing && metric.IsWorker(f.Source) {
			c.Frames[i].Sequence = retotal(c, f) + 1
		}
	}
	c.Run.Facts.Stopped, c.Run.Facts.Ended = why, time.Unix(end+2, 0).UTC()
}

// An abort after the judged windows does not change the verdict.
func TestAbortedAfterTheWindows(t *testing.T) {
	c := synthetic.New(synthetic.Profile(), 2, synthetic.Healthy)
	end := synthetic.T0.Unix() + int64(c.Run.Plan.Load.Duration()/time.Second)
	c.Run.Facts.Stopped = "aborted to protect the target: http_req_failed rate>0.5 for 5s"
	c.Run.Facts.Aborted = &record.Abort{Metric: "http_req_failed", Expression: "rate>0.5 for 5s", Limit: 0.5, From: end - 5, To: end}
	v := Judge(c.Record())
	if v.Outcome != Pass || !strings.Contains(strings.Join(v.Limitations, "\n"), "after the judged windows: the run was stopped: aborted to protect the target") {
		t.Errorf("%s: %s; %q", v.Outcome, v.Claim, v.Limitations)
	}
}

// retotal makes the totals of a closing frame agree with the remaining frames.
func retotal(c *synthetic.Case, closing metric.Frame) (frames uint64) {
	t := record.NewTimeline()
	for _, f := range c.Frames {
		if f.Source == closing.Source && !f.Closing {
			t.Add(f)
			frames++
		}
	}
	e := &evidence{Run: record.Run{Timeline: t}}
	for i, p := range closing.Points {
		switch p.Series.Name {
		case metric.WorkerFrames:
			closing.Points[i].Value = float64(frames)
		case metric.WorkerSamples:
			closing.Points[i].Value = recordedSamples(e, closing.Source, p.Series.Label("metric"))
		}
	}
	return frames
}

// An abort is FAIL, whatever the truncated window shows, unless the generator was at
// fault.
func TestAborted(t *testing.T) {
	for name, tt := range map[string]struct {
		second int64
		change func(*synthetic.Case)
		want   Outcome
		claim  string
	}{
		"in the window": {
			26, func(*synthetic.Case) {}, Fail,
			"did not sustain 20 transactions per second for 30 s: aborted after 10 of the 30 judged seconds to protect the target: gateway_errors rate>0.5 for 5s",
		},
		"before it": {
			14, func(*synthetic.Case) {}, Fail,
			"aborted 14 s after its start, before its judged windows to protect the target",
		},
		"of a certificate": {26, func(c *synthetic.Case) {
			p := synthetic.Profile()
			p.Flows[0].Load.Hold = 10 * time.Minute
			*c = *synthetic.New(p, 2, synthetic.Healthy)
			c.Run.Plan.Scope = "certificate"
			aborted(c, 26)
		}, Fail, "aborted after 10 of the 600 judged seconds"},
		"by a starved generator": {26, func(c *synthetic.Case) {
			displace(c, 22, 30)
		}, Invalid, "the generator itself started 30 of"},
		"by a generator that loses arrivals": {26, func(c *synthetic.Case) {
			c.Frames[20].Points = append(c.Frames[20].Points, metric.CounterPoint(metric.NewSeries(metric.GeneratorDropped, ""), 1))
		}, Invalid, "the generator lost 1 of 200 arrivals"},
	} {
		t.Run(name, func(t *testing.T) {
			c := synthetic.New(synthetic.Profile(), 2, synthetic.Healthy)
			aborted(c, tt.second)
			tt.change(c)
			v := Judge(c.Record())
			if v.Outcome != tt.want || !strings.Contains(v.Claim, tt.claim) {
				t.Errorf("%s, %q; want %s, %q", v.Outcome, v.Claim, tt.want, tt.claim)
				for _, r := range v.Rules {
					t.Logf("%s %s: %s", r.ID, r.Outcome, r.Detail)
				}
			}
			row := v.SLOs[len(v.SLOs)-1]
			if row.Outcome != Fail || row.Observed == nil || *row.Observed != 0.9 || *row.Violations != 45 || *row.Samples != 50 {
				t.Errorf("the row of the abort is %+v", row)
			}
			for _, s := range v.SLOs {
				if s.Outcome == Pass {
					t.Errorf("%s %s is PASS on a window that was cut short", s.Metric, s.Expression)
				}
			}
			if !strings.Contains(strings.Join(v.Limitations, "\n"), "aborted") {
				t.Errorf("the limitations do not say it: %q", v.Limitations)
			}
		})
	}
}

// guarded is a run that a condition on something else than the load stopped at the given
// second, in which nothing is wrong with the load itself.
func guarded(c *synthetic.Case, second int64, condition record.Abort) {
	aborted(c, second)
	for i, f := range c.Frames { // the requests of the load succeed
		c.Frames[i].Points = slices.DeleteFunc(f.Points, func(p metric.Point) bool { return p.Series.Name == "gateway_errors"+metric.RateOccurred })
	}
	condition.From, condition.To = synthetic.T0.Unix()+second-3, synthetic.T0.Unix()+second
	for i, v := range []float64{condition.Limit * 2, condition.Limit * 3, condition.Limit * 2.5} {
		condition.Observed = append(condition.Observed, record.Reading{Second: condition.From + int64(i), Value: v})
	}
	c.Run.Facts.Aborted = &condition
	c.Run.Facts.Stopped = "aborted " + condition.String()
}

// An abort that protects others is FAIL, and no SLO of the system: the claim says what was
// protected and what was read, and no row of the SLOs fails.
func TestAbortedToProtectOthers(t *testing.T) {
	for name, tt := range map[string]struct {
		condition record.Abort
		second    int64
		change    func(*synthetic.Case)
		want      Outcome
		claim     string
	}{
		"a neighbour": {
			record.Abort{Metric: "orders", Expression: "rate>0.05 for 3s", Limit: 0.05, Unit: "share", Protects: "the neighbour orders"},
			26, nil, Fail,
			"did not sustain 20 transactions per second for 30 s: aborted after 10 of the 30 judged seconds to protect the neighbour orders: rate>0.05 for 3s, 10 % to 15 % observed; that is a condition of the profile, not an SLO of the system (",
		},
		"the database": {
			record.Abort{Metric: "db_sessions", Expression: "max>200 for 3s", Limit: 200, Protects: "the database"},
			14, nil, Fail,
			"aborted 14 s after its start, before its judged windows to protect the database: db_sessions max>200 for 3s, 400 to 600 observed; that is",
		},
		"by a starved generator": {
			record.Abort{Metric: "db_sessions", Expression: "max>200 for 3s", Limit: 200, Protects: "the database"},
			26,
			func(c *synthetic.Case) { displace(c, 22, 30) }, Invalid, "the generator itself started 30 of",
		},
		"that interrupted transactions": {
			record.Abort{Metric: "db_sessions", Expression: "max>200 for 3s", Limit: 200, Protects: "the database"},
			26,
			func(c *synthetic.Case) {
				for i, f := range c.Frames { // which timed out by the generator's own end, and by nothing else
					if metric.IsWorker(f.Source) && !f.Closing && f.Second == synthetic.T0.Unix()+24 {
						for _, s := range c.Run.Plan.Profile.Flows[0].SLOs {
							if s.OfTransactions() {
								c.Frames[i].Points = append(c.Frames[i].Points, metric.CounterPoint(metric.Of(metric.Violations, "slo", s.ID()), 9))
							}
						}
					}
				}
			}, Fail, "to protect the database",
		},
		"with a lost write": {
			record.Abort{Metric: "db_sessions", Expression: "max>200 for 3s", Limit: 200, Protects: "the database"},
			26,
			func(c *synthetic.Case) { c.Run.Ledger.Missing = 1 }, LostWrite, "lost 1 of",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := synthetic.New(synthetic.Profile(), 2, synthetic.Healthy)
			guarded(c, tt.second, tt.condition)
			if tt.change != nil {
				tt.change(c)
			}
			v := Judge(c.Record())
			if v.Outcome != tt.want || !strings.Contains(v.Claim, tt.claim) {
				t.Errorf("%s, %q; want %s, %q", v.Outcome, v.Claim, tt.want, tt.claim)
				for _, r := range v.Rules {
					t.Logf("%s %s: %s", r.ID, r.Outcome, r.Detail)
				}
			}
			for _, s := range v.SLOs {
				if s.Outcome != Inconclusive && tt.want != LostWrite || strings.Contains(s.Expression, "abort") {
					t.Errorf("%s %s is %s", s.Metric, s.Expression, s.Outcome)
				}
			}
			a := v.Aborted
			if a == nil || a.SLO || !a.Truncated || a.Condition != tt.condition.Metric || a.Protects != tt.condition.Protects || len(a.Observed) != 3 || a.To.Sub(a.From) != 3*time.Second {
				t.Errorf("%+v", a)
			}
			if !strings.Contains(strings.Join(v.Limitations, "\n"), "aborted") {
				t.Errorf("the limitations do not say it: %q", v.Limitations)
			}
		})
	}
	// After the judged windows it does not change the verdict.
	c := synthetic.New(synthetic.Profile(), 2, synthetic.Healthy)
	end := synthetic.T0.Unix() + int64(c.Run.Plan.Load.Duration()/time.Second)
	c.Run.Facts.Stopped = "aborted to protect the neighbour orders: rate>0.05 for 3s"
	c.Run.Facts.Aborted = &record.Abort{Metric: "orders", Expression: "rate>0.05 for 3s", Limit: 0.05, Protects: "the neighbour orders", From: end - 3, To: end}
	if v := Judge(c.Record()); v.Outcome != Pass || v.Aborted == nil || v.Aborted.Truncated {
		t.Errorf("%s: %s, %+v", v.Outcome, v.Claim, v.Aborted)
	}
}
