// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"assay.dev/assay/internal/observe/metric"
)

// pool is nil where the service reports no pool.
func (e *evidence) pool() *Pool {
	p := Pool{Max: e.gauge(metric.ServicePoolMax).last, Open: e.gauge(metric.ServicePoolOpen).largest}
	used := e.gauge(metric.ServicePoolInUse)
	p.InUse, p.InUseMax = used.mean, used.largest
	waits, counted := e.sum(metric.ServicePoolWaits, nil)
	ms, timed := e.sum(metric.ServicePoolWaitTime, nil)
	if counted && finite(waits) && e.seconds > 0 {
		p.WaitsPerSecond = pointer(waits / float64(e.seconds))
		if e.scheduled.n > 0 {
			p.WaitsPerTransaction = pointer(waits / float64(e.scheduled.n))
		}
	}
	if timed && finite(ms) {
		if e.scheduled.n > 0 {
			p.WaitMsPerTransaction = pointer(ms / float64(e.scheduled.n))
		}
		if counted && waits > 0 {
			p.MsPerWait = pointer(ms / waits)
		}
	}
	if p == (Pool{}) {
		return nil
	}
	return &p
}

// level is a gauge over the judged seconds; nil: no reading.
type level struct{ mean, largest, last *float64 }

func (e *evidence) gauge(name string) (l level) {
	sum, n := 0.0, 0
	for _, span := range e.spans {
		values, ok := e.Timeline.Gauge(name, nil, metric.SourceService, span)
		for i, v := range values {
			if !ok[i] || !finite(v) {
				continue
			}
			sum, n, l.last = sum+v, n+1, pointer(v)
			if l.largest == nil || v > *l.largest {
				l.largest = pointer(v)
			}
		}
	}
	if n > 0 {
		l.mean = pointer(sum / float64(n))
	}
	return l
}
