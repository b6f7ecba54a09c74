// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"fmt"
	"slices"
	"time"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/judge/stats"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/rulebook"
)

// generatorDrops: arrivals that the generator lost while it stalled.
func generatorDrops(e *evidence) Rule {
	dropped := e.generatorDropped()
	r := Rule{Outcome: Invalid, Rule: certificate.Rule{
		Observed: ratio(dropped, e.scheduled),
		Limit:    e.limits.GeneratorDrops,
		Detail:   "no worker reported its schedule",
	}}
	if r.Observed != nil {
		r.Detail = fmt.Sprintf("the generator lost %d of %d arrivals", dropped.n, e.scheduled.n)
		e.applyGeneratorLimit(&r)
	}
	return r
}

// generatorDropped counts the arrivals that the generator lost.
func (e *evidence) generatorDropped() tally {
	return e.tally(metric.GeneratorDropped, nil).withCompanion(e.scheduled)
}

// over reports whether a share is known, and over its limit.
func over(share, limit *float64) bool { return share != nil && *share > *limit }

// offered: slots that the generator itself started late. Late slots start in a burst,
// which is not the planned load.
func offered(e *evidence) Rule {
	displaced := e.displacedSlots()
	r := Rule{Outcome: Invalid, Rule: certificate.Rule{
		Observed: ratio(displaced, e.scheduled),
		Limit:    e.limits.Offered,
		Detail:   "no worker measured its lag",
	}}
	if r.Observed != nil {
		r.Detail = fmt.Sprintf("the generator itself started %d of %d transactions more than %s late", displaced.n, e.scheduled.n, e.plan.DisplacedAfter)
		e.applyGeneratorLimit(&r)
	}
	return r
}

// applyGeneratorLimit makes a run INVALID where the rule's value is over its limit,
// unless the system failed without the generator's contribution.
func (e *evidence) applyGeneratorLimit(r *Rule) {
	r.Outcome = passOrInvalid(*r.Observed <= *r.Limit)
	if r.Outcome == Invalid && e.failed() {
		r.Outcome, r.Limitation = Pass, r.Detail+"; the failed SLOs fail without them too"
	}
}

// displacedSlots counts the slots that the generator itself started later than the
// plan allows.
func (e *evidence) displacedSlots() tally {
	displaced := e.tally(metric.GeneratorDisplaced, nil)
	if !displaced.found && e.lag.Count() > 0 {
		// No counter: what the histogram cannot rule out counts.
		_, most := e.lag.AtLeast(float64(e.plan.DisplacedAfter.Nanoseconds()) / 1e6)
		displaced = tally{n: int64(most), found: true}
	}
	return displaced
}

// displaced reports whether more load was displaced than the rule offered allows.
func (e *evidence) displaced() bool {
	return over(ratio(e.displacedSlots(), e.scheduled), e.limits.Offered)
}

// maxScattered is the largest share of a second's arrivals that may be displaced
// without a burst that lasts beyond the second (ours).
const maxScattered = 0.1

// withoutDisplaced are the violations less those that displaced load may have caused,
// where more was displaced than the rule offered allows. Up to maxScattered of a
// second, each displaced slot may have caused its own violation and one other. More
// than that is a burst whose backlog takes time to drain: its second does not count,
// nor does one further second for each second of the burst.
func (e *evidence) withoutDisplaced(counted []stats.Batch) []stats.Batch {
	if !e.displaced() {
		return counted
	}
	rest := slices.Clone(counted)
	limit := float64(e.plan.DisplacedAfter) / float64(time.Millisecond)
	lag := e.distribution(metric.GeneratorLag, nil)
	lag.count(limit)
	after, window := 0, 0
	for i, b := range lag.counted[limit].possible {
		if b.Stratum != window {
			after, window = 0, b.Stratum
		}
		switch {
		case b.K > maxScattered*b.N:
			rest[i] = stats.Batch{Stratum: rest[i].Stratum}
			after++
		case after > 0:
			rest[i] = stats.Batch{Stratum: rest[i].Stratum}
			after--
		default:
			rest[i].K = max(0, rest[i].K-2*b.K)
		}
	}
	return rest
}

// generatorLag: whether the time that the generator itself added to the latencies
// decides the verdict (docs/rulebook.md). Where it does not, its figures are shown. It
// decides nothing in a run that was aborted by what others measured; transactions that the
// abort interrupted are counted as the generator's share.
func generatorLag(e *evidence) Rule {
	r := Rule{Outcome: Invalid, Rule: certificate.Rule{Detail: "no worker measured its lag"}}
	p99, ok := e.lag.Quantile(0.99)
	if !ok {
		return r
	}
	stalledMs, _ := e.sum(metric.GeneratorStall, nil)
	r.Observed, r.Outcome = &p99, Pass
	r.Detail = fmt.Sprintf("the generator started transactions %s ms late at p99, and was stalled for %s of the time",
		number(p99), percent(stalledMs/1000/float64(max(1, e.seconds*int64(max(1, len(e.plan.Workers)))))))
	var hidden, shared []string
	for _, s := range e.slos {
		if s.HiddenByGenerator {
			hidden = append(hidden, s.generatorShare())
		} else if s.Cleared != nil && s.possibleViolations() > *s.Cleared {
			shared = append(shared, s.generatorShare())
		}
	}
	switch {
	case len(hidden) > 0 && !e.failed() && !e.guarded():
		r.Outcome = Invalid
		r.Detail = "the generator's own delay decides the verdict: " + joinFirst(hidden, 2)
	case len(hidden)+len(shared) > 0:
		r.Limitation = r.Detail + ": " + joinFirst(append(hidden, shared...), 2)
	}
	return r
}

// possibleViolations is the largest possible number of violations as measured, without
// those that are only possible because other senders measure coarsely.
func (s SLO) possibleViolations() int64 {
	switch {
	case s.Violations != nil:
		return *s.Violations
	case s.AtMost != nil:
		return *s.AtMost - s.ForeignDoubt
	}
	return 0
}

// generatorShare states how many of an SLO's violations may be the generator's. Without
// its delay at least Cleared remain. Of an overload that it did not deliver it states that.
func (s SLO) generatorShare() string {
	if s.Doubt != "" {
		return fmt.Sprintf("%s %s holds, but %s", s.Metric, s.Expression, s.Doubt)
	}
	return fmt.Sprintf("%s %s has %d violations as measured, at least %d without the generator's own delay, %d allowed",
		s.Metric, s.Expression, s.possibleViolations(), *s.Cleared, *s.Allowed)
}

// generatorCPU: the busiest worker's use of the CPUs available to it, including its
// time in the run queue: a worker that shares its CPUs is starved long before its own
// usage shows it. A mean over workers would hide one that is starved. The effect on
// latencies is counted by generator-lag, so that this rule alone makes no run INVALID.
func generatorCPU(e *evidence) Rule {
	r := Rule{Outcome: Pass, Rule: certificate.Rule{Limit: e.limits.GeneratorCPU}}
	worst, source, missing := busiestWorker(e)
	switch {
	case missing != "":
		r.Detail = missing + " did not report its CPU time"
		r.Limitation = r.Detail
	case worst == nil:
		r.Detail = "the plan has no worker"
	default:
		r.Observed = worst
		r.Detail = fmt.Sprintf("%s needed %s of its CPUs, including time in the run queue", source, percent(*worst))
		if *worst > *r.Limit {
			r.Limitation = fmt.Sprintf("%s; at most %s is recommended", r.Detail, percent(rulebook.RecommendedCPU))
		}
	}
	return r
}

// busiestWorker is the worker with the largest CPU share over the judged windows; or
// else the name of a worker that reported none.
func busiestWorker(e *evidence) (worst *float64, source, missing string) {
	for _, w := range e.workers() {
		s := e.workerCPUShare(w)
		if s == nil {
			return nil, "", w
		}
		if worst == nil || *s > *worst {
			worst, source = s, w
		}
	}
	return worst, source, ""
}

// workerCPUShare is the share of its CPUs that a worker needed in the judged windows,
// including its time in the run queue; nil: not reported.
func (e *evidence) workerCPUShare(worker string) *float64 {
	used, found := e.sumOf(worker, metric.WorkerCPU, nil)
	waited, _ := e.sumOf(worker, metric.WorkerRunQueue, nil) // not every kernel reports it
	cpus, n := 0.0, 0
	for _, span := range e.spans {
		values, ok := e.Timeline.Gauge(metric.WorkerCPUs, nil, worker, span)
		for i, v := range values {
			if ok[i] {
				cpus += v
				n++
			}
		}
	}
	if !found || cpus <= 0 || e.seconds == 0 {
		return nil
	}
	return pointer((used + waited) / (float64(e.seconds) * cpus / float64(n)))
}
