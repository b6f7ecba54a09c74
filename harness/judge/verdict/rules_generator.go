package verdict

import (
	"fmt"

	"assay/harness/observe/metric"
)

// goodCPU is what is recommended below the limit (Hyperfoil, Graviton runbook).
const goodCPU = 0.50

// generatorDrops: arrivals that the generator lost while it stood still.
func generatorDrops(e *evidence) Rule {
	dropped := e.tally(metric.GeneratorDropped, nil).beside(e.scheduled)
	r := Rule{
		Observed: ratio(dropped, e.scheduled), Limit: e.limits.GeneratorDrops, Unit: "share",
		Outcome: Invalid,
		Detail:  "no worker reported its schedule",
		Advice:  "Give the generator more CPUs or more workers, and let nothing else run beside it.",
	}
	if r.Observed != nil {
		r.Outcome = holds(*r.Observed <= *r.Limit)
		r.Detail = fmt.Sprintf("the generator lost %d of %d arrivals", dropped.n, e.scheduled.n)
	}
	return r
}

// generatorLag: slots that the generator itself delayed by more than the
// plan's limit, 5 % of the tightest SLO bound.
func generatorLag(e *evidence) Rule {
	r := Rule{
		Limit: e.limits.GeneratorLag, Unit: "share",
		Outcome: Invalid,
		Detail:  "no worker measured its lag",
		Advice:  "Give the generator more CPUs or more workers, and let nothing else run beside it.",
	}
	late := e.tally(metric.GeneratorLate, nil)
	if !late.found && e.lag.Count() > 0 {
		// No counter: what the histogram cannot rule out counts.
		_, most := e.lag.AtLeast(float64(e.plan.LagLimit.Nanoseconds()) / 1e6)
		late = tally{n: int64(most), found: true}
	}
	if r.Observed = ratio(late, e.scheduled); r.Observed != nil {
		r.Outcome = holds(*r.Observed <= *r.Limit)
		r.Detail = fmt.Sprintf("the generator delayed %d of %d slots by more than %s", late.n, e.scheduled.n, e.plan.LagLimit)
	}
	return r
}

// generatorCPU: the busiest worker's share of the CPUs it may use, with the
// time in which it was ready to run but others had them: a worker that shares
// its CPUs is starved long before its own use of them shows it. A mean over
// workers would hide one that is starved.
func generatorCPU(e *evidence) Rule {
	r := Rule{
		Limit: e.limits.GeneratorCPU, Unit: "share",
		Outcome: Invalid,
		Advice:  fmt.Sprintf("Add workers or CPUs until every worker needs at most %s of its CPUs, and let nothing else run on them.", percent(goodCPU)),
	}
	worst, source, missing := busiest(e)
	if missing != "" {
		r.Detail = missing + " did not report the CPU it used"
		return r
	}
	if worst == nil {
		r.Detail = "the plan has no worker"
		return r
	}
	r.Observed, r.Outcome = worst, holds(*worst <= *r.Limit)
	r.Detail = fmt.Sprintf("%s needed %s of its CPUs, the wait for them included", source, percent(*worst))
	return r
}

// busiest is the largest CPU share of a worker over the judged windows; or the
// name of a worker that reported none.
func busiest(e *evidence) (worst *float64, source, missing string) {
	for _, w := range e.workers() {
		used, cpus, n, found := 0.0, 0.0, 0, false
		for _, span := range e.spans {
			v, ok := e.Timeline.SumOf(w, metric.WorkerCPU, nil, span)
			waited, _ := e.Timeline.SumOf(w, metric.WorkerRunQueue, nil, span) // not every kernel tells
			used, found = used+v+waited, found || ok
			values, has := e.Timeline.Gauge(metric.WorkerCPUs, nil, w, span)
			for i := range values {
				if has[i] {
					cpus += values[i]
					n++
				}
			}
		}
		if !found || cpus <= 0 || e.seconds == 0 {
			return nil, "", w
		}
		if s := used / (float64(e.seconds) * cpus / float64(n)); worst == nil || s > *worst {
			worst, source = &s, w
		}
	}
	return worst, source, ""
}
