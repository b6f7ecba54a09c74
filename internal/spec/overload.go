// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay.dev/assay/internal/observe/metric"
)

// Held is for how long the latency SLOs must hold after an overload, or after a step up in
// load, for the system to have settled (ours): twice Settled, as the load itself changes.
const Held = 10 * time.Second

// Kept is the time in any part of which the SLOs must hold once a system has recovered, until the
// load rises or ends, or the next fault comes (ours): a second that is slow by chance is no relapse.
const Kept = time.Minute

// Overloads reports whether the load has a stage above its target, which goodput and
// settle_time judge.
func (l Load) Overloads() bool {
	return slices.ContainsFunc(l.Stages, func(s Stage) bool { return s.Overload })
}

// stepsUp reports whether a judged part of the load begins after a lower rate.
func (l Load) stepsUp() bool {
	for i := range l.Stages {
		if l.stepUp(i) {
			return true
		}
	}
	return len(l.Stages) == 0 && l.Baseline.For > 0 && l.Baseline.Rate < l.Target
}

// stepUp reports whether a stage is judged and follows a lower rate.
func (l Load) stepUp(stage int) bool {
	s := l.Stages[stage]
	return s.Judge && stage > 0 && l.Stages[stage-1].Rate > 0 && s.Rate > l.Stages[stage-1].Rate
}

// InTime is the SLO within which a transaction must complete to count as goodput: that on
// transaction_duration with the smallest bound; ok is false if there is none.
func (p Profile) InTime() (s SLO, ok bool) { return inTime(p.WholeSLOs()) }

func inTime(slos []SLO) (tightest SLO, ok bool) {
	for _, s := range slos {
		if s.OfTransactions() && s.Aggregate == Percentile && len(s.Selector) == 0 && (!ok || s.Bound < tightest.Bound) {
			tightest, ok = s, true
		}
	}
	return tightest, ok
}

// Limit is the tightest bound of the profile's SLOs on a time that is judged as a maximum,
// such as recovery_time; ok is false if there is none.
func (p Profile) Limit(name string) (limit time.Duration, ok bool) {
	return limitOf(p.AllSLOs(), name)
}

func limitOf(slos []SLO, name string) (limit time.Duration, ok bool) {
	for _, s := range slos {
		if s.Metric == name {
			if d := time.Duration(s.Bound * float64(time.Millisecond)); !ok || d < limit {
				limit, ok = d, true
			}
		}
	}
	return limit, ok
}

// checkOverload checks that overload stages are judged by goodput or settle_time, and that
// the load has what these and time_to_scale judge. n holds the load's and the SLOs' keys.
func (r *reader) checkOverload(n *node, l Load, slos []SLO) {
	slo := n.get("slo")
	if slo == nil || !slo.validTree() || l.Unit == "" || l.check() != nil {
		return
	}
	for _, key := range []string{"load", "share"} {
		if c := n.get(key); c != nil && !c.validTree() {
			return
		}
	}
	judged, unbounded := false, false
	for _, c := range slo.children {
		name := metricOf(c.name)
		switch {
		case !(SLO{Metric: name}).OfStages():
			continue
		case name == metric.TimeToScale && !l.stepsUp():
			r.fail(c, "time_to_scale judges a step up in load, and no judged stage follows a lower rate", `let a stage with "judge": true follow one with a lower rate`)
		case name != metric.TimeToScale && !l.Overloads():
			r.fail(c, name+" judges an overload, and the load has none", `add a stage such as {"rate": 150, "for": "20s", "overload": true}`)
		default:
			if _, ok := inTime(slos); !ok && !unbounded {
				unbounded = true
				r.fail(c, name+" needs a percentile of transaction_duration as the latency SLO that must hold", `add "slo": {"transaction_duration": ["p(95)<250"]}`)
			}
		}
		judged = judged || name != metric.TimeToScale
	}
	if l.Overloads() && !judged {
		r.fail(slo, "nothing judges the overload of the load", `add "goodput": ["rate>0.9"] or "settle_time": ["max<20000"]`)
	}
	for _, m := range l.cutShort(slos) {
		r.fail(slo, m.problem, m.hint)
	}
}

// cutShort are the changes in load that settle_time and time_to_scale judge, and after which
// the load ends, or rises again, too early to show whether the limit was kept.
func (l Load) cutShort(slos []SLO) (all []loadFault) {
	check := func(name, change string, left time.Duration, rises bool) {
		limit, ok := limitOf(slos, name)
		if !ok || left >= limit+Held {
			return
		}
		does, hint := "ends", "add or lengthen a stage after the "+change
		switch {
		case rises:
			does, hint = "rises again", "lengthen the stages between, or lower the limit"
		case len(l.Stages) == 0:
			hint = "lengthen the hold"
		}
		all = append(all, loadFault{
			problem: fmt.Sprintf("the load %s %v after the %s: too early to judge %s, for which %v are needed", does, left, change, name, limit+Held),
			hint:    hint,
		})
	}
	for i, s := range l.Stages {
		number := strconv.Itoa(i + 1)
		left, rises := l.untilRise(i)
		switch {
		case s.Overload && (i+1 == len(l.Stages) || !l.Stages[i+1].Overload):
			check(metric.SettleTime, "overload in stage "+number, left, rises)
		case l.stepUp(i):
			check(metric.TimeToScale, "step up in stage "+number, s.For+left, rises)
		}
	}
	if len(l.Stages) == 0 && l.stepsUp() {
		left := l.Hold
		if l.HoldMax == 0 { // or the run may end at the first look, without a cool-down
			left += l.Cooldown
		}
		check(metric.TimeToScale, "step up to the hold", left, false)
	}
	return all
}

// untilRise is for how long the load goes on after a stage until its rate rises, or else
// until it ends.
func (l Load) untilRise(stage int) (left time.Duration, rises bool) {
	for i := stage + 1; i < len(l.Stages); i++ {
		if l.Stages[i].Rate > l.Stages[i-1].Rate {
			return left, true
		}
		left += l.Stages[i].Ramp + l.Stages[i].For
	}
	return left, false
}

// PeakHint is what to do about a stage above every judged one.
const PeakHint = `write "judge": true, or "overload": true with an SLO on goodput or settle_time`

// checkPeak checks that nothing but overloads is above every judged rate: the peak of an event is
// what a certificate is about. n is the load. Of flows with loads of their own the total counts.
func (r *reader) checkPeak(n *node, l Load) {
	if n == nil || !n.validTree() || l.check() != nil {
		return
	}
	for i, s := range l.Stages {
		if target := l.Highest(); !s.Overload && s.Rate > target {
			r.fail(n.at(strings.Split(stageKey(i, "rate"), ".")...),
				fmt.Sprintf("rate %g is above the target of %g, the highest judged rate, and nothing judges it", s.Rate, target), PeakHint)
		}
	}
}

// checkOverloads checks that overload stages are above every judged rate, and not judged as
// a hold.
func (l Load) checkOverloads(c *loadCheck) {
	target := 0.0
	for _, s := range l.Stages {
		if s.Judge {
			target = max(target, s.Rate)
		}
	}
	for i, s := range l.Stages {
		rate := stageKey(i, "rate")
		switch {
		case !s.Overload || c.wrong[rate]:
		case s.Judge:
			c.fail(stageKey(i, "overload"), "a stage is judged either as a hold or as an overload", `remove "judge": an overload is judged by goodput`)
		case s.Rate <= target:
			c.fail(rate, fmt.Sprintf("rate %g is not above the target of %g, the highest judged rate", s.Rate, target), `raise it, or write "judge": true instead of "overload": true`)
		}
	}
}
