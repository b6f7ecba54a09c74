// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"fmt"
	"slices"
	"strings"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/rulebook"
)

// cpuLoss is the share of CPU time that a host lost to its hypervisor, or a process to
// its CPU quota.
type cpuLoss struct {
	owner string   // as text
	share *float64 // nil: not known
}

// known reports whether the share is known, exceeds whether it is over a limit too.
func (l cpuLoss) known() bool                { return l.share != nil }
func (l cpuLoss) exceeds(limit float64) bool { return l.known() && *l.share > limit }

// machine: steal time on a host of the run, and time for which a CPU quota throttled the
// service or the database. Latencies include it although the system under test did not
// cause it.
func machine(p *part) Rule {
	r := Rule{Rule: certificate.Rule{Limit: p.limits.Machine}}
	stolen, throttled := largestSteal(p.evidence), throttledSystem(p.evidence)
	all := append(throttled, stolen)
	r.Observed = largestShare(all)
	var found, unknown []string
	if !stolen.known() {
		found = append(found, "steal time was not measured")
	}
	found = append(found, describeLosses(stolen, throttled, cpuLoss.known)...)
	for _, l := range throttled {
		if !l.known() {
			unknown = append(unknown, l.owner)
		}
	}
	if len(unknown) > 0 {
		found = append(found, "no CPU quota is known for "+joinAnd(unknown))
	}
	// The share of time in which some task on this host waited for a CPU (PSI).
	waited, measured := p.sum(metric.HostPressure, []metric.Label{{Key: "kind", Value: "some"}, {Key: "resource", Value: "cpu"}})
	if waited := share(waited, float64(p.seconds), measured); waited != nil {
		found = append(found, fmt.Sprintf("some task waited for a CPU for %s of the time", percent(*waited)))
	}
	r.Detail = strings.Join(found, "; ")

	over := func(l cpuLoss) bool { return l.exceeds(*r.Limit) }
	if texts := describeLosses(stolen, throttled, over); len(texts) > 0 {
		n := len(all) - len(slices.DeleteFunc(all, over))
		r.Limitation = strings.Join(texts, ", and ") + "; latencies include " + []string{"it", "both", "all of it"}[n-1]
	}
	return r
}

// largestShare is that of the losses; nil: none is known.
func largestShare(all []cpuLoss) (largest *float64) {
	for _, l := range all {
		if l.known() && (largest == nil || *l.share > *largest) {
			largest = l.share
		}
	}
	return largest
}

// describeLosses describes the chosen losses, in one text for each kind.
func describeLosses(stolen cpuLoss, throttled []cpuLoss, chosen func(cpuLoss) bool) (texts []string) {
	if chosen(stolen) {
		texts = append(texts, fmt.Sprintf("the hypervisor took %s of %s", percent(*stolen.share), stolen.owner))
	}
	var each []string
	for _, l := range throttled {
		if chosen(l) {
			each = append(each, l.owner+" for "+percent(*l.share))
		}
	}
	if len(each) > 0 {
		texts = append(texts, "a CPU quota throttled "+joinAnd(each)+" of the time")
	}
	return texts
}

// largestSteal is the largest steal time of any host. Workers report that of their hosts; a
// worker on the coordinator's host is skipped, as that host was already measured.
func largestSteal(e *evidence) cpuLoss {
	steal := label("mode", "steal")
	part, found := e.sum(metric.HostCPU, steal)
	whole, _ := e.sum(metric.HostCPU, nil)
	worst := cpuLoss{"this host's CPU time", share(part, whole, found)}
	here := worst.known()
	for _, w := range e.workers() {
		if _, seen := e.sum(metric.ProcessCPU, label("process", w)); here && seen {
			continue
		}
		part, found := e.sumOf(w, metric.WorkerHostCPU, steal)
		whole, _ := e.sumOf(w, metric.WorkerHostCPU, nil)
		if s := share(part, whole, found); s != nil && (!worst.known() || *s > *worst.share) {
			worst = cpuLoss{"the CPU time of " + w + "'s host", s}
		}
	}
	return worst
}

// throttledSystem are the losses of the service and the database to CPU quotas; see
// throttledGenerator for the generator's.
func throttledSystem(e *evidence) []cpuLoss {
	return []cpuLoss{
		{"the service", throttledShare(e, metric.SourceService)},
		{"the database", throttledShare(e, metric.SourceDatabase)},
	}
}

// throttledShare is the share of the time for which a CPU quota throttled a process.
func throttledShare(e *evidence, process string) *float64 {
	v, found := e.sum(metric.CgroupThrottled, label("process", process))
	return share(v, float64(e.seconds), found)
}

// share is part/whole; nil without data. A late reading covers more than one second,
// so the result is limited to 1.
func share(part, whole float64, found bool) *float64 {
	v := part / whole
	if !found || whole <= 0 || !finite(v) {
		return nil
	}
	return new(min(1, v))
}

// cpuThrottled: no CPU quota stopped the workers. One that did is a limitation; where the
// generator's own delay makes the run INVALID as well, it is the cause of that.
func cpuThrottled(p *part) Rule {
	worst := throttledGenerator(p.evidence)
	r := Rule{Rule: certificate.Rule{
		Limit:    p.limits.Machine,
		Observed: worst.share,
		Detail:   "no CPU quota is known for the generator",
	}}
	if worst.known() {
		r.Detail = fmt.Sprintf("a CPU quota throttled %s for %s of the time", worst.owner, percent(*worst.share))
	}
	if !worst.exceeds(*r.Limit) {
		return r
	}
	if broken := brokenByDelay(p); len(broken) > 0 {
		r.Outcome = Invalid
		r.Detail += ", and the generator's own delay breaks " + joinAnd(broken)
		return r
	}
	r.Limitation = r.Detail + "; latencies include it"
	return r
}

// brokenByDelay are the rules that the generator's own delay breaks. Those that are broken
// because nothing was measured are not among them.
func brokenByDelay(p *part) []string {
	return rulebook.IDs(func(r rulebook.Rule) bool {
		return r.EachFlow && r.Blames == rulebook.Generator && slices.ContainsFunc(p.perFlow(), func(f *part) bool {
			return f.checked[r.ID].Outcome == Invalid && f.checked[r.ID].Observed != nil
		})
	})
}

// throttledGenerator is the loss to a CPU quota of the worker that lost most.
func throttledGenerator(e *evidence) cpuLoss {
	worst, source := cpuLoss{owner: "the generator"}, ""
	for _, w := range e.workers() {
		if s := throttledShare(e, w); s != nil && (!worst.known() || *s > *worst.share) {
			worst.share, source = s, w
		}
	}
	var where []string
	if source != "" && len(e.plan.Workers) > 1 {
		where = append(where, source)
	}
	if pod := podText(e, source); pod != "" {
		where = append(where, pod)
	}
	if len(where) > 0 {
		worst.owner += " (" + strings.Join(where, ", ") + ")"
	}
	return worst
}
