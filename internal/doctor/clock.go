package doctor

import (
	"fmt"
	"math"
	"strings"
	"time"

	"assay.dev/assay/internal/doctor/probe"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/quantity"
	"assay.dev/assay/internal/rulebook"
)

// clock judges whether this host's clock is synchronised. That does not matter if nothing
// is on another host.
func clock(c probe.Clock, remote []string) Finding {
	const remedy = "timedatectl set-ntp true (or chronyc makestep)"
	needed := "any: all is on this host"
	if len(remote) > 0 {
		needed = "synchronised"
	}
	observed := "synchronised, error at most " + durationText(c.MaxError)
	switch {
	case !c.Known:
		observed = "not known"
	case !c.Synchronised:
		observed = "not synchronised"
	}
	if c.Known && c.Synchronised || len(remote) == 0 {
		return pass(CheckClock, observed, needed)
	}
	state := observed
	if !c.Known {
		state = "possibly not synchronised"
	}
	return warn(CheckClock, observed, needed, fmt.Sprintf(
		"the clock of this host is %s, and %s on another host: their times cannot be compared", state, areText(remote),
	), remedy)
}

// areText is the subject and verb of a sentence about one or several parts.
func areText(what []string) string {
	if len(what) == 1 {
		return "the " + what[0] + " is"
	}
	return "the " + strings.Join(what, " and the ") + " are"
}

// databaseClock judges the offset of the database's clock from this host's if an SLO
// depends on it, that is on persist_lag; otherwise it is not judged.
func databaseClock(o probe.Offset, loads []Load) (_ Finding, judged bool) {
	tightest := math.Inf(1)
	for _, l := range loads {
		for _, s := range l.Profile.AllSLOs() {
			if s.Metric == metric.PersistLag {
				tightest = min(tightest, s.Bound)
			}
		}
	}
	if math.IsInf(tightest, 1) {
		return Finding{}, false
	}
	limit := time.Duration(rulebook.ClockShare * tightest * float64(time.Millisecond))
	needed := "within " + durationText(limit)
	const remedy = "timedatectl set-ntp true, on both hosts"
	if !o.Known {
		return warn(CheckDBClock, "not known", needed, "the clock of the database cannot be read, and persist_lag is judged", remedy), true
	}
	offset := durationText(o.Ahead.Abs()) + " ahead of"
	if o.Ahead < 0 {
		offset = durationText(o.Ahead.Abs()) + " behind"
	}
	observed := fmt.Sprintf("%s this host (±%s)", offset, durationText(o.Uncertainty))
	if o.Ahead.Abs() <= limit {
		return pass(CheckDBClock, observed, needed), true
	}
	why := fmt.Sprintf("the clock of the database is %s: more than a tenth of the bound on persist_lag, %s", observed, quantity.Limit(tightest, "ms"))
	f := warn(CheckDBClock, observed, needed, why, remedy)
	f.Limitation = why
	return f, true
}
