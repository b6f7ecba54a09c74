package verdict

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/synthetic"
)

// each adds points to every second of the judged windows and of the five seconds before
// them: to the frames of a worker, or in new frames of another source.
func each(c *synthetic.Case, source string, points ...metric.Point) {
	for _, w := range c.Run.Plan.Load.Judged {
		for at := w.Start - 5*time.Second; at < w.End; at += time.Second {
			second := synthetic.T0.Add(at).Unix()
			i := slices.IndexFunc(c.Frames, func(f metric.Frame) bool { return f.Source == source && f.Second == second })
			if i < 0 {
				i = len(c.Frames)
				c.Frames = append(c.Frames, metric.Frame{Source: source, Second: second})
			}
			c.Frames[i].Points = append(c.Frames[i].Points, points...)
		}
	}
}

func host(c *synthetic.Case, stolen float64) {
	each(c, "host", modes(metric.HostCPU, stolen)...)
}

// modes are those of two CPUs in a second.
func modes(name string, stolen float64) []metric.Point {
	other := "idle"
	if name == metric.WorkerHostCPU {
		other = "other"
	}
	return []metric.Point{
		metric.CounterPoint(metric.NewSeries(name, "s", "mode", "steal"), stolen),
		metric.CounterPoint(metric.NewSeries(name, "s", "mode", other), 2-stolen),
	}
}

func stopped(c *synthetic.Case, source, process string, seconds float64) {
	each(c, source, metric.CounterPoint(metric.NewSeries(metric.CgroupThrottled, "s", "process", process), seconds))
}

func TestMachine(t *testing.T) {
	const unknown = "no CPU quota is known for the service and the database"
	none := math.NaN()
	for name, tt := range map[string]struct {
		change     func(c *synthetic.Case)
		observed   float64 // none: no data
		detail     string
		limitation string
	}{
		"no data": {func(*synthetic.Case) {}, none, "steal time was not measured; " + unknown, ""},
		"nothing taken": {func(c *synthetic.Case) {
			host(c, 0)
			stopped(c, "host", "database", 0)
		}, 0, "the hypervisor took 0 % of this host's CPU time; a CPU quota throttled the database for 0 % of the time; no CPU quota is known for the service", ""},
		"within the limit": {func(c *synthetic.Case) { host(c, 0.039) }, 0.0195, "the hypervisor took 1.95 % of this host's CPU time; " + unknown, ""},
		"stolen": {
			func(c *synthetic.Case) { host(c, 0.188) }, 0.094, "the hypervisor took 9.4 % of this host's CPU time; " + unknown,
			"the hypervisor took 9.4 % of this host's CPU time; latencies include it",
		},
		"stolen and throttled": {
			func(c *synthetic.Case) {
				host(c, 0.188)
				stopped(c, "host", "database", 0.031)
				stopped(c, "host", "service", 0.01)
			}, 0.094, "the hypervisor took 9.4 % of this host's CPU time; a CPU quota throttled the service for 1 % and the database for 3.1 % of the time",
			"the hypervisor took 9.4 % of this host's CPU time, and a CPU quota throttled the database for 3.1 % of the time; latencies include both",
		},
		"all of it": {
			func(c *synthetic.Case) {
				host(c, 0.1)
				stopped(c, "host", "database", 0.25)
				stopped(c, "host", "service", 0.5)
			}, 0.5, "the hypervisor took 5 % of this host's CPU time; a CPU quota throttled the service for 50 % and the database for 25 % of the time",
			"the hypervisor took 5 % of this host's CPU time, and a CPU quota throttled the service for 50 % and the database for 25 % of the time; latencies include all of it",
		},
		"pressure": {func(c *synthetic.Case) {
			each(c, "host", metric.CounterPoint(metric.NewSeries(metric.HostPressure, "s", "resource", "cpu", "kind", "some"), 0.12),
				metric.CounterPoint(metric.NewSeries(metric.HostPressure, "s", "resource", "io", "kind", "some"), 0.9))
		}, none, "steal time was not measured; " + unknown + "; some task waited for a CPU for 12 % of the time", ""},
		// Workers that the collector sees are on its host, which is counted once, with
		// the collector's figures.
		"workers on this host": {func(c *synthetic.Case) {
			host(c, 0.05)
			for i := range 2 {
				w := fmt.Sprintf("worker/%d", i)
				each(c, "host", metric.CounterPoint(metric.NewSeries(metric.ProcessCPU, "s", "process", w), 0.1))
				each(c, w, modes(metric.WorkerHostCPU, 0.06)...)
			}
		}, 0.025, "the hypervisor took 2.5 % of this host's CPU time; " + unknown, "the hypervisor took 2.5 % of this host's CPU time; latencies include it"},
		"workers elsewhere, on one host": {func(c *synthetic.Case) {
			host(c, 0)
			each(c, "worker/0", modes(metric.WorkerHostCPU, 0.1)...)
			each(c, "worker/1", modes(metric.WorkerHostCPU, 0.12)...)
		}, 0.06, "the hypervisor took 6 % of the CPU time of worker/1's host; " + unknown, "the hypervisor took 6 % of the CPU time of worker/1's host; latencies include it"},
		"the host was not observed": {func(c *synthetic.Case) {
			each(c, "worker/1", modes(metric.WorkerHostCPU, 0.02)...)
		}, 0.01, "the hypervisor took 1 % of the CPU time of worker/1's host; " + unknown, ""},
		"outside the window": {func(c *synthetic.Case) {
			host(c, 0.02)
			for i, f := range c.Frames {
				if f.Source == "host" && f.Second < synthetic.T0.Add(c.Run.Plan.Load.Judged[0].Start).Unix() {
					c.Frames[i].Points = modes(metric.HostCPU, 2)
				}
			}
		}, 0.01, "the hypervisor took 1 % of this host's CPU time; " + unknown, ""},
		// One reading for throttling over many seconds.
		"a late reading": {
			func(c *synthetic.Case) { stopped(c, "host", "database", 5) }, 1,
			"steal time was not measured; a CPU quota throttled the database for 100 % of the time; no CPU quota is known for the service",
			"a CPU quota throttled the database for 100 % of the time; latencies include it",
		},
		"no number": {func(c *synthetic.Case) { host(c, math.NaN()) }, none, "steal time was not measured; " + unknown, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := healthy()
			tt.change(c)
			v := Judge(c.Record())
			r := ruleOf(t, v, "machine")
			if v.Outcome != Pass || r.Outcome != Pass || *r.Limit != 0.02 || r.Advice == "" {
				t.Errorf("%v; %+v", v.Outcome, r)
			}
			if (r.Observed == nil) != math.IsNaN(tt.observed) || r.Observed != nil && math.Abs(*r.Observed-tt.observed) > 1e-9 {
				t.Errorf("observed %v, want %v", r.Observed, tt.observed)
			}
			if r.Detail != tt.detail || r.Limitation != tt.limitation {
				t.Errorf("%q\nlimitation %q", r.Detail, r.Limitation)
			}
			if found := slices.Contains(v.Limitations, tt.limitation); found != (tt.limitation != "") {
				t.Errorf("limitations %q", v.Limitations)
			}
		})
	}
}

// Shares are over all judged windows together, without the time between them.
func TestMachineOverSeveralWindows(t *testing.T) {
	p := synthetic.Profile()
	p.Flows[0].Load = spec.Load{Unit: "tps", Stages: []spec.Stage{
		{Rate: 20, For: 5 * time.Second},
		{Rate: 20, For: 30 * time.Second, Judge: true},
		{Rate: 20, For: 10 * time.Second},
		{Rate: 20, For: 10 * time.Second, Judge: true},
	}}
	c := synthetic.New(p, 1, synthetic.Healthy)
	host(c, 0)
	stopped(c, "host", "service", 0)
	first, second := c.Run.Plan.Load.Judged[0], c.Run.Plan.Load.Judged[1]
	for i, f := range c.Frames {
		if f.Source != "host" {
			continue
		}
		in := time.Unix(f.Second, 0).Sub(synthetic.T0)
		for k, p := range f.Points {
			switch {
			case p.Series.Name == metric.CgroupThrottled && in >= second.Start:
				c.Frames[i].Points[k].Value = 0.4
			case p.Series.Name == metric.HostCPU && (in < first.Start || in >= first.End && in < second.Start):
				c.Frames[i].Points[k].Value = 2 // all of it stolen, or idle
			}
		}
	}
	v := Judge(c.Record())
	r := ruleOf(t, v, "machine")
	if want := "a CPU quota throttled the service for 10 % of the time; latencies include it"; r.Limitation != want || math.Abs(*r.Observed-0.1) > 1e-9 {
		t.Errorf("%+v", r)
	}
	if !strings.HasPrefix(r.Detail, "the hypervisor took 0 % of this host's CPU time; ") {
		t.Errorf("between the windows: %s", r.Detail)
	}
}

// The profile may relax the limit, which is then a limitation.
func TestMachineLoosened(t *testing.T) {
	c := healthy()
	host(c, 0.188)
	c.Run.Plan.Profile.Rules.Machine = new(0.1)
	v := Judge(c.Record())
	if r := ruleOf(t, v, "machine"); r.Limitation != "" || !slices.Contains(v.Limitations, "the profile relaxes rule machine to 10 % (default: 2 %)") {
		t.Errorf("%+v; %q", r, v.Limitations)
	}
}

// A worker that is short of CPU is a limitation, however short, and decides nothing.
func TestGeneratorCPU(t *testing.T) {
	for name, tt := range map[string]struct {
		change     func(c *synthetic.Case)
		limitation string
	}{
		"well": {func(*synthetic.Case) {}, ""},
		"one busy worker": {func(c *synthetic.Case) {
			edit(c, "worker/1", metric.WorkerCPU, times(4))
		}, "worker/1 needed 90 % of its CPUs, including time in the run queue; at most 50 % is recommended"},
		"one starved worker": {func(c *synthetic.Case) {
			edit(c, "worker/1", metric.WorkerRunQueue, times(7))
		}, "worker/1 needed 90 % of its CPUs, including time in the run queue; at most 50 % is recommended"},
		"not measured": {func(c *synthetic.Case) {
			for i, f := range c.Frames {
				if f.Source == "worker/0" {
					c.Frames[i].Points = slices.DeleteFunc(f.Points, func(p metric.Point) bool { return p.Series.Name == metric.WorkerCPU })
				}
			}
		}, "worker/0 did not report its CPU time"},
		"as the profile allows": {func(c *synthetic.Case) {
			edit(c, "worker/1", metric.WorkerCPU, times(4))
			c.Run.Plan.Profile.Rules.GeneratorCPU = new(0.95)
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := healthy()
			tt.change(c)
			v := Judge(c.Record())
			r := ruleOf(t, v, "generator-cpu")
			if v.Outcome != Pass || r.Outcome != Pass || r.Limitation != tt.limitation || !strings.Contains(r.Advice, "at most 50 %") {
				t.Errorf("%v; %+v", v.Outcome, r)
			}
			if found := slices.Contains(v.Limitations, tt.limitation); found != (tt.limitation != "") {
				t.Errorf("limitations %q", v.Limitations)
			}
		})
	}
}
