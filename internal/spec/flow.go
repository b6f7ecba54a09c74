// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"time"

	"assay.dev/assay/internal/observe/metric"
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
	Expected Expected      `json:"expected_statuses,omitzero"`
}

// Expected are statuses of requests that are no failures, although they say by themselves that
// a request has failed: those of HTTP, with 0 for no answer, and of openings of WebSockets, and
// the codes of gRPC.
type Expected struct {
	HTTP      []int `json:"http,omitempty"`
	GRPC      []int `json:"grpc,omitempty"`
	WebSocket []int `json:"ws,omitempty"`
}

// Expected are the statuses that the only flow of a profile expects.
func (p Profile) Expected() (e Expected) {
	if len(p.Flows) == 1 {
		e = p.Flows[0].Expected
	}
	return e
}

// Of are the statuses of a protocol.
func (e Expected) Of(p *metric.Protocol) []int {
	switch p {
	case metric.HTTP:
		return e.HTTP
	case metric.GRPC:
		return e.GRPC
	}
	return e.WebSocket
}

// Has reports whether a status of a protocol is expected. That of a WebSocket without an answer
// is empty.
func (e Expected) Has(p *metric.Protocol, status string) bool {
	n, err := strconv.Atoi(cmp.Or(status, "0"))
	return err == nil && slices.Contains(e.Of(p), n)
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
func (r *reader) namedFlows(n *node, p *Profile, timeout time.Duration) {
	flows, load := n.get("flows"), n.get("load")
	whole := r.load(load)
	r.checkPeak(load, whole)
	p.Common = r.slos(n.get("slo"))
	shares, shared := 0.0, 0
	for _, c := range flows.all() {
		f := Flow{Name: c.name, Timeout: timeout}
		own, share := c.get("load"), c.get("share")
		r.flow(c, &f)
		if own == nil && share != nil {
			part := 0.0
			r.fill(share, &part)
			shared, shares = shared+1, shares+part
			f.Load = whole.scaled(func(rate float64) float64 { return rate * part })
			if faults := f.Load.check(); load != nil && load.validTree() && !share.bad && len(faults) > 0 {
				r.fail(share, "its share of the load: "+faults[0].problem, faults[0].hint)
			}
		}
		for i := range f.SLOs {
			f.SLOs[i].Flow = f.Name
		}
		if share == nil || load != nil && load.validTree() {
			r.checkOverload(c, f.Load, f.SLOs)
		}
		p.Flows = append(p.Flows, f)
	}
	switch {
	case !flows.validTree():
	case load != nil && shared == 0:
		r.fail(load, "no flow has a share of the profile's load", `give flows "share", or remove the load`)
	case shared > 0 && math.Abs(shares-1) > 1e-6:
		r.fail(flows, fmt.Sprintf("the shares of the flows add up to %g", math.Round(shares*1e6)/1e6), "make them add up to 1")
	}
}

// flow reads a flow, or a profile with one, into one with the defaults.
func (r *reader) flow(n *node, f *Flow) {
	r.fill(n, f)
	if f.Scenario != "" {
		f.Scenario = path.Clean(f.Scenario)
	}
	if f.Ledger != nil {
		f.Ledger.Lag.setUnit()
	}
	f.Load, f.SLOs = r.load(n.get("load")), r.slos(n.get("slo"))
}

// metricOf is the metric that a key of "slo" names.
func metricOf(key string) string {
	var s SLO
	s.parseMetric(key)
	return s.Metric
}

// scaled is the load at other rates.
func (l Load) scaled(scale func(rate float64) float64) Load {
	l.Target, l.Baseline.Rate = scale(l.Target), scale(l.Baseline.Rate)
	l.Stages = slices.Clone(l.Stages)
	for i := range l.Stages {
		l.Stages[i].Rate = scale(l.Stages[i].Rate)
	}
	return l
}
