// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"fmt"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/rulebook"
)

// generatorDrops: arrivals that the generator lost while it stalled, or for what it lacks.
func generatorDrops(p *part) Rule {
	r := judgeShare(p, generatorDropped(p.evidence), p.limits.GeneratorDrops, "no worker reported its schedule", lostText(p.evidence))
	if all := lacks(p.evidence); len(all) > 0 {
		r.Advice = remedies[all[0].class]
		if r.Outcome != Invalid && r.Limitation == "" {
			r.Limitation = r.Detail
		}
	} else if script := scriptText(p.evidence); script != "" && r.Outcome == Invalid {
		r.Detail, r.Advice = script+"; "+r.Detail, adviceScript
	}
	return r
}

// offered: slots that the generator itself started late. Late slots start in a burst,
// which is not the planned load.
func offered(p *part) Rule {
	late := displacedSlots(p.evidence)
	r := judgeShare(p, late, p.limits.Offered, "no worker measured its lag", lateText(p.evidence, late))
	if scriptText(p.evidence) != "" {
		r.Advice = adviceScript
	}
	return r
}

// judgeShare makes a run INVALID where the share of the scheduled transactions that the
// generator lost or displaced is over its limit, unless the system failed without them.
func judgeShare(p *part, n tally, limit *float64, unknown, detail string) Rule {
	r := Rule{Rule: certificate.Rule{Observed: ratio(n, p.scheduled), Limit: limit, Detail: detail}}
	switch {
	case r.Observed == nil:
		r.Outcome, r.Detail = Invalid, unknown
	case *r.Observed <= *limit:
	case failed(p):
		r.Limitation = detail + "; the failed SLOs fail without them too"
	default:
		r.Outcome = Invalid
	}
	return r
}

// generatorLag: whether the time that the generator itself added to the latencies
// decides the verdict (docs/rulebook.md). Where it does not, its figures are shown. It
// decides nothing in a run that was aborted by what others measured; transactions that the
// abort interrupted are counted as the generator's share.
func generatorLag(p *part) Rule {
	p99, ok := p.lag.Quantile(0.99)
	if !ok {
		return Rule{Outcome: Invalid, Rule: certificate.Rule{Detail: "no worker measured its lag"}}
	}
	stalledMs, _ := p.sum(metric.GeneratorStall, nil)
	r := Rule{Rule: certificate.Rule{Observed: &p99}}
	r.Detail = fmt.Sprintf("the generator started transactions %s ms late at p99, and was stalled for %s of the time",
		number(p99), percent(stalledMs/1000/float64(max(1, p.seconds*int64(max(1, len(p.plan.Workers)))))))
	var hidden, shared []string
	own := failedByScript(p.evidence) + silentIn(p.evidence, metric.Completed, metric.TimedOut)
	for _, s := range p.slos {
		if byScript(p.evidence, s, own) { // the rule script is about it
			continue
		}
		if s.HiddenByGenerator {
			hidden = append(hidden, s.generatorShare())
		} else if s.Cleared != nil && s.possibleViolations() > *s.Cleared {
			shared = append(shared, s.generatorShare())
		}
	}
	script := scriptText(p.evidence)
	if script != "" {
		r.Advice = adviceScript
		r.Limitation, script = script, script+"; "
	}
	switch {
	case len(hidden) > 0 && !failed(p) && !abortGuards(p.evidence):
		r.Outcome, r.Limitation = Invalid, ""
		r.Detail = script + "the generator's own delay decides the verdict: " + joinFirst(hidden, 2)
	case len(hidden)+len(shared) > 0:
		r.Limitation = script + r.Detail + ": " + joinFirst(append(hidden, shared...), 2)
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
func generatorCPU(p *part) Rule {
	r := Rule{Rule: certificate.Rule{Limit: p.limits.GeneratorCPU}}
	worst, source, missing := busiestWorker(p.evidence)
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
		s := workerCPUShare(e, w)
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
func workerCPUShare(e *evidence, worker string) *float64 {
	used, found := e.sumOf(worker, metric.WorkerCPU, nil)
	waited, _ := e.sumOf(worker, metric.WorkerRunQueue, nil) // not every kernel reports it
	all := gaugeValues(e.Timeline, worker, metric.WorkerCPUs, e.spans...)
	cpus, n := sum(all), len(all)
	if !found || cpus <= 0 || e.seconds == 0 {
		return nil
	}
	return new((used + waited) / (float64(e.seconds) * cpus / float64(n)))
}
