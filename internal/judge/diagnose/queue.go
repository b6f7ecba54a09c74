// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
)

// waitedForWorker is how long a transaction waited for a free worker of the service, in ms.
func (l *layout) waitedForWorker(w window) float64 {
	if w.parts == nil {
		return 0
	}
	return w.sum[workerQueue] / l.ended(w.sum)
}

// workedOn is how long workers of the service are in use for a transaction, in ms.
func (l *layout) workedOn(w window) float64 {
	return w.sum[serviceTime]/l.ended(w.sum) - l.waitedForWorker(w)
}

// serviceQueues reports whether at least half of the growth of the service's own time is
// waiting for one of its workers, of a service that does not lack CPU.
func (c charges) serviceQueues() bool {
	grown := c.waitedForWorker(c.hold)
	if !c.noBaseline {
		grown -= c.waitedForWorker(c.base)
	}
	return c.known[workerQueue] && grown >= 1 && grown >= c.excessMs[c.index[Service]]/2 && !c.lacksCPU(serviceProcess)
}

// queueDoubt: workers are also missing because requests keep them for longer than at the
// baseline, in another component.
func (a *analysis) queueDoubt(name string) string {
	if name != Service || a.base.parts == nil || !a.serviceQueues() {
		return ""
	}
	now, before := a.workedOn(a.hold), a.workedOn(a.base)
	own := a.parts(a.hold, Service) - a.waitedForWorker(a.hold) - a.parts(a.base, Service) + a.waitedForWorker(a.base)
	use := 0.0 // share of the workers in use, at the baseline's times
	if all := a.hold.sum[capacity]; all > 0 {
		use = before / 1000 * a.hold.sum[scheduled] / all
	}
	if now < slowdown*before || own >= (now-before)/2 || use >= fullPoolShare {
		return ""
	}
	return fmt.Sprintf("its workers are in use for %s per transaction, against %s at the baseline, at which they would suffice: most of that is not the service's own time", ms(now), ms(before))
}

func (l *layout) parts(w window, name string) float64 { return w.parts[l.index[name]] }

// queueSentence says for how long requests waited for a worker, and how the number of
// workers grew; for how much of the time any waited only if the service reports that.
func (a *analysis) queueSentence() string {
	text := fmt.Sprintf("Requests waited %s per transaction for a free worker of the service", ms(a.waitedForWorker(a.hold)))
	if a.base.parts != nil {
		text += fmt.Sprintf(", against %s at the baseline", ms(a.waitedForWorker(a.base)))
	}
	if !a.known[capacity] {
		return text + "."
	}
	line, whole := a.run.Timeline, record.Span{From: a.run.Facts.T0.Unix(), To: a.spans[len(a.spans)-1].To}
	workers := fillGaps(line.Gauge(metric.ServiceCapacity, nil, metric.SourceService, whole))
	waiting, read := line.Gauge(metric.ServiceWaiting, nil, metric.SourceService, whole)
	full, seconds, known := 0, 0, false // known: how many waited in the judged windows
	for _, span := range a.spans {
		known = known || slices.Contains(read[span.From-whole.From:span.To-whole.From], true)
	}
	waiting = fillGaps(waiting, read)
	for _, span := range a.spans {
		for second := span.From; second < span.To; second++ {
			if seconds++; waiting[second-whole.From] > 0 {
				full++
			}
		}
	}
	text += fmt.Sprintf(": its capacity was %s", number(workers[a.spans[0].From-whole.From]))
	if known {
		text += fmt.Sprintf(", with requests waiting for %s of the time", percent(float64(full)/float64(seconds)))
	}
	var grew []string
	for i := 1; i < len(workers); i++ {
		if workers[i] <= workers[i-1] || known && waiting[i-1] == 0 {
			continue
		}
		growth := fmt.Sprintf("to %s at %s UTC", number(workers[i]), time.Unix(whole.From+int64(i), 0).UTC().Format(time.TimeOnly))
		if known {
			since := i
			for since > 0 && waiting[since-1] > 0 && workers[since-1] == workers[i-1] {
				since--
			}
			growth += fmt.Sprintf(", after requests had waited for %d s", i-since)
		}
		grew = append(grew, growth)
	}
	if len(grew) == 0 {
		return text + "; it did not grow."
	}
	return text + "; it grew " + strings.Join(grew[:min(len(grew), maxGrowths)], ", ") + "."
}

// maxGrowths bounds how many growths of the service's capacity are listed.
const maxGrowths = 3
