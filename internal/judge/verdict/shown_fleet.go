// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"cmp"
	"math"
	"slices"

	"assay.dev/assay/internal/observe/metric"
)

func describeGenerator(e *evidence) Generator {
	g := Generator{Workers: len(e.plan.Workers), Fleet: describeFleet(e), Addresses: describeAddresses(e), WakeupLagP99Ms: known(e.lag.Quantile(0.99))}
	g.FramesExpected, g.FramesReceived, _ = checkStreams(e)
	g.CPUShare, _, _ = busiestWorker(e)
	return g
}

// describeFleet describes each worker of the plan.
func describeFleet(e *evidence) (all []Worker) {
	unlike, streams := map[string]bool{}, e.streams()
	for _, w := range compareWorkers(e) {
		unlike[w.source] = w.unlike
	}
	for i, source := range e.workers() {
		s := streams[source]
		latency, lag := e.Timeline.HistBySource(source, metric.TransactionDuration), e.Timeline.HistBySource(source, metric.GeneratorLag)
		gauge := func(name string) []float64 { return gaugeValues(e.Timeline, source, name, wholeLoad(e)) }
		idle, reported := e.sumOf(source, metric.WorkerHostCPU, label("mode", "idle"))
		cpu, _ := e.sumOf(source, metric.WorkerHostCPU, nil)
		w := Worker{
			Worker: source, Share: e.plan.Workers[i].Share, FramesReceived: int64(s.Frames), Unlike: unlike[source],
			P95Ms: known(latency.Quantile(0.95)), P99Ms: known(latency.Quantile(0.99)), LagP99Ms: known(lag.Quantile(0.99)),
			CPUShare:      workerCPUShare(e, source),
			HostCPUShare:  share(cpu-idle, cpu, reported), // busy includes the time that the hypervisor took
			StartDelayMs:  known(total(s, metric.WorkerStartDelay)),
			ClockOffsetMs: last(gauge(metric.WorkerClockOffset)),
			ClockDriftMs:  largest(gauge(metric.WorkerClockDrift)),
			RoundTripMs:   largest(gauge(metric.WorkerRoundTrip)),
		}
		if w.Share == 0 { // the plan does not say: they share alike
			w.Share = 1 / float64(len(e.plan.Workers))
		}
		if i < len(e.Environment.Workers) {
			w.Host = e.Environment.Workers[i].Host.Name
		}
		w.Pod, w.Node = podOf(e, source)
		if n, found := e.sumOf(source, metric.TransactionsScheduled, nil); found {
			w.Transactions = new(int64(math.Round(n)))
		}
		if sent, reported := total(s, metric.WorkerFrames); reported {
			w.FramesExpected = new(int64(sent))
		}
		all = append(all, w)
	}
	return all
}

func last(values []float64) *float64 {
	if len(values) == 0 {
		return nil
	}
	return &values[len(values)-1]
}

// largest is the value with the largest magnitude; nil: there is none.
func largest(values []float64) *float64 {
	if len(values) == 0 {
		return nil
	}
	return new(slices.MaxFunc(values, func(a, b float64) int { return cmp.Compare(math.Abs(a), math.Abs(b)) }))
}
