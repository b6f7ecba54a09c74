// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"fmt"
	"slices"
	"strings"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/observe/metric"
)

// cpuLoss is the share of CPU time that a host lost to its hypervisor, or a process to
// its CPU quota.
type cpuLoss struct {
	owner string   // as text
	share *float64 // nil: not known
}

// machine: steal time on a host of the run, and time for which a CPU quota throttled the
// service or the database. Latencies include it although the system under test did not
// cause it.
func machine(e *evidence) Rule {
	r := Rule{Outcome: Pass, Rule: certificate.Rule{Limit: e.limits.Machine}}
	stolen, throttled := e.stolen(), e.throttled()
	for _, loss := range append(throttled, stolen) {
		if loss.share != nil && (r.Observed == nil || *loss.share > *r.Observed) {
			r.Observed = loss.share
		}
	}

	var found []string
	if stolen.share == nil {
		found = append(found, "steal time was not measured")
	}
	known := func(l cpuLoss) bool { return l.share != nil }
	found = append(found, describeLosses(stolen, throttled, known)...)
	if unknown := filterLosses(throttled, func(l cpuLoss) bool { return l.share == nil }); len(unknown) > 0 {
		found = append(found, "no CPU quota is known for "+joinAnd(lossTexts(unknown, func(l cpuLoss) string { return l.owner })))
	}
	if waited := e.pressure(); waited != nil {
		found = append(found, fmt.Sprintf("some task waited for a CPU for %s of the time", percent(*waited)))
	}
	r.Detail = strings.Join(found, "; ")

	over := func(l cpuLoss) bool { return l.share != nil && *l.share > *r.Limit }
	if n := len(filterLosses(append(throttled, stolen), over)); n > 0 {
		r.Limitation = strings.Join(describeLosses(stolen, throttled, over), ", and ") + "; latencies include " + []string{"it", "both", "all of it"}[min(n, 3)-1]
	}
	return r
}

// describeLosses describes the chosen losses, in one text for each kind.
func describeLosses(stolen cpuLoss, throttled []cpuLoss, chosen func(cpuLoss) bool) (texts []string) {
	if chosen(stolen) {
		texts = append(texts, fmt.Sprintf("the hypervisor took %s of %s", percent(*stolen.share), stolen.owner))
	}
	if losses := filterLosses(throttled, chosen); len(losses) > 0 {
		each := lossTexts(losses, func(l cpuLoss) string { return l.owner + " for " + percent(*l.share) })
		texts = append(texts, "a CPU quota throttled "+joinAnd(each)+" of the time")
	}
	return texts
}

// filterLosses is a new slice of the chosen losses.
func filterLosses(all []cpuLoss, chosen func(cpuLoss) bool) []cpuLoss {
	return slices.DeleteFunc(slices.Clone(all), func(l cpuLoss) bool { return !chosen(l) })
}

func lossTexts(all []cpuLoss, text func(cpuLoss) string) (texts []string) {
	for _, l := range all {
		texts = append(texts, text(l))
	}
	return texts
}

// stolen is the largest steal time of any host. Workers report that of their hosts; a
// worker on the coordinator's host is skipped, as that host was already measured.
func (e *evidence) stolen() cpuLoss {
	part, found := e.sum(metric.HostCPU, label("mode", "steal"))
	whole, _ := e.sum(metric.HostCPU, nil)
	worst := cpuLoss{"this host's CPU time", share(part, whole, found)}
	here := worst.share != nil
	for _, w := range e.workers() {
		if _, seen := e.sum(metric.ProcessCPU, label("process", w)); here && seen {
			continue
		}
		part, found := e.sumOf(w, metric.WorkerHostCPU, label("mode", "steal"))
		whole, _ := e.sumOf(w, metric.WorkerHostCPU, nil)
		if s := share(part, whole, found); s != nil && (worst.share == nil || *s > *worst.share) {
			worst = cpuLoss{"the CPU time of " + w + "'s host", s}
		}
	}
	return worst
}

// throttled are the losses of the service and the database to CPU quotas; see the rule
// cpu-throttled for the generator's.
func (e *evidence) throttled() []cpuLoss {
	return []cpuLoss{{"the service", e.throttledShare(metric.SourceService)}, {"the database", e.throttledShare(metric.SourceDatabase)}}
}

// throttledShare is the share of the time for which a CPU quota throttled a process.
func (e *evidence) throttledShare(process string) *float64 {
	v, found := e.sum(metric.CgroupThrottled, label("process", process))
	return share(v, float64(e.seconds), found)
}

// pressure is the share of time in which some task on this host waited for a CPU (PSI).
func (e *evidence) pressure() *float64 {
	v, found := e.sum(metric.HostPressure, []metric.Label{{Key: "kind", Value: "some"}, {Key: "resource", Value: "cpu"}})
	return share(v, float64(e.seconds), found)
}

// sumOf is sum for one source.
func (e *evidence) sumOf(source, name string, selector []metric.Label) (total float64, found bool) {
	for _, span := range e.spans {
		v, ok := e.Timeline.SumOf(source, name, selector, span)
		total, found = total+v, found || ok
	}
	return total, found
}

// share is part/whole; nil without data. A late reading covers more than one second,
// so the result is limited to 1.
func share(part, whole float64, found bool) *float64 {
	v := part / whole
	if !found || whole <= 0 || !finite(v) {
		return nil
	}
	return pointer(min(1, v))
}
