package verdict

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/rulebook"
	"assay.dev/assay/internal/testing/synthetic"
)

// after is a time of the run, in s after its start.
func after(s float64) time.Time { return synthetic.T0.Add(time.Duration(s * float64(time.Second))) }

// inPods puts the workers into pods on nodes, which all end by themselves.
func inPods(c *synthetic.Case) {
	for i := range c.Run.Facts.Workers {
		w := &c.Run.Environment.Workers[i]
		w.Pod, w.Node = fmt.Sprintf("shop/load-%d", i), fmt.Sprintf("n%d", i)
		c.Run.Facts.Workers[i].Pod = &record.Pod{Name: w.Pod, Node: w.Node, Phase: "Succeeded", ExitCode: new(0)}
	}
}

// lose makes the cluster end a worker's pod, 31 s after the start.
func lose(c *synthetic.Case, i int, reason, message string) *record.Worker {
	w := &c.Run.Facts.Workers[i]
	w.Exit, w.Error = record.ExitLost, "not heard from for 30s"
	w.Pod.Phase, w.Pod.Reason, w.Pod.Message, w.Pod.ExitCode, w.Pod.At = "Failed", reason, message, nil, after(31.4)
	return w
}

// A worker that did not end by itself makes the run INVALID, by what is known of it.
func TestWorkerLost(t *testing.T) {
	for name, tt := range map[string]struct {
		change         func(c *synthetic.Case)
		detail, advice string
	}{
		"killed for want of memory": {func(c *synthetic.Case) {
			lose(c, 1, "OOMKilled", "Memory cgroup\nout of memory.").Pod.ExitCode = new(137)
		}, "worker/1 ran out of memory (OOMKilled) 31 s after the start (pod shop/load-1 on node n1, exit code 137): Memory cgroup out of memory", "more memory (--kubernetes-memory)"},
		"its k6 alone is killed for want of memory": {func(c *synthetic.Case) {
			w := lose(c, 1, "OOMKilled", "")
			w.Exit, w.Error = "signal: killed", ""
		}, "worker/1 ran out of memory (OOMKilled) 31 s after the start (pod shop/load-1 on node n1, signal: killed)", "more memory"},
		"evicted": {func(c *synthetic.Case) {
			lose(c, 0, "Evicted", "The node was low on resource: memory.")
		}, "worker/0 was evicted 31 s after the start (pod shop/load-0 on node n0): The node was low on resource: memory", "a priority class"},
		"preempted": {func(c *synthetic.Case) { lose(c, 0, "Preempted", "") }, "worker/0 was preempted 31 s after the start (pod shop/load-0 on node n0)", "a priority class"},
		"deleted":   {func(c *synthetic.Case) { lose(c, 0, "deleted", "") }, "worker/0 was deleted 31 s after the start (pod shop/load-0 on node n0)", "who deletes the workers' pods"},
		"for another reason": {func(c *synthetic.Case) {
			lose(c, 0, "NodeShutdown", "Pod was terminated in response to imminent node shutdown.")
		}, "worker/0 was ended (NodeShutdown) 31 s after the start (pod shop/load-0 on node n0): Pod was terminated in response to imminent node shutdown", "events of the pod"},
		"although it ended with 0": {func(c *synthetic.Case) {
			w := lose(c, 0, "deleted", "")
			w.Exit, w.Error, w.Pod.ExitCode = "0", "", new(0)
		}, "worker/0 was deleted 31 s after the start (pod shop/load-0 on node n0, exit code 0)", "who deletes"},
		"before the start, on an unknown node, after a restart": {func(c *synthetic.Case) {
			w := lose(c, 0, "Evicted", "")
			w.Pod.At, w.Pod.Node, w.Pod.Restarts, c.Run.Environment.Workers[0].Node = after(-2), "", 1, ""
		}, "worker/0 was evicted 2 s before the start (pod shop/load-0, restarted once)", "a priority class"},
		"restarted": {func(c *synthetic.Case) {
			c.Run.Facts.Workers[1].Pod.Restarts = 2
		}, "worker/1 was restarted 2 times (pod shop/load-1 on node n1, exit code 0)", "kubectl logs --previous"},
		"lost, and its pod runs": {func(c *synthetic.Case) {
			lose(c, 1, "", "").Pod.At = time.Time{}
		}, "worker/1 was lost (pod shop/load-1 on node n1): not heard from for 30s", "in its log"},
		"its pod is known from the facts only": {func(c *synthetic.Case) {
			lose(c, 1, "deleted", "")
			c.Run.Environment.Workers[1].Pod, c.Run.Environment.Workers[1].Node = "", ""
		}, "worker/1 was deleted 31 s after the start (pod shop/load-1 on node n1)", "who deletes"},
		"lost, without pods": {func(c *synthetic.Case) {
			c.Run.Facts.Workers[0] = record.Worker{Source: "worker/0", Exit: record.ExitLost, Error: "not heard from for 30s"}
			c.Run.Environment.Workers[0].Pod = ""
		}, "worker/0 on synthetic was lost: not heard from for 30s", "in its log"},
		"killed, without pods, which stops the run": {func(c *synthetic.Case) {
			c.Run.Facts.Workers[0] = record.Worker{Source: "worker/0", Exit: "signal: killed"}
			c.Run.Environment.Workers[0].Pod = ""
			c.Run.Facts.Stopped, c.Run.Facts.Ended = "worker/0 ended: signal: killed", after(20)
		}, "worker/0 on synthetic was killed 20 s after the start (signal: killed)", "in its log"},
	} {
		t.Run(name, func(t *testing.T) {
			c := healthy()
			inPods(c)
			tt.change(c)
			v := Judge(c.Record())
			r := ruleOf(t, v, "worker-lost")
			if v.Outcome != Invalid || r.Outcome != Invalid || *r.Observed != 1 || *r.Limit != 0 || r.Detail != tt.detail {
				t.Errorf("%v; %s by %v: %s", v.Outcome, r.Outcome, r.Observed, r.Detail)
			}
			if !strings.Contains(r.Advice, tt.advice) {
				t.Errorf("advice: %s", r.Advice)
			}
			if !strings.HasPrefix(v.Claim, "synthetic cannot be judged: "+tt.detail) {
				t.Errorf("claim: %s", v.Claim)
			}
		})
	}
}

// The first of several lost workers is the cause, and so is what stopped the run before
// any was lost.
func TestFirstLostWorkerIsNamedFirst(t *testing.T) {
	killed := func(c *synthetic.Case, workers ...int) {
		for _, i := range workers {
			c.Run.Facts.Workers[i].Exit = "signal: killed"
		}
	}
	for name, tt := range map[string]struct {
		change func(c *synthetic.Case)
		lost   float64
		detail string
		advice string
	}{
		"the later one has the lower number": {func(c *synthetic.Case) {
			lose(c, 0, "deleted", "").Pod.At = after(35)
			lose(c, 2, "OOMKilled", "")
		}, 2, "worker/2 ran out of memory (OOMKilled) 31 s after the start (pod shop/load-2 on node n2); worker/0 was deleted 35 s after", "more memory"},
		"the others are deleted after the run is stopped": {func(c *synthetic.Case) {
			killed(c, 1)
			c.Run.Facts.Stopped, c.Run.Facts.Ended = "worker/1 ended: signal: killed", after(30)
			lose(c, 0, "deleted", "")
			lose(c, 2, "deleted", "")
		}, 3, "worker/1 was killed 30 s after the start (pod shop/load-1 on node n1, exit code 0, signal: killed); worker/0 was deleted 31 s", "in its log"},
		"the cluster's reason is seen after the run is stopped": {func(c *synthetic.Case) {
			lose(c, 1, "OOMKilled", "").Pod.At = after(33)
			c.Run.Facts.Stopped, c.Run.Facts.Ended = "worker/1 is lost: not heard from for 30s", after(30)
			lose(c, 0, "deleted", "")
		}, 2, "worker/1 ran out of memory (OOMKilled) 30 s after the start (pod shop/load-1 on node n1); worker/0 was deleted 31 s", "more memory"},
		"it is not known when": {func(c *synthetic.Case) {
			killed(c, 0, 2)
			lose(c, 1, "Evicted", "")
		}, 3, "worker/1 was evicted 31 s after the start (pod shop/load-1 on node n1); worker/0 was killed (pod shop/load-0 on node n0, exit code 0, signal: killed); worker/2 was killed (", "a priority class"},
		"interrupted, then killed": {func(c *synthetic.Case) {
			killed(c, 0, 1, 2)
			c.Run.Facts.Interrupted, c.Run.Facts.Ended = true, after(20)
		}, 3, "the run was stopped (interrupted), then worker/0 was killed (", "Remove what stopped it"},
		"another worker ended by itself, with an error": {func(c *synthetic.Case) {
			c.Run.Facts.Workers[2].Exit = "108"
			killed(c, 0)
			c.Run.Facts.Stopped, c.Run.Facts.Ended = "worker/2 ended with status 108: no stock", after(20)
		}, 1, "the run was stopped (worker/2 ended with status 108: no stock), then worker/0 was killed (", "Remove what stopped it"},
		"stopped after a worker was lost": {func(c *synthetic.Case) {
			lose(c, 1, "Evicted", "")
			c.Run.Facts.Stopped, c.Run.Facts.Ended = "interrupted", after(40)
		}, 1, "worker/1 was evicted 31 s after", "a priority class"},
	} {
		t.Run(name, func(t *testing.T) {
			c := synthetic.New(synthetic.Profile(), 3, synthetic.Healthy)
			inPods(c)
			tt.change(c)
			v := Judge(c.Record())
			if r := ruleOf(t, v, "worker-lost"); r.Outcome != Invalid || *r.Observed != tt.lost || !strings.HasPrefix(r.Detail, tt.detail) || !strings.Contains(r.Advice, tt.advice) {
				t.Errorf("%s by %v: %s. %s", r.Outcome, *r.Observed, r.Detail, r.Advice)
			}
		})
	}
}

// What a lost worker did not report breaks other rules, which refer to the one that says
// why.
func TestLostWorkerIsExplainedOnce(t *testing.T) {
	c := healthy()
	inPods(c)
	lose(c, 1, "OOMKilled", "Memory cgroup out of memory")
	c.Run.Facts.Stopped, c.Run.Facts.Ended = "worker/1 is lost: its pod was OOMKilled", after(32)
	drop(c, func(f metric.Frame) bool { return f.Source == "worker/1" && f.Sequence > 31 })
	v := Judge(c.Record())
	for id, detail := range map[string]string{
		"complete":   "the run ended after 16 of the 30 judged seconds: worker/1 was lost",
		"frames":     "worker/1 did not report to its end",
		"seeded":     "the plan's seed is 1: worker/1 did not report to its end, where it names its seed",
		"start-skew": "worker/1 did not report to its end, where it names the delay of its first arrival",
	} {
		if r := ruleOf(t, v, id); r.Outcome != Invalid || r.Detail != detail || r.Advice != rulebook.See(rulebook.WorkerLost) {
			t.Errorf("%s is %v: %s. %s", id, r.Outcome, r.Detail, r.Advice)
		}
	}
	if n := strings.Count(v.Claim, "OOMKilled"); n != 1 {
		t.Errorf("claim: %s", v.Claim)
	}
}

// Workers that ended by themselves, in pods or not, are not lost; how they ended may not be
// known.
func TestWorkersThatEndedByThemselves(t *testing.T) {
	for name, tt := range map[string]struct {
		change   func(c *synthetic.Case)
		observed *float64
		detail   string
	}{
		"in pods": {inPods, new(0.0), "every worker ended by itself"},
		"in pods that still run": {func(c *synthetic.Case) {
			inPods(c)
			c.Run.Facts.Workers[0].Pod.Phase, c.Run.Facts.Workers[0].Pod.ExitCode = "Running", nil
		}, new(0.0), "every worker ended by itself"},
		"with an error": {func(c *synthetic.Case) { c.Run.Facts.Workers[0].Exit = "2" }, new(0.0), "every worker ended by itself"},
		"one is not known": {func(c *synthetic.Case) {
			c.Run.Facts.Workers = c.Run.Facts.Workers[:1]
		}, nil, "it is not known how each worker ended"},
		"another than the plan's": {func(c *synthetic.Case) {
			c.Run.Facts.Workers = append(c.Run.Facts.Workers, record.Worker{Source: "worker/7", Exit: record.ExitLost})
		}, new(0.0), "every worker ended by itself"},
	} {
		c := healthy()
		tt.change(c)
		v := Judge(c.Record())
		r := ruleOf(t, v, "worker-lost")
		if v.Outcome != Pass || r.Outcome != Pass || r.Detail != tt.detail || (r.Observed == nil) != (tt.observed == nil) || r.Observed != nil && *r.Observed != *tt.observed {
			t.Errorf("%s: %v; %+v", name, v.Outcome, r)
		}
	}
}

// anyEnd draws how workers ended and were throttled, without pods.
func anyEnd(rt *rapid.T, c *synthetic.Case) {
	exits := rapid.SampledFrom([]string{"0", "0", "0", "1", "closed", "signal: killed", record.ExitLost})
	for i := range c.Run.Facts.Workers {
		c.Run.Facts.Workers[i].Exit = exits.Draw(rt, "exit")
		if w := c.Run.Facts.Workers[i].Source; rapid.Bool().Draw(rt, "with a quota") {
			stopped(c, w, w, rapid.Float64Range(0, 0.1).Draw(rt, "throttled, s"))
		}
	}
	if rapid.IntRange(0, 3).Draw(rt, "displaced") == 0 {
		displace(c, 20, rapid.Float64Range(0, 20).Draw(rt, "slots"))
	}
	stops := []string{"", "", "worker/0 ended: signal: killed", "worker/0 is lost", "interrupted"}
	if why := rapid.SampledFrom(stops).Draw(rt, "stopped"); why != "" {
		c.Run.Facts.Stopped, c.Run.Facts.Ended = why, after(rapid.Float64Range(0, 60).Draw(rt, "at"))
	}
}

// causes are the rules that name the cause of what others find.
var causes = []string{"worker-lost", "cpu-throttled"}

// worstOf is the outcome of a verdict without some rules.
func worstOf(v Verdict, without ...string) Outcome {
	worst := Pass
	for _, s := range v.SLOs {
		worst = Worse(worst, s.Outcome)
	}
	for _, r := range v.Rules {
		if !slices.Contains(without, r.ID) {
			worst = Worse(worst, r.Outcome)
		}
	}
	return worst
}

// Without pods, the rules that name causes change no outcome: what they name breaks another
// rule too. A lost worker is named before everything else.
func TestCausesChangeNoOutcomeWithoutPods(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := anyCase(rt)
		anyEnd(rt, c)
		v := Judge(c.Record())
		if want := worstOf(v, causes...); v.Outcome != want {
			rt.Errorf("%v, without the two rules %v: %s", v.Outcome, want, v.Claim)
		}
		lost := ruleOf(t, v, "worker-lost")
		if lost.Outcome == Invalid && !strings.HasPrefix(v.Claim, "synthetic cannot be judged: "+lost.Detail) {
			rt.Errorf("%s; the claim is: %s", lost.Detail, v.Claim)
		}
	})
}

// Pods that ended by themselves change no outcome either, and one that did not leaves no
// run to be judged.
func TestPodsNeverImproveTheOutcome(t *testing.T) {
	reasons := rapid.SampledFrom([]string{"", "", "OOMKilled", "Evicted", "Preempted", "deleted", "NodeShutdown"})
	rapid.Check(t, func(rt *rapid.T) {
		c := anyCase(rt)
		anyEnd(rt, c)
		before := Judge(c.Record())
		inPods(c)
		lost := false
		for i := range c.Run.Facts.Workers {
			p := c.Run.Facts.Workers[i].Pod
			p.Reason, p.Restarts = reasons.Draw(rt, "reason"), rapid.SampledFrom([]int{0, 0, 1}).Draw(rt, "restarts")
			if p.Reason != "" && rapid.Bool().Draw(rt, "when") {
				p.At = after(rapid.Float64Range(-10, 60).Draw(rt, "at"))
			}
			lost = lost || p.Reason != "" || p.Restarts > 0
		}
		after := Judge(c.Record())
		switch {
		case !lost && after.Outcome != before.Outcome:
			rt.Errorf("%v becomes %v", before.Outcome, after.Outcome)
		case lost && (after.Outcome != Invalid || ruleOf(t, after, "worker-lost").Outcome != Invalid):
			rt.Errorf("a worker is lost, and the run is %v", after.Outcome)
		}
	})
}
