// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/rulebook"
)

// seeCause is the advice on what a worker does not report if it does not report to its
// end: to see the rule that says why.
func (e *evidence) seeCause(worker string) string {
	if e.isLost(worker) {
		return rulebook.See(rulebook.WorkerLost)
	}
	return rulebook.See(rulebook.Frames)
}

// seeded: every worker drew arrivals and data from the plan's seed, so that the run
// can be repeated.
func seeded(e *evidence) Rule {
	seed := strconv.FormatUint(e.plan.Seed, 10)
	r := Rule{Outcome: Pass, Rule: certificate.Rule{
		Detail: fmt.Sprintf("arrivals and data of all %d workers are drawn from the recorded seed %s", len(e.plan.Workers), seed),
	}}
	var other []string
	for _, w := range e.workers() {
		if !e.streams[w].Closed { // the seed is in its last frame
			other = append(other, w+" did not report to its end, where it names its seed")
			r.Advice = e.seeCause(w)
			continue
		}
		reported := "none"
		for _, p := range e.streams[w].Totals {
			if p.Series.Name == metric.WorkerSeed {
				reported = p.Series.Label("seed")
			}
		}
		if reported != seed {
			other = append(other, fmt.Sprintf("%s reports seed %s", w, reported))
		}
	}
	if len(other) > 0 || len(e.plan.Workers) == 0 {
		r.Outcome = Invalid
		r.Detail = fmt.Sprintf("the plan's seed is %s: %s", seed, strings.TrimSpace(joinFirst(other, 3)))
	}
	return r
}

// startSkew: the workers started together. It compares by how much each was late for
// its first slot, as their schedules do not start with the same slot.
func startSkew(e *evidence) Rule {
	r := Rule{Outcome: Invalid, Rule: certificate.Rule{Limit: pointer(float64(rulebook.MaxSkewMs))}}
	first, last, missing := math.Inf(1), math.Inf(-1), ""
	for _, w := range e.workers() {
		late, reported := total(e.streams[w], metric.WorkerStartDelay, "")
		if reported {
			first, last = min(first, late), max(last, late)
		} else if n, _ := e.Timeline.SumOf(w, metric.TransactionsScheduled, nil, record.All); n > 0 || len(e.plan.Workers) == 1 {
			missing = w // a worker without any slot, in a small schedule, has no first one
		}
	}
	switch {
	case missing != "" && !e.streams[missing].Closed:
		r.Detail, r.Advice = missing+" did not report to its end, where it names the delay of its first arrival", e.seeCause(missing)
	case missing != "":
		r.Detail = missing + " did not report its first arrival"
	case first > last:
		r.Detail = "no worker started a transaction"
	default:
		r.Observed, r.Outcome = pointer(last-first), passOrInvalid(last-first <= rulebook.MaxSkewMs)
		r.Detail = fmt.Sprintf("the workers' first arrivals were at most %s ms apart, relative to their schedules", number(last-first))
	}
	return r
}
