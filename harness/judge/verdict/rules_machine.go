package verdict

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"assay/harness/observe/metric"
)

// cpuLoss is the share of CPU time that a host or a process lost to others.
type cpuLoss struct {
	whose string
	share *float64 // nil: not known
}

// machine: CPU time that the hypervisor took from a host of the run, and time
// for which a CPU quota stopped generator, service or database. Latencies have
// it in them, and the system under test is not to blame for it.
func machine(e *evidence) Rule {
	r := Rule{
		Limit: e.limits.Machine, Unit: "share",
		Outcome: Pass,
		Advice:  "Take a machine whose CPUs are neither shared nor burstable, and lift the CPU quotas (cpu.max, docker --cpus, limits.cpu) of what runs on it.",
	}
	stolen, throttled := e.stolen(), e.throttled()
	for _, one := range append(throttled, stolen) {
		if one.share != nil && (r.Observed == nil || *one.share > *r.Observed) {
			r.Observed = one.share
		}
	}

	var found []string
	if stolen.share == nil {
		found = append(found, "stolen CPU time was not measured")
	}
	known := func(one cpuLoss) bool { return one.share != nil }
	found = append(found, describeLosses(stolen, throttled, known)...)
	if free := only(throttled, func(one cpuLoss) bool { return one.share == nil }); len(free) > 0 {
		found = append(found, "no CPU quota is known of "+list(textsOf(free, func(one cpuLoss) string { return one.whose })))
	}
	if waited := e.pressure(); waited != nil {
		found = append(found, fmt.Sprintf("some task waited for a CPU for %s of the time", percent(*waited)))
	}
	r.Detail = strings.Join(found, "; ")

	over := func(one cpuLoss) bool { return one.share != nil && *one.share > *r.Limit }
	if n := len(only(append(throttled, stolen), over)); n > 0 {
		r.Limitation = strings.Join(describeLosses(stolen, throttled, over), ", and ") + "; latencies include " + []string{"it", "both", "all of it"}[min(n, 3)-1]
	}
	return r
}

// describeLosses describes the chosen losses, in a text for each kind.
func describeLosses(stolen cpuLoss, throttled []cpuLoss, chosen func(cpuLoss) bool) (texts []string) {
	if chosen(stolen) {
		texts = append(texts, fmt.Sprintf("the hypervisor took %s of %s", percent(*stolen.share), stolen.whose))
	}
	if some := only(throttled, chosen); len(some) > 0 {
		each := textsOf(some, func(one cpuLoss) string { return one.whose + " for " + percent(*one.share) })
		texts = append(texts, "a CPU quota stopped "+list(each)+" of the time")
	}
	return texts
}

// only keeps the chosen losses, in a list of its own.
func only(all []cpuLoss, chosen func(cpuLoss) bool) []cpuLoss {
	return slices.DeleteFunc(slices.Clone(all), func(one cpuLoss) bool { return !chosen(one) })
}

// textsOf describes each loss.
func textsOf(all []cpuLoss, text func(cpuLoss) string) (texts []string) {
	for _, one := range all {
		texts = append(texts, text(one))
	}
	return texts
}

// stolen is the loss of the host whose hypervisor took most. Workers report theirs;
// what one on the coordinator's host reports is that host again, a moment later.
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

// throttled is the loss to CPU quotas of generator, service and database; of several
// workers the largest.
func (e *evidence) throttled() []cpuLoss {
	of := func(process string) *float64 {
		v, found := e.sum(metric.CgroupThrottled, label("process", process))
		return share(v, float64(e.seconds), found)
	}
	generator := cpuLoss{whose: "the generator"}
	for _, w := range e.workers() {
		if s := of(w); s != nil && (generator.share == nil || *s > *generator.share) {
			generator.share = s
			if len(e.plan.Workers) > 1 {
				generator.whose = "the generator (" + w + ")"
			}
		}
	}
	return []cpuLoss{generator, {"the service", of(metric.SourceService)}, {"the database", of(metric.SourceDatabase)}}
}

// pressure is the share of time in which something on this host waited for a CPU.
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

// share is nil where nothing was found, or no number. A reading that came late
// holds more than its second: no share is over 1.
func share(part, whole float64, found bool) *float64 {
	v := part / whole
	if !found || whole <= 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return pointer(min(1, v))
}
