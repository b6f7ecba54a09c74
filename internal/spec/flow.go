// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Flow is one kind of a profile's traffic, such as the payments of a match day. The flows
// of a profile run side by side, on the same workers and on one clock.
type Flow struct {
	Name     string        `json:"name"`               // empty: the profile has no other, and the file does not name it
	Scenario string        `json:"scenario"`           // path of the k6 script, relative to thresholds.json
	Load     Load          `json:"load"`               // its own, or its share of the profile's
	Timeout  time.Duration `json:"timeout_ns"`         // a transaction that takes longer, counted from its scheduled arrival, is timed out
	Think    time.Duration `json:"think_ns,omitempty"` // longest time that a transaction waits by think(), which counts neither as its latency nor towards the timeout
	SLOs     []SLO         `json:"slos"`               // sorted by metric, then by place in the file
	Ledger   *Ledger       `json:"ledger,omitempty"`
}

// MaxFlows is the largest number of flows of a profile (ours): each has a schedule, VUs and
// a row in the certificate.
const MaxFlows = 20

// flowName restricts names of flows to what k6 allows for scenarios.
var flowName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$`)

// Named reports whether the file names the profile's flows, which are then judged one by one
// beside the whole run.
func (p Profile) Named() bool { return len(p.Flows) > 0 && p.Flows[0].Name != "" }

// WholeSLOs are the SLOs of the whole run: those of a flow without a name, or those that all
// flows have in common.
func (p Profile) WholeSLOs() []SLO {
	if !p.Named() && len(p.Flows) > 0 {
		return p.Flows[0].SLOs
	}
	return p.Common
}

// AllSLOs are the SLOs of the profile and of its flows.
func (p Profile) AllSLOs() []SLO {
	all := slices.Clone(p.Common)
	for _, f := range p.Flows {
		all = append(all, f.SLOs...)
	}
	return all
}

// Alone is the profile with one of its flows alone, which has no name. Invariants, like all
// else that flows have in common, stay with the whole.
func (p Profile) Alone(f Flow) Profile {
	if p.Named() {
		p.Common, p.Invariants = nil, nil
	}
	f.Name = ""
	p.Flows = []Flow{f}
	return p
}

// WithFlows is the profile with each of its flows changed.
func (p Profile) WithFlows(change func(*Flow)) Profile {
	p.Flows = slices.Clone(p.Flows)
	for i := range p.Flows {
		change(&p.Flows[i])
	}
	return p
}

// Title names the profile, or with a flow that has a name that too.
func (p Profile) Title(f Flow) string {
	if f.Name != "" {
		return p.Name + ", flow " + f.Name
	}
	return p.Name
}

// HasStages reports whether the load of one of the flows is an event's shape, which has no
// hold.
func (p Profile) HasStages() bool {
	return slices.ContainsFunc(p.Flows, func(f Flow) bool { return len(f.Load.Stages) > 0 })
}

// Unit is that of the profile's rates; of flows with different ones, transactions.
func (p Profile) Unit() string {
	unit := ""
	for _, f := range p.Flows {
		if unit != "" && f.Load.Unit != unit {
			return DefaultUnit
		}
		unit = f.Load.Unit
	}
	return unit
}

// Level is the profile with the stages of an event's shape replaced by one hold at the
// target of each flow, judged by the SLOs that do not depend on stages.
func (p Profile) Level(hold time.Duration) Profile {
	return p.WithFlows(func(f *Flow) {
		if len(f.Load.Stages) == 0 {
			return
		}
		target := f.Load.Highest()
		f.Load = Load{
			Unit: f.Load.Unit, Target: target, Warmup: DefaultWarmup, Baseline: Baseline{Rate: target * DefaultBaselineShare, For: DefaultBaselineFor},
			Ramp: DefaultRamp, Hold: hold, Cooldown: DefaultCooldown, Even: f.Load.Even,
		}
		f.SLOs = slices.DeleteFunc(slices.Clone(f.SLOs), SLO.OfStages)
	})
}

// namedFlows reads a profile that names its flows, each with its own scenario.
func (r *reader) namedFlows(n *node, p *Profile) {
	flows := n.get("flows")
	timeout := r.timeout(n.get("timeout"))
	load := n.get("load")
	whole := r.load(load)
	r.refuseHoldMax(load, whole)
	if slo := n.get("slo"); slo != nil {
		p.Common = r.slos(slo)
		for _, c := range slo.children {
			if !(SLO{Metric: metricOf(c.name)}).ofRun() {
				r.failKey(c, fmt.Sprintf("%s is judged for each flow", metricOf(c.name)), `move it to "slo" of the flows for which it must hold`)
			}
		}
	}
	if !r.is(flows, jsontext.KindBeginObject, exampleOf(flows)) {
		return
	}
	if len(flows.children) == 0 || len(flows.children) > MaxFlows {
		r.fail(flows, fmt.Sprintf("has %d flows: want 1 to %d", len(flows.children), MaxFlows), "add "+example["flows"])
	}
	shares, shared := 0.0, 0
	for _, c := range flows.children {
		if !flowName.MatchString(c.name) {
			r.failKey(c, fmt.Sprintf("flow name %s: want 1 to 32 letters, digits, hyphens or underscores, beginning with a letter or digit", quote(c.name)), "")
		}
		share := c.get("share")
		if share != nil {
			shared++
			shares += r.shareOf(share)
		}
		p.Flows = append(p.Flows, r.flow(c, timeout, load, whole))
	}
	switch {
	case load != nil && shared == 0 && flows.validTree():
		r.fail(load, "no flow has a share of the profile's load", `give flows "share", or remove the load`)
	case shared > 0 && flows.validTree() && math.Abs(shares-1) > 1e-6:
		r.fail(flows, fmt.Sprintf("the shares of the flows add up to %g", math.Round(shares*1e6)/1e6), "make them add up to 1")
	}
}

// flow reads a flow. load is the profile's, of which it may have a share; nil if there is
// none.
func (r *reader) flow(n *node, timeout time.Duration, load *node, whole Load) Flow {
	f := Flow{Name: n.name, Timeout: timeout}
	if !r.object(n, []string{"scenario", "slo"}, []string{"load", "share", "timeout", "think", "ledger"}) {
		return f
	}
	f.Scenario = r.scenario(n.get("scenario"))
	own, share := n.get("load"), n.get("share")
	switch {
	case own != nil && share != nil:
		r.failKey(share, `"load" and "share" are mutually exclusive`, "a flow has either a load of its own, or a share of the profile's")
	case own == nil && share == nil && !n.mayHave("load") && !n.mayHave("share"):
		r.fail(n, `want "load" or "share"`, "add "+example["load"]+`, or a share of the profile's load, for example "share": 0.9`)
	case share != nil && load == nil && !n.parent.parent.mayHave("load"):
		r.fail(share, `the profile has no "load" to have a share of`, "add "+example["load"]+" to the profile")
	case own != nil:
		f.Load = r.load(own)
		r.refuseHoldMax(own, f.Load)
	case share != nil:
		f.Load = whole.scaled(r.shareOf(share))
		if load != nil && load.validTree() && !share.bad {
			for _, problem := range f.Load.check(load.valid) {
				r.fail(share, "its share of the load: "+problem.problem, problem.hint)
				break
			}
		}
	}
	if c := n.get("timeout"); c != nil {
		f.Timeout = r.timeout(c)
	}
	f.Think = r.think(n.get("think"))
	f.Ledger = r.ledger(n.get("ledger"))
	f.SLOs = r.slos(n.get("slo"))
	for i := range f.SLOs {
		f.SLOs[i].Flow = f.Name
	}
	for _, c := range nodesOf(n.get("slo")) {
		if s := (SLO{Metric: metricOf(c.name)}); s.ofRun() {
			r.failKey(c, fmt.Sprintf("%s is judged for the whole run", s.Metric), `move it to "slo" of the profile`)
		}
	}
	if share == nil || load != nil && load.validTree() {
		r.checkOverload(n, f.Load, f.SLOs)
	}
	return f
}

// shareOf reads a share above 0; 0 if it is wrong, or missing.
func (r *reader) shareOf(n *node) float64 {
	if n == nil || n.bad {
		return 0
	}
	v := r.share(n)
	if v != nil && *v == 0 && !n.bad {
		r.fail(n, "a flow with a share of 0 sends nothing", "remove the flow")
	}
	return *v
}

// refuseHoldMax refuses an extended hold, as the end of every flow's load must be known.
func (r *reader) refuseHoldMax(n *node, l Load) {
	if l.HoldMax > 0 {
		r.fail(n.get("hold_max"), "hold_max cannot be combined with flows: the end of each flow's hold must be known", "omit it, and lengthen the hold")
	}
}

// metricOf is the metric that a key of "slo" names.
func metricOf(key string) string {
	var s SLO
	s.parseMetric(key)
	return s.Metric
}

func nodesOf(n *node) []*node {
	if n == nil {
		return nil
	}
	return n.children
}

// scaled is the load at a multiple of its rates.
func (l Load) scaled(by float64) Load {
	l.Target, l.Baseline.Rate = l.Target*by, l.Baseline.Rate*by
	l.Stages = slices.Clone(l.Stages)
	for i := range l.Stages {
		l.Stages[i].Rate *= by
	}
	return l
}
