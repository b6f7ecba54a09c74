package verdict

import (
	"slices"
	"strings"
	"testing"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/rulebook"
	"assay.dev/assay/internal/testing/synthetic"
)

// withPoints adds points to each frame of the workers but the closing ones.
func withPoints(c *synthetic.Case, points ...metric.Point) {
	for i := range c.Frames {
		if f := &c.Frames[i]; !f.Closing && strings.HasPrefix(f.Source, metric.SourceWorker) {
			f.Points = append(f.Points, points...)
		}
	}
}

// Transactions that fail for what the generator's host has not got make a run INVALID, never
// FAIL, with what to change; the system's own failures are still its own.
func TestLacksAreTheGenerators(t *testing.T) {
	failing := func(n int64) (float64, string) {
		if n > before && n%4 == 0 {
			return 5, metric.Failed
		}
		return 60, metric.Completed
	}
	for name, c := range map[string]struct {
		class          string
		system         bool // it fails by itself too
		want           Outcome
		detail, advice string
	}{
		"no ports":       {metric.ErrorNoPort, false, Invalid, "no free local port of 28232 (net.ipv4.ip_local_port_range), up to 28000 connections in TIME_WAIT", "sysctl -w net.ipv4.ip_local_port_range"},
		"no descriptors": {metric.ErrorOpenFiles, false, Invalid, "too many open files, of which a worker may have 1024", "ulimit -Hn"},
		"no memory":      {metric.ErrorNoMemory, false, Invalid, "no memory for a connection", "more memory"},
		"no names":       {metric.ErrorDNS, false, Invalid, "names were not resolved", "/etc/resolv.conf"},
		"and the system": {metric.ErrorNoPort, true, Fail, "no free local port", ""},
	} {
		t.Run(name, func(t *testing.T) {
			run := synthetic.New(synthetic.Profile(), 1, failing)
			withPoints(run, metric.GaugePoint(metric.Of(metric.WorkerPorts), 28232), metric.GaugePoint(metric.Of(metric.WorkerTimeWait), 28000), metric.GaugePoint(metric.Of(metric.WorkerDescriptors), 1024))
			for i := range run.Frames {
				f := &run.Frames[i]
				failed := 0.0
				for j, p := range f.Points {
					switch {
					case p.Series.Name == metric.Transactions && p.Series.Label("outcome") == metric.Failed:
						failed = p.Value
					case p.Series.Name == metric.ViolationsCleared && !c.system:
						f.Points[j].Value = 0
					}
				}
				if failed == 0 {
					continue
				}
				own := failed
				if c.system {
					own = 1
				}
				f.Points = append(f.Points, metric.CounterPoint(metric.Of(metric.GeneratorLacks, "class", c.class), own), metric.CounterPoint(metric.Of(metric.GeneratorUndone), own))
			}
			v := Judge(run.Record())
			i := slices.IndexFunc(v.Rules, func(r Rule) bool { return r.ID == rulebook.GeneratorDrops })
			r := v.Rules[i]
			if v.Outcome != c.want || !strings.Contains(r.Detail, c.detail) || !strings.Contains(r.Advice, c.advice) {
				t.Errorf("%s: %s\n%s\n%s", v.Outcome, v.Claim, r.Detail, r.Advice)
			}
			listed := slices.IndexFunc(v.LeftOut, func(o certificate.Omission) bool { return o.Reason == "generator-errors" && *o.Failed > 0 })
			if listed < 0 || !v.LeftOut[listed].Weighs {
				t.Errorf("%+v: %s", v.LeftOut, v.Claim)
			}
		})
	}
}

// Time that the script itself took is named: where it decides, where a run passes with much of
// it, and not where it is little. Think time is listed.
func TestScriptAndThinkTimeAreNamed(t *testing.T) {
	for name, c := range map[string]struct {
		system     float64 // ms
		script     float64
		want       Outcome
		named, own bool
	}{
		"it decides":               {5, 290, Invalid, true, true},
		"much, and the run passes": {60, 80, Pass, true, false},
		"little":                   {60, 2, Pass, false, false},
		"the system is slow too":   {400, 80, Fail, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := synthetic.Profile()
			run := synthetic.NewWith(p, 1, func(int64) (float64, string) { return c.system, metric.Completed }, func(int64) (float64, float64) { return 0.1, 0 })
			if c.own { // the script's time is in the latency, and in what is cleared of it
				run = synthetic.NewWith(p, 1, func(int64) (float64, string) { return c.system, metric.Completed }, func(int64) (float64, float64) { return 0.1, c.script })
			}
			script, think := &metric.Hist{}, &metric.Hist{}
			script.Record(c.script, 20)
			think.Record(500, 4)
			withPoints(run, metric.HistPoint(metric.NewSeries(metric.ScriptTime, "ms"), script), metric.HistPoint(metric.NewSeries(metric.ThinkTime, "ms"), think))
			v := Judge(run.Record())
			text := v.Claim + strings.Join(v.Limitations, "\n")
			if v.Outcome != c.want || strings.Contains(text, "the script itself (JavaScript") != c.named {
				t.Errorf("%s: %s\n%s", v.Outcome, v.Claim, strings.Join(v.Limitations, "\n"))
			}
			var reasons []string
			for _, o := range v.LeftOut {
				reasons = append(reasons, o.Reason)
				if o.Reason == "think-time" && (*o.Transactions != 4*30 || *o.Seconds < 59.9 || *o.Seconds > 60.1) {
					t.Errorf("%+v", o)
				}
			}
			if !slices.Contains(reasons, "think-time") || slices.Contains(reasons, "script-time") != c.named {
				t.Errorf("left out: %q", reasons)
			}
		})
	}
}
