// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"fmt"
	"slices"
	"time"

	"assay.dev/assay/internal/judge/stats"
	"assay.dev/assay/internal/observe/metric"
)

// The queries of this file are about the load that the generator lost, or started late.

// generatorDropped counts the arrivals that the generator lost: it did not start them in time, or
// they failed for what it lacks.
func generatorDropped(e *evidence) tally {
	lost := e.tally(metric.GeneratorDropped, nil).withCompanion(e.scheduled)
	lost.n += e.tally(metric.GeneratorLacks, nil).n
	return lost
}

// lostText says how many arrivals the generator lost, and for want of what.
func lostText(e *evidence) string {
	text := fmt.Sprintf("the generator lost %d of %d arrivals", generatorDropped(e).n, e.scheduled.n)
	for _, l := range lacks(e) {
		text += "; " + l.in(e)
	}
	return text
}

// displacedSlots counts the slots that the generator itself started later than the
// plan allows.
func displacedSlots(e *evidence) tally {
	late := e.tally(metric.GeneratorDisplaced, nil)
	if !late.found && e.lag.Count() > 0 {
		// No counter: what the histogram cannot rule out counts.
		_, most := e.lag.AtLeast(float64(e.plan.DisplacedAfter.Nanoseconds()) / 1e6)
		late = tally{n: int64(most), found: true}
	}
	return late
}

// lateText says how many slots were started late.
func lateText(e *evidence, late tally) string {
	text := fmt.Sprintf("the generator itself started %d of %d transactions more than %s late", late.n, e.scheduled.n, e.plan.DisplacedAfter)
	if script := scriptText(e); script != "" && late.n > 0 {
		text += "; " + script
	}
	return text
}

// over reports whether a number is known, and as a share of the schedule over its limit.
func over(e *evidence, n tally, limit *float64) bool {
	share := ratio(n, e.scheduled)
	return share != nil && *share > *limit
}

// displaced reports whether more load was displaced than the rule offered allows.
func displaced(e *evidence) bool { return over(e, displacedSlots(e), e.limits.Offered) }

// undeliveredLoad says how much of the load the generator itself lost, or started late, where
// that is more than its rules allow; empty: it delivered the load.
func undeliveredLoad(e *evidence) string {
	if dropped := generatorDropped(e); over(e, dropped, e.limits.GeneratorDrops) {
		return lostText(e)
	}
	if displaced(e) {
		return lateText(e, displacedSlots(e))
	}
	return ""
}

// maxScattered is the largest share of a second's arrivals that may be displaced
// without a burst that lasts beyond the second (ours).
const maxScattered = 0.1

// withoutDisplaced are the violations less those that displaced load may have caused,
// where more was displaced than the rule offered allows. Up to maxScattered of a
// second, each displaced slot may have caused its own violation and one other. More
// than that is a burst whose backlog takes time to drain: its second does not count,
// nor does one further second for each second of the burst.
func withoutDisplaced(e *evidence, counted []stats.Batch) []stats.Batch {
	if !displaced(e) {
		return counted
	}
	rest := slices.Clone(counted)
	limit := float64(e.plan.DisplacedAfter) / float64(time.Millisecond)
	lag := e.distribution(metric.GeneratorLag, nil)
	lag.count(limit)
	after, window := 0, 0
	for i, b := range lag.counted[limit].possible {
		if b.Stratum != window {
			after, window = 0, b.Stratum
		}
		switch burst := b.K > maxScattered*b.N; {
		case burst:
			after++
		case after > 0:
			after--
		default:
			rest[i].K = max(0, rest[i].K-2*b.K)
			continue
		}
		rest[i] = stats.Batch{Stratum: rest[i].Stratum}
	}
	return rest
}
