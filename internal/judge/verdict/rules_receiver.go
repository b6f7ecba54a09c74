package verdict

import (
	"fmt"
	"math"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
)

// maxReceiveDelay is the longest time that a report of a worker may take to reach the
// record, in ms (ours): abort conditions and the view are as late.
const maxReceiveDelay = 5000

// receiver: the coordinator received the workers' reports in time. Late ones are not
// lost, but nobody saw them when they mattered. A delay is booked in the second of its
// report's arrival, so that those of a window's end are read after it.
func receiver(e *evidence) Rule {
	r := Rule{
		Limit: pointer(float64(maxReceiveDelay)), Unit: "ms", Outcome: Pass,
		Detail: "the coordinator did not measure it",
		Advice: "Give the coordinator a CPU of its own and a network without outages, or use fewer workers.",
	}
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
	if delay > maxReceiveDelay {
		r.Limitation = r.Detail + ": abort conditions could not see them in time"
	}
	return r
}
