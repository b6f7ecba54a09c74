package synthetic

import (
	"fmt"
	"slices"
	"time"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/spec"
)

// Examples are the records that golden files show, by verdict: "pass", "fail", "lost" (an
// acknowledged write was lost), "invalid"; and "cluster" (INVALID, with workers in pods).
func Examples() map[string]record.Run {
	slow := func(n int64) (float64, string) {
		switch ms, _ := Healthy(n); {
		case n%40 == 0:
			return 10_000, metric.TimedOut
		case n%100 == 5:
			return ms, metric.Failed
		case n%10 == 3:
			return ms + 400, metric.Completed
		default:
			return ms, metric.Completed
		}
	}
	fail := New(Profile(), 2, slow)
	fail.trace(slow)

	lost := New(Profile(), 1, Healthy)
	found := lost.Run.Ledger
	found.Missing, found.Persisted = 3, found.Persisted-3
	found.Lags[0] -= 3

	invalid := New(Profile(), 2, Healthy)
	invalid.Run.Facts.Workers[1] = record.Worker{Source: "worker/1", Exit: "signal: killed"}
	invalid.Run.Plan.Tool.Dirty = true
	invalid.Run.Facts.Collectors[0] = record.Collect{Source: "database", State: "failed", Reason: "access denied"}
	invalid.Run.Facts.Ledger, invalid.Run.Ledger = record.LedgerFact{State: "failed", Reason: "table not found"}, nil
	invalid.Frames = slices.DeleteFunc(invalid.Frames, func(f metric.Frame) bool {
		return f.Source == "worker/1" && f.Sequence > 30 || f.Source == metric.SourceDatabase // worker/1 ends in the middle of the hold
	})
	return map[string]record.Run{
		"pass":    New(Profile(), 2, Healthy).Record(),
		"fail":    fail.Record(),
		"lost":    lost.Record(),
		"invalid": invalid.Record(),
		"cluster": cluster().Record(),
	}
}

// cluster is a run on Kubernetes, without a ledger, that was stopped when a worker had used
// up its memory.
func cluster() *Case {
	const killed, stopped = 31, 32 // s after the start
	p := Profile()
	f := &p.Flows[0]
	f.SLOs, f.Ledger = slices.DeleteFunc(f.SLOs, func(s spec.SLO) bool { return s.Kind() != spec.KindSamples }), nil
	c := New(p, 2, Healthy)
	c.Run.Facts.Ledger, c.Run.Ledger = record.LedgerFact{State: record.StateAbsent}, nil
	for i := range c.Run.Environment.Workers {
		name := fmt.Sprintf("assay-synthetic-%d", i)
		w := &c.Run.Environment.Workers[i]
		w.Host.Name, w.Local, w.Pod, w.Node = name, false, "shop/"+name, fmt.Sprintf("node-%d", i)
		c.Run.Facts.Workers[i].Pod = &record.Pod{Name: w.Pod, Node: w.Node, Phase: "Succeeded", ExitCode: new(int)}
	}
	oom := &c.Run.Facts.Workers[1]
	oom.Exit, oom.Error, oom.Pod.Phase, oom.Pod.Reason, oom.Pod.Message = record.ExitLost, "its pod has ended", "Failed", record.ReasonOutOfMemory, "Memory cgroup out of memory"
	*oom.Pod.ExitCode, oom.Pod.At = 137, T0.Add(killed*time.Second)
	c.Run.Facts.Stopped, c.Run.Facts.Ended = "worker/1 is lost: its pod has ended", T0.Add(stopped*time.Second)
	c.Run.Environment.CoLocation = nil
	c.Frames = slices.DeleteFunc(c.Frames, func(f metric.Frame) bool {
		return f.Source == "worker/1" && f.Sequence > killed || f.Sequence > stopped && !f.Closing
	})
	for i, f := range c.Frames {
		if f.Closing { // the closing frame of worker/0
			c.Frames[i].Sequence = stopped + 1
			c.Frames[i].Points = slices.DeleteFunc(f.Points, func(p metric.Point) bool { return p.Series.Name == metric.WorkerSamples })
			for j, p := range c.Frames[i].Points {
				if p.Series.Name == metric.WorkerFrames {
					c.Frames[i].Points[j].Value = stopped
				}
			}
		}
	}
	return c
}
