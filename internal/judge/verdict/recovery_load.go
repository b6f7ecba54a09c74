// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"time"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/spec"
)

// loadChanges are the ends of overloads and the steps up in load that an SLO judges.
func (e *evidence) loadChanges() (all []disturbance) {
	for _, c := range changesIn(e.plan, e.Plan.Profile) {
		r := Recovery{
			Fault:  certificate.Fault{Flow: e.flow(), Number: c.stage + 1, End: c.metric == metric.SettleTime, At: e.Facts.T0.Add(c.at)},
			Metric: c.metric, Rate: c.rate, Until: e.Facts.T0.Add(c.until), Rose: c.until < e.plan.Duration(),
		}
		all = append(all, disturbance{Recovery: r, held: heldSeconds})
	}
	return all
}

// loadChange is a change in load from which the system has to recover.
type loadChange struct {
	metric    string        // settle_time or time_to_scale, which judges it
	stage     int           // index of the overload that ends, or of the hold that begins
	rate      float64       // of the step, or the highest one of the overload, per second
	at, until time.Duration // since t0; the load rises again, or ends
}

// changesIn are the changes in the load of a flow that an SLO of it judges. Overload stages
// that follow each other are one overload. A step up is a judged window that follows a lower
// rate; a ramp to it ends where the window starts.
func changesIn(of plan.Plan, p spec.Profile) (all []loadChange) {
	_, settles := p.Limit(metric.SettleTime)
	_, scales := p.Limit(metric.TimeToScale)
	before := 0.0 // rate of the last stage that was no ramp
	overload := 0.0
	for i, s := range of.Stages {
		if s.Name == plan.Ramp {
			continue
		}
		switch {
		case s.Name == plan.Overload:
			if overload = max(overload, s.To); settles && !overloadFollows(of.Stages[i+1:]) {
				all = append(all, loadChange{metric.SettleTime, i, overload, s.End(), nextRise(of, i)})
				overload = 0
			}
		case s.Name == plan.Hold && scales && before > 0 && s.From > before:
			all = append(all, loadChange{metric.TimeToScale, i, s.To, s.Start, nextRise(of, i)})
		}
		before = s.To
	}
	return all
}

// overloadFollows reports whether the first of the stages that is no ramp is an overload.
func overloadFollows(stages []plan.Stage) bool {
	for _, s := range stages {
		if s.Name != plan.Ramp {
			return s.Name == plan.Overload
		}
	}
	return false
}

// nextRise is when, after a stage, the rate rises, from its start with a ramp; the end of
// the load if it does not.
func nextRise(of plan.Plan, stage int) time.Duration {
	rate := of.Stages[stage].To
	for _, s := range of.Stages[stage+1:] {
		if s.From > rate || s.To > s.From {
			return s.Start
		}
		rate = s.To
	}
	return of.Duration()
}
