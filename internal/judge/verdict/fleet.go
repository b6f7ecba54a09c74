// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"math"
	"slices"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/plan"
)

// workerTable describes each worker of the plan.
func (e *evidence) workerTable() (all []Worker) {
	unlike := map[string]bool{}
	for _, w := range e.compareWorkers() {
		unlike[w.source] = w.unlike
	}
	for i, source := range e.workers() {
		s := e.streams[source]
		w := Worker{Worker: source, Share: e.plan.Workers[i].Share, CPUShare: e.workerCPUShare(source), FramesReceived: int64(s.Frames), Unlike: unlike[source]}
		if w.Share == 0 { // an old record
			w.Share = 1 / float64(len(e.plan.Workers))
		}
		if i < len(e.Environment.Workers) {
			w.Host = e.Environment.Workers[i].Host.Name
		}
		w.Pod, w.Node = e.podOf(source)
		w.HostCPUShare = e.busyHost(source)
		if n, found := e.sumOf(source, metric.TransactionsScheduled, nil); found {
			w.Transactions = pointer(int64(math.Round(n)))
		}
		w.P95Ms, w.P99Ms = percentileOf(e.Timeline.HistBySource(source, metric.TransactionDuration), 0.95), percentileOf(e.Timeline.HistBySource(source, metric.TransactionDuration), 0.99)
		w.LagP99Ms = percentileOf(e.Timeline.HistBySource(source, metric.GeneratorLag), 0.99)
		if late, reported := total(s, metric.WorkerStartDelay, ""); reported {
			w.StartDelayMs = &late
		}
		if sent, reported := total(s, metric.WorkerFrames, ""); reported {
			w.FramesExpected = pointer(int64(sent))
		}
		w.ClockOffsetMs = last(e.gauges(source, metric.WorkerClockOffset))
		w.ClockDriftMs = largest(e.gauges(source, metric.WorkerClockDrift))
		w.RoundTripMs = largest(e.gauges(source, metric.WorkerRoundTrip))
		all = append(all, w)
	}
	return all
}

// busyHost is the share of its CPUs that a worker's host was busy, which includes the time
// that its hypervisor took; nil: not reported.
func (e *evidence) busyHost(worker string) *float64 {
	idle, found := e.sumOf(worker, metric.WorkerHostCPU, label("mode", "idle"))
	whole, _ := e.sumOf(worker, metric.WorkerHostCPU, nil)
	return share(whole-idle, whole, found)
}

func percentileOf(h *metric.Hist, q float64) *float64 {
	if v, ok := h.Quantile(q); ok {
		return &v
	}
	return nil
}

// gauges are the values of a worker's gauge from the start of the load to the end of the
// schedule, in order.
func (e *evidence) gauges(source, name string) (values []float64) {
	span := record.SpanOf(e.Facts.T0, plan.Window{End: e.plan.Duration()})
	all, ok := e.Timeline.Gauge(name, nil, source, span)
	for i, v := range all {
		if ok[i] {
			values = append(values, v)
		}
	}
	return values
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
	v := slices.MaxFunc(values, func(a, b float64) int {
		switch a, b := math.Abs(a), math.Abs(b); {
		case a < b:
			return -1
		case a > b:
			return 1
		}
		return 0
	})
	return &v
}
