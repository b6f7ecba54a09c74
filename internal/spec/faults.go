// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"assay.dev/assay/internal/observe/metric"
)

// Fault is a fault that a run injects while the load goes on: into a node of the local
// stack, or by a command.
type Fault struct {
	At   time.Duration `json:"at_ns"`            // from the start of the first judged window
	For  time.Duration `json:"for_ns,omitempty"` // until it is ended; 0: until the end of the load
	Node string        `json:"node,omitempty"`   // node of the local stack; empty: Run is what injects the fault
	Do   string        `json:"do,omitempty"`     // to the node: DoKill, DoStop or DoCut
	Run  []string      `json:"run,omitempty"`    // command that injects the fault, with its arguments
	Undo []string      `json:"undo,omitempty"`   // command that ends it; empty: it ends by itself
}

// What a fault does to a node, and what ends it.
const (
	DoKill  = "kill"  // its process is killed at once
	DoStop  = "stop"  // its process is asked to shut down
	DoCut   = "cut"   // no packet reaches or leaves it
	DoStart = "start" // ends each of them
)

// Settled is for how long a system must keep its SLOs after a fault to have recovered: the
// shortest time in which a share of violations means something at ten transactions per
// second (ours).
const Settled = 5 * time.Second

// String names the fault, like "kill b", or its command.
func (f Fault) String() string {
	if f.Node != "" {
		return f.Do + " " + f.Node
	}
	return f.Run[0]
}

// Ends reports whether something is done to end the fault.
func (f Fault) Ends() bool { return f.Node != "" || len(f.Undo) > 0 }

// checkFaults reads the commands of faults, and reports what misplacedFaults finds.
func (r *reader) checkFaults(n *node, p Profile) {
	for i := range p.Faults {
		if do := n.children[i].get("do"); do != nil && do.kind == jsontext.KindBeginArray {
			r.fill(do, &p.Faults[i].Run)
		}
	}
	for _, key := range []string{"load", "slo", "flows", "faults"} {
		if c := n.parent.get(key); c != nil && !c.validTree() {
			return
		}
	}
	for _, m := range p.misplacedFaults() {
		r.fail(n.at(m.path), m.problem, m.hint)
	}
}

// misplacedFaults are, by their numbers from 0, the faults that the load does not outlast, as a
// recovery from them could not be seen, and those of one node at the same time.
func (p Profile) misplacedFaults() (all []loadFault) {
	if len(p.Faults) == 0 {
		return nil
	}
	if slices.ContainsFunc(p.Flows, func(f Flow) bool { return f.Load.HoldMax > 0 }) {
		return []loadFault{{"", "faults cannot be combined with hold_max: the end of the hold must be known", "omit one of them"}}
	}
	if !slices.IsSortedFunc(p.Faults, func(a, b Fault) int { return cmp.Compare(a.At, b.At) }) {
		all = append(all, loadFault{"", "the faults are not in the order of their times", `sort them by "at"`})
	}
	limit, _ := p.Limit(metric.RecoveryTime)
	window, left := p.sinceFirstJudged()
	for i, f := range p.Faults {
		number := strconv.Itoa(i)
		if needed := f.At + f.For + max(limit, Settled) + Settled; f.At >= window {
			all = append(all, loadFault{number, fmt.Sprintf("%s comes after the first judged window, which has %v", f, window), "let it begin earlier"})
		} else if needed > left {
			all = append(all, loadFault{
				number, fmt.Sprintf("the load ends %v after the start of the hold: too early to see a recovery from %s, for which it would have to last %v", left, f, needed),
				"lengthen the hold or the cool-down, or let the fault begin or end earlier",
			})
		}
		for j, g := range p.Faults[:i] {
			if f.Node != "" && f.Node == g.Node && (g.For == 0 || f.At < g.At+g.For+Settled) {
				all = append(all, loadFault{number, fmt.Sprintf("%s begins before the system can have recovered from fault %d, %s", f, j+1, g), "let it begin later"})
			}
		}
	}
	return all
}

// sinceFirstJudged is the length of the first judged window, and of the load from its start.
func (p Profile) sinceFirstJudged() (window, left time.Duration) {
	first, end := time.Duration(-1), time.Duration(0)
	for _, f := range p.Flows {
		start, length, whole := f.Load.firstJudged()
		if first < 0 || start < first {
			first, window = start, length
		}
		end = max(end, whole)
	}
	return window, end - first
}

// firstJudged is when the first judged window starts, its length, and that of the load.
func (l Load) firstJudged() (start, length, whole time.Duration) {
	if len(l.Stages) == 0 {
		start = l.Warmup + l.Baseline.For + l.Ramp
		return start, l.Hold, start + l.Hold + l.Cooldown
	}
	for _, s := range l.Stages {
		whole += s.Ramp
		if s.Judge && length == 0 {
			start, length = whole, s.For
		}
		whole += s.For
	}
	return start, length, whole
}
