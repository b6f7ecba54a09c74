package verdict

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"assay/harness/judge/stats"
	"assay/harness/observe/metric"
	"assay/harness/spec"
)

const (
	// unlikeFactor is the factor over the median p95 of the other workers from which a
	// worker is unlike them (ours). Workers draw their arrivals from one schedule, so
	// that their samples have one distribution.
	unlikeFactor = 2
	// unlikeShare is the least difference of an unlike worker's p95, as a share of the
	// tightest latency bound (ours): smaller ones decide nothing.
	unlikeShare = 0.1
	// unlikeSamples is the least number of transactions of a worker to compare.
	unlikeSamples = 100
)

// workersEven: all workers saw the same system. One that is much slower than the others
// has a slow path to the target, or a slow machine. Percentiles of the run include it;
// the run is INVALID where it alone makes the run fail.
func workersEven(e *evidence) Rule {
	r := Rule{
		Limit: pointer(float64(unlikeFactor)), Unit: "", Outcome: Pass,
		Detail: "the run has one worker",
		Advice: "Look at the path from that worker's host to the target, and at the host; replace it, and run again.",
	}
	if len(e.plan.Workers) < 2 {
		return r
	}
	source, ratio := e.slowestWorker()
	if source == "" {
		r.Detail = "too few transactions to compare the workers"
		return r
	}
	r.Observed = &ratio
	r.Detail = fmt.Sprintf("the p95 of the slowest worker, %s, is %s times the median of the others", e.workerName(source), number(ratio))
	if unlike, _ := e.unlikeWorker(); unlike == "" {
		return r
	}
	own, _ := e.Timeline.HistBySource(source, metric.TransactionDuration).Quantile(0.95)
	text := fmt.Sprintf("%s saw a p95 of %s ms, the other workers %s ms", e.workerName(source), number(own), number(own/ratio))
	if e.failed() && !e.failsWithout(source) {
		r.Outcome = Invalid
		r.Detail = text + ": the run fails on this worker alone"
		return r
	}
	r.Limitation = text
	return r
}

// workerName names a worker and its machine.
func (e *evidence) workerName(source string) string {
	for _, w := range e.Environment.Workers {
		if w.Source == source && w.Host.Name != "" {
			return source + " on " + w.Host.Name
		}
	}
	return source
}

// slowestWorker is the worker with the highest p95, and its ratio to the median of the
// others'; empty: there is nothing to compare.
func (e *evidence) slowestWorker() (source string, ratio float64) {
	type worker struct {
		source string
		p95    float64
	}
	var all []worker
	for _, w := range e.workers() {
		h := e.Timeline.HistBySource(w, metric.TransactionDuration)
		if v, ok := h.Quantile(0.95); ok && h.Count() >= unlikeSamples {
			all = append(all, worker{w, v})
		}
	}
	if len(all) < 2 {
		return "", 0
	}
	slices.SortFunc(all, func(a, b worker) int { return cmp.Or(cmp.Compare(a.p95, b.p95), cmp.Compare(a.source, b.source)) })
	slowest, others := all[len(all)-1], all[:len(all)-1]
	median := others[len(others)/2].p95
	if median <= 0 {
		return "", 0
	}
	return slowest.source, slowest.p95 / median
}

// unlikeWorker is the worker that is unlike the others; empty: none is.
func (e *evidence) unlikeWorker() (source string, ratio float64) {
	source, ratio = e.slowestWorker()
	if source == "" || ratio <= unlikeFactor {
		return "", ratio
	}
	own, _ := e.Timeline.HistBySource(source, metric.TransactionDuration).Quantile(0.95)
	if bound, _ := e.tightestBound(); !math.IsInf(bound, 1) && own-own/ratio < unlikeShare*bound {
		return "", ratio
	}
	return source, ratio
}

// failsWithout reports whether an SLO that failed would fail without the samples of one
// worker too: by the count of violations, cleared of the generator's own delay, or
// because it does not rest on samples of workers.
func (e *evidence) failsWithout(source string) bool {
	for _, s := range e.slos {
		if s.Outcome != Fail {
			continue
		}
		asked := e.sloOf(s)
		if asked == nil || !asked.Sampled() {
			return true
		}
		selector := label("slo", asked.ID())
		n, _ := e.sum(metric.Judged, selector)
		k, _ := e.sum(metric.ViolationsCleared, selector)
		own, counted := e.sumOf(source, metric.Judged, selector)
		ownBroken, _ := e.sumOf(source, metric.ViolationsCleared, selector)
		if !counted || stats.Count(asked.AllowedShare(), int64(math.Round(n-own)), int64(math.Round(k-ownBroken))) == stats.Broken {
			return true
		}
	}
	return false
}

// sloOf is the profile's condition of a result; nil: it is an implicit one.
func (e *evidence) sloOf(s SLO) *spec.SLO {
	for i, p := range e.Plan.Profile.SLOs {
		if p.Expression == s.Expression && p.MetricText() == s.Metric {
			return &e.Plan.Profile.SLOs[i]
		}
	}
	return nil
}

// maxReceiveDelay is the longest time that a report of a worker may take to reach the
// record, in ms (ours): abort conditions and the view are as late.
const maxReceiveDelay = 5000

// receiver: the coordinator received the workers' reports in time. Late ones are not
// lost, but nobody saw them when they mattered.
func receiver(e *evidence) Rule {
	r := Rule{
		Limit: pointer(float64(maxReceiveDelay)), Unit: "ms", Outcome: Pass,
		Detail: "the coordinator did not measure it",
		Advice: "Give the coordinator a CPU of its own and a network without outages, or use fewer workers.",
	}
	delay, worker := math.Inf(-1), ""
	for _, s := range e.Timeline.Series(metric.ReceiveDelay) {
		for _, span := range e.spans {
			values, ok := e.Timeline.Gauge(metric.ReceiveDelay, s.Labels, metric.SourceReceiver, span)
			for i, v := range values {
				if ok[i] && v > delay {
					delay, worker = v, s.Label("worker")
				}
			}
		}
	}
	if worker == "" {
		return r
	}
	r.Observed = &delay
	r.Detail = fmt.Sprintf("reports of %s reached the record up to %s ms after their second", e.workerName(worker), number(delay))
	if delay > maxReceiveDelay {
		r.Limitation = r.Detail + ": abort conditions could not see them in time"
	}
	return r
}
