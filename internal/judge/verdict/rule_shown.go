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

// The rules of this file never make a run INVALID: they state limitations.

// coLocation: processes on the generator's host compete with it.
func coLocation(p *part) Rule {
	shared := p.Environment.CoLocation
	r := Rule{Rule: certificate.Rule{
		Observed: new(float64(len(shared))),
		Detail:   "neither service nor database is known to share the generator's host",
	}}
	if len(shared) > 0 {
		r.Detail = neighbours(shared) + " share a host"
		r.Limitation = r.Detail
	}
	return r
}

// neighbours is "generator, service and database".
func neighbours(shared []string) string { return joinAnd(append([]string{"generator"}, shared...)) }

// tool: a binary built from known sources can be rebuilt.
func tool(p *part) Rule {
	if t := p.Plan.Tool; !t.Dirty && t.Revision != "" {
		return Rule{Rule: certificate.Rule{Detail: "built from revision " + t.Revision}}
	}
	text := "the binary was built from changed or unknown sources"
	return Rule{Limitation: text, Rule: certificate.Rule{Detail: text}}
}

// receiver: the coordinator received the workers' reports in time. Late ones are not
// lost, but nobody saw them when they mattered. A delay is booked in the second of its
// report's arrival, so that those of a window's end are read after it.
func receiver(p *part) Rule {
	r := Rule{Rule: certificate.Rule{
		Limit:  new(float64(rulebook.MaxDelayMs)),
		Detail: "the coordinator did not measure it",
	}}
	delay, worker := math.Inf(-1), ""
	load := record.Span{From: p.Facts.T0.Unix(), To: math.MaxInt64}
	for _, s := range p.Timeline.Series(metric.ReceiveDelay) {
		if v, found := p.Timeline.MaxGauge(metric.ReceiveDelay, s.Labels, load); found && v > delay {
			delay, worker = v, s.Label("worker")
		}
	}
	if worker == "" {
		return r
	}
	r.Observed = &delay
	r.Detail = fmt.Sprintf("reports of %s reached the record up to %s ms after their second", workerName(p.evidence, worker), number(delay))
	if delay > rulebook.MaxDelayMs {
		r.Limitation = r.Detail + ": abort conditions could not see them in time"
	}
	return r
}
