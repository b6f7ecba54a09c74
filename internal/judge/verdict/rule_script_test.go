package verdict

import (
	"slices"
	"strings"
	"testing"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/rulebook"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/synthetic"
)

const thrownText = "ReferenceError: secret is not defined (pay.js:3:7)"

// endings are a system whose transactions end like this in so many of a hundred.
func endings(outcome string, inHundred int64) synthetic.System {
	return func(n int64) (float64, string) {
		if n*37%100 < inHundred {
			return 20, outcome
		}
		return synthetic.Healthy(n)
	}
}

// hungFrom hangs from a transaction on: 40 more are sent, and time out, while each VU waits. Later
// ones are not started.
func hungFrom(first int64) synthetic.System {
	return func(n int64) (float64, string) {
		switch {
		case n < first:
			return synthetic.Healthy(n)
		case n < first+40:
			return 20_000, synthetic.Hung
		}
		return 10_000, metric.Dropped
	}
}

// sequestered has an SLO on requests of a later step too, and a ledger, which have no data if
// nothing is completed.
func sequestered() spec.Profile {
	p := synthetic.Profile()
	p.Flows[0].SLOs = append(p.Flows[0].SLOs, synthetic.Percentile(metric.RequestDuration, 95, 250, metric.Label{Key: "name", Value: "later"}))
	return p
}

// What a system does not complete, and what a script does not send, or fails by itself.
func TestNothingCompletedAndNothingSent(t *testing.T) {
	for name, c := range map[string]struct {
		system  synthetic.System
		change  func(c *synthetic.Case)
		want    Outcome
		claim   string   // part of it
		omitted []string // reasons of what is left out
	}{
		"hangs from the window on": {
			system: hungFrom(150), want: Fail, claim: "transactions were not completed (40 timed out, 521 dropped)",
		},
		"hangs from the warm-up on: nothing is sent in the window": {
			system: hungFrom(1), want: Fail, claim: "600 of 600 transactions were not completed (600 dropped)",
		},
		"hangs, and the worker cannot end its transactions": {
			system: hungFrom(150), want: Fail, omitted: []string{"after-the-window"},
			change: func(c *synthetic.Case) {
				c.Run.Facts.Workers[0].Exit, c.Run.Facts.Workers[0].Error = "255", "a transaction cannot be interrupted"
				c.Run.Facts.Stopped = "worker/0 ended with status 255: a transaction cannot be interrupted"
			},
		},
		"hangs, and the generator has lost arrivals itself": {
			system: func(n int64) (float64, string) { return 10_000, metric.Dropped }, want: Invalid, claim: "the generator lost 600 of 600 arrivals",
			change: func(c *synthetic.Case) {
				edit(c, "worker/0", metric.ViolationsCleared, times(0))
				for i := range c.Frames {
					if n := pointsNamed(&c.Frames[i], metric.TransactionsScheduled); len(n) > 0 {
						c.Frames[i].Points = append(c.Frames[i].Points, metric.CounterPoint(metric.Of(metric.GeneratorDropped), n[0].Value), metric.CounterPoint(metric.Of(metric.GeneratorUndone), n[0].Value))
					}
				}
			},
		},
		"the script throws before it sends anything": {
			system: endings(synthetic.Threw, 100), want: Invalid,
			claim: "synthetic cannot be judged: the script sent nothing in any of 750 transactions: no request, no statement, and no attempt to connect: " + thrownText, omitted: []string{"script-errors"},
		},
		"the script throws before it sends anything, in 30 of 100": {
			system: endings(synthetic.Threw, 30), want: Invalid,
			claim: "the script itself failed 180 of 600 transactions: " + thrownText, omitted: []string{"script-errors"},
		},
		"the script throws after requests that succeed": {
			system: endings(synthetic.OwnError, 100), want: Invalid,
			claim: "the script decides the verdict: transaction_duration p(95)<250 has 600 violations, at least 0 without the script's own errors, 30 allowed; the script itself failed 600 of 600 transactions: " + thrownText, omitted: []string{"script-errors"},
		},
		"the script asks for what is no request": {
			system: endings(metric.Failed, 100), want: Invalid,
			claim: "the script itself failed 600 of 600 transactions: 600 of its requests were invalid, such as a URL without a scheme, and were not sent (smoke", omitted: []string{"script-errors"},
			change: func(c *synthetic.Case) {
				edit(c, "worker/0", metric.ViolationsCleared, times(0))
				for i := range c.Frames {
					for _, n := range pointsNamed(&c.Frames[i], metric.TransactionsScheduled) {
						c.Frames[i].Points = append(c.Frames[i].Points, metric.CounterPoint(metric.Of(metric.ScriptFailed), n.Value), metric.CounterPoint(metric.Of(metric.GeneratorUndone), n.Value),
							metric.CounterPoint(metric.Of(metric.ErrorsByClass, "where", metric.AtClient, "class", metric.ErrorRequest), n.Value))
					}
				}
			},
		},
		"the script throws over the answers": {
			system: endings(metric.Failed, 100), want: Fail, claim: "(600 failed, most frequent error: script error: " + thrownText + ")",
			change: func(c *synthetic.Case) {
				for i := range c.Frames {
					for _, n := range pointsNamed(&c.Frames[i], metric.TransactionsScheduled) {
						c.Frames[i].Points = append(c.Frames[i].Points, metric.CounterPoint(metric.Of(metric.ErrorsByClass, "where", metric.AtClient, "class", metric.ErrorScript), 2*n.Value))
					}
				}
			},
		},
		"the script throws once, which decides nothing": {
			system: func(n int64) (float64, string) {
				if n == 400 {
					return 20, synthetic.OwnError
				}
				return synthetic.Healthy(n)
			}, want: Pass, omitted: []string{"script-errors"},
		},
		"the script throws, and the system is too slow by itself": {
			system: func(n int64) (float64, string) {
				if n%5 == 0 {
					return 20, synthetic.OwnError
				}
				return 400, metric.Completed
			}, want: Fail, omitted: []string{"script-errors"},
		},
		"the script completes, and sends nothing": {
			system: endings(synthetic.Idle, 100), want: Invalid, claim: "the script sent nothing in any of 750 transactions",
		},
		"the script sends in setup() and in the warm-up alone": {
			system: func(n int64) (float64, string) {
				if n <= 20 {
					return synthetic.Healthy(n)
				}
				return 1, synthetic.Idle
			}, want: Invalid, claim: "the script sent nothing in 600 of 600 transactions",
		},
		"the script sends nothing in 5 of 100": {
			system: endings(synthetic.Idle, 5), want: Invalid, claim: "the script sent nothing in 30 of 600 transactions",
		},
		"the script sends nothing in 5 of 600": {
			system: func(n int64) (float64, string) {
				if n%120 == 5 {
					return 1, synthetic.Idle
				}
				return synthetic.Healthy(n)
			}, want: Pass,
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := synthetic.Profile()
			if c.want == Fail {
				p = sequestered()
			}
			p.Flows[0].SLOs = p.Flows[0].SLOs[:len(p.Flows[0].SLOs):len(p.Flows[0].SLOs)]
			if c.want == Pass {
				p.Flows[0].SLOs = p.Flows[0].SLOs[:6] // without the maximum, which one transaction decides
			}
			run := synthetic.New(p, 1, c.system)
			run.Run.Facts.Workers[0].Thrown = thrownText
			if c.change != nil {
				c.change(run)
			}
			v := Judge(run.Record())
			if v.Outcome != c.want || !strings.Contains(v.Claim, c.claim) {
				t.Errorf("%v: %s\nwant %v: %s", v.Outcome, v.Claim, c.want, c.claim)
			}
			var omitted []string
			for _, o := range v.LeftOut {
				if o.Reason == "script-errors" || o.Reason == "after-the-window" {
					omitted = append(omitted, o.Reason)
				}
			}
			if strings.Join(omitted, " ") != strings.Join(c.omitted, " ") {
				t.Errorf("left out: %q, want %q", omitted, c.omitted)
			}
			for _, r := range v.Rules { // the rule script alone is about what the script does
				if r.Outcome == Invalid && !slices.Contains([]string{rulebook.Script, rulebook.GeneratorDrops, rulebook.GeneratorLag, rulebook.Data}, r.ID) {
					t.Errorf("%s: %s", r.ID, r.Detail)
				}
			}
		})
	}
}

// A flow that hangs fails the run, whose other flow is healthy.
func TestOneFlowHangs(t *testing.T) {
	slo := synthetic.Percentile(metric.RequestDuration, 95, 250)
	p := spec.Profile{Name: "mix", Flows: []spec.Flow{flowOf("a", slo), flowOf("b", slo)}}
	v := Judge(withFlows(p, synthetic.Healthy, hungFrom(1)).Record())
	if v.Outcome != Fail || v.Flows[0].Outcome != Pass || v.Flows[1].Outcome != Fail {
		t.Errorf("%v (%v, %v): %s", v.Outcome, v.Flows[0].Outcome, v.Flows[1].Outcome, v.Claim)
	}
	v = Judge(withFlows(p, synthetic.Healthy, endings(synthetic.Threw, 100)).Record())
	if v.Outcome != Invalid || v.Flows[0].Outcome != Pass || !strings.Contains(v.Claim, "b: the script sent nothing") {
		t.Errorf("%v (%v): %s", v.Outcome, v.Flows[0].Outcome, v.Claim)
	}
}

// What ends badly after the judged windows is said, and costs the verdict only where the ledger
// may depend on it.
func TestBadEndsAfterTheWindows(t *testing.T) {
	threw := "Error: cannot clean up (pay.js:9:3)"
	for name, c := range map[string]struct {
		exit, error string
		stopped     string // empty: by this worker
		ledger      bool
		want        Outcome
		text        string
	}{
		"teardown() throws":                        {exit: "107", error: threw, want: Pass, text: "after the judged windows: teardown() failed: " + threw},
		"teardown() takes too long":                {exit: "101", error: "it timed out", want: Pass, text: "after the judged windows: teardown() failed: it timed out"},
		"teardown() throws, with a ledger":         {exit: "107", error: threw, ledger: true, want: Invalid, text: "teardown() failed: " + threw + "; the ledger may depend on it"},
		"teardown() stops the test, with a ledger": {exit: "108", error: "test aborted: no at teardown (pay.js:9:3)", ledger: true, want: Invalid, text: "the ledger may depend on it"},
		"a transaction stops the test":             {exit: "108", error: "test aborted: done at default (pay.js:4:1)", ledger: true, want: Pass, text: "after the judged windows: the script stopped the test: test aborted: done at default (pay.js:4:1)"},
		"the script fails the test":                {exit: "110", want: Pass, text: "after the judged windows: the script marked the test as failed"},
		"the user interrupts it":                   {exit: "105", error: "test run was aborted", stopped: "interrupted", want: Pass, text: "after the judged windows: the run was stopped: interrupted"},
		"all SLOs were decided at a look":          {exit: "105", error: "test run was aborted", stopped: "-", want: Pass},
		"they were, and teardown() throws":         {exit: "107", error: threw, stopped: "-", want: Pass, text: "after the judged windows: teardown() failed: " + threw},
	} {
		t.Run(name, func(t *testing.T) {
			p := synthetic.Profile()
			if !c.ledger {
				p.Flows[0].Ledger = nil
				p.Flows[0].SLOs = p.Flows[0].SLOs[:2:2]
			}
			run := synthetic.New(p, 1, synthetic.Healthy)
			f := &run.Run.Facts
			f.Workers[0].Exit, f.Workers[0].Error = c.exit, c.error
			if f.Stopped = c.stopped; c.stopped == "" {
				f.Stopped = strings.TrimSuffix("worker/0 ended with status "+c.exit+": "+c.error, ": ")
			} else if c.stopped == "-" {
				f.Stopped = ""
			}
			v := Judge(run.Record())
			if v.Outcome != c.want {
				t.Errorf("%v: %s", v.Outcome, v.Claim)
			}
			said, listed := strings.Join(v.Limitations, "\n")+"\n"+v.Claim, ""
			for _, o := range v.LeftOut {
				listed += o.Reason + ": " + o.What
			}
			if c.text != "" && (!strings.Contains(said, c.text) || !strings.Contains(listed, "after-the-window: ")) || c.text == "" && strings.Contains(said+listed, "after the judged") {
				t.Errorf("said:\n%s\nlisted: %s\nwant %s", said, listed, c.text)
			}
			if claimed := strings.Contains(v.Claim, "the script marked the test as failed"); claimed != (c.exit == "110") {
				t.Errorf("claim: %s", v.Claim)
			}
		})
	}
	// Before the end of the windows, the run cannot be judged at all.
	run := synthetic.New(synthetic.Profile(), 1, synthetic.Healthy)
	stopAt(run, 30, "interrupted")
	if v := Judge(run.Record()); v.Outcome != Invalid || slices.ContainsFunc(v.LeftOut, func(o certificate.Omission) bool { return o.Reason == "after-the-window" }) {
		t.Errorf("%v: %v", v.Outcome, v.LeftOut)
	}
}
