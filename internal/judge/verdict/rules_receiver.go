// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"fmt"
	"math"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/rulebook"
)

// receiver: the coordinator received the workers' reports in time. Late ones are not
// lost, but nobody saw them when they mattered. A delay is booked in the second of its
// report's arrival, so that those of a window's end are read after it.
func receiver(e *evidence) Rule {
	r := Rule{Outcome: Pass, Rule: certificate.Rule{
		Limit:  pointer(float64(rulebook.MaxDelayMs)),
		Detail: "the coordinator did not measure it",
	}}
	delay, worker := math.Inf(-1), ""
	load := record.Span{From: e.Facts.T0.Unix(), To: math.MaxInt64}
	for _, s := range e.Timeline.Series(metric.ReceiveDelay) {
		if v, found := e.Timeline.MaxGauge(metric.ReceiveDelay, s.Labels, load); found && v > delay {
			delay, worker = v, s.Label("worker")
		}
	}
	if worker == "" {
		return r
	}
	r.Observed = &delay
	r.Detail = fmt.Sprintf("reports of %s reached the record up to %s ms after their second", e.workerName(worker), number(delay))
	if delay > rulebook.MaxDelayMs {
		r.Limitation = r.Detail + ": abort conditions could not see them in time"
	}
	return r
}
