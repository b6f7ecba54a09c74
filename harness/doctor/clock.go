package doctor

import (
	"fmt"
	"math"
	"strings"
	"time"

	"assay/harness/doctor/probe"
	"assay/harness/spec"
)

// clock judges whether this host's clock is kept right. Where everything is on
// this host there is no other clock to differ from.
func clock(c probe.Clock, elsewhere []string) Finding {
	const remedy = "timedatectl set-ntp true (or chronyc makestep)"
	needed := ""
	if len(elsewhere) > 0 {
		needed = "synchronised"
	}
	observed := "synchronised, to " + durationText(c.MaxError)
	switch {
	case !c.Known:
		observed = "not known"
	case !c.Synchronised:
		observed = "not synchronised"
	}
	if c.Known && c.Synchronised || len(elsewhere) == 0 {
		return fine(CheckClock, observed, needed)
	}
	return doubtful(CheckClock, observed, needed, fmt.Sprintf(
		"the clock of this host is %s, and %s on another: times of the two cannot be compared", observed, areText(elsewhere),
	), remedy)
}

func areText(what []string) string {
	if len(what) == 1 {
		return "the " + what[0] + " is"
	}
	return "the " + strings.Join(what, " and the ") + " are"
}

// databaseClock judges how far the database's clock is from this host's where
// the time between both is judged: persist_lag. Nothing to judge: not ok.
func databaseClock(o probe.Offset, loads []Load) (_ Finding, judged bool) {
	tightest := math.Inf(1)
	for _, l := range loads {
		for _, s := range l.Profile.SLOs {
			if s.Metric == spec.PersistLagMetric {
				tightest = min(tightest, s.Bound)
			}
		}
	}
	if math.IsInf(tightest, 1) {
		return Finding{}, false
	}
	limit := time.Duration(spec.ClockShare * tightest * float64(time.Millisecond))
	needed := "within " + durationText(limit)
	const remedy = "timedatectl set-ntp true, on both hosts"
	if !o.Known {
		return doubtful(CheckDBClock, "not known", needed, "the clock of the database cannot be read, and persist_lag is judged", remedy), true
	}
	way := "ahead"
	if o.Ahead < 0 {
		way = "behind"
	}
	observed := fmt.Sprintf("%s %s, give or take %s", durationText(o.Ahead.Abs()), way, durationText(o.Uncertainty))
	if o.Ahead.Abs() <= limit {
		return fine(CheckDBClock, observed, needed), true
	}
	why := fmt.Sprintf("the clock of the database is %s of this host's: more than a tenth of the bound on persist_lag, %gms", observed, tightest)
	f := doubtful(CheckDBClock, observed, needed, why, remedy)
	f.Limitation = why
	return f, true
}
