package verdict

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"assay/harness/observe/metric"
	"assay/harness/observe/record"
)

// seeded: every worker drew arrivals and data from the plan's seed, so that the
// run can be made again.
func seeded(e *evidence) Rule {
	seed := strconv.FormatUint(e.plan.Seed, 10)
	r := Rule{
		Outcome: Pass,
		Detail:  fmt.Sprintf("arrivals and data of all %d workers are drawn from the recorded seed %s", len(e.plan.Workers), seed),
		Advice:  "Run it again with workers of the same program, and look into their logs.",
	}
	var other []string
	for _, w := range e.workers() {
		said := "none"
		for _, p := range e.streams[w].Totals {
			if p.Series.Name == metric.WorkerSeed {
				said = p.Series.Label("seed")
			}
		}
		if said != seed {
			other = append(other, fmt.Sprintf("%s reports seed %s", w, said))
		}
	}
	if len(other) > 0 || len(e.plan.Workers) == 0 {
		r.Outcome = Invalid
		r.Detail = fmt.Sprintf("the plan's seed is %s: %s", seed, strings.TrimSpace(some(other, 3)))
	}
	return r
}

// maxSkew is the largest spread of the workers' first arrivals, in ms (RULEBOOK
// section 1).
const maxSkew = 1000

// startSkew: the workers started together. What counts is how late each took
// its first slot: when that was due is the schedule's matter.
func startSkew(e *evidence) Rule {
	r := Rule{
		Limit: pointer(float64(maxSkew)), Unit: "ms",
		Outcome: Invalid,
		Advice:  "Start fewer workers on a host, or give the hosts room and synchronised clocks.",
	}
	first, last, missing := math.Inf(1), math.Inf(-1), ""
	for _, w := range e.workers() {
		late, said := total(e.streams[w], metric.WorkerStartDelay, "")
		if said {
			first, last = min(first, late), max(last, late)
		} else if n, _ := e.Timeline.SumOf(w, metric.TransactionsScheduled, nil, record.All); n > 0 || len(e.plan.Workers) == 1 {
			missing = w // one that has no slot of a small schedule has no first
		}
	}
	switch {
	case missing != "":
		r.Detail = missing + " did not report its first arrival"
	case first > last:
		r.Detail = "no worker took a slot"
	default:
		r.Observed, r.Outcome = pointer(last-first), holds(last-first <= maxSkew)
		r.Detail = fmt.Sprintf("the workers' first arrivals were at most %s ms apart, beside their schedules", number(last-first))
	}
	return r
}
