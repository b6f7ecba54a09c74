// SPDX-License-Identifier: Apache-2.0

// Package plan turns a profile's load into a plan: stages with exact arrival counts,
// the windows that are judged and compared, and each worker's share and virtual
// users. It is pure.
package plan

import (
	"slices"
	"time"
)

// Stage names.
const (
	Warmup   = "warm-up"
	Baseline = "baseline"
	Ramp     = "ramp"
	Hold     = "hold"
	Overload = "overload" // above the target: judged by goodput, and by how fast the system settles after it
	Cooldown = "cool-down"
)

// Stage is a part of the run in which the rate changes linearly From one value
// To another (arrivals per second of the whole fleet).
type Stage struct {
	Name     string        `json:"name"`
	Start    time.Duration `json:"start_ns"` // since t0
	Duration time.Duration `json:"duration_ns"`
	From     float64       `json:"from"`
	To       float64       `json:"to"`
	Arrivals int64         `json:"arrivals"` // exact number that is scheduled in this stage
}

// End is the end of the stage, since t0.
func (s Stage) End() time.Duration { return s.Start + s.Duration }

// Window is a span of whole seconds since t0, [Start, End).
type Window struct {
	Start time.Duration `json:"start_ns"`
	End   time.Duration `json:"end_ns"`
}

// Duration is the window's length.
func (w Window) Duration() time.Duration { return w.End - w.Start }

// Worker is one worker's share.
type Worker struct {
	Segment string  `json:"segment"` // k6 execution segment, e.g. "0:1/2"
	Share   float64 `json:"share"`   // share of the load, (0,1]; 0: an old record, with equal shares
	VUs     int     `json:"vus"`     // virtual users
}

// Fleet is how the workers share the schedule.
type Fleet struct {
	Workers  []Worker `json:"workers"`
	Sequence string   `json:"sequence,omitempty"` // k6 execution segment sequence, e.g. "0,1/2,1"; empty for one worker
}

// Flow is the plan of one of a profile's flows.
type Flow struct {
	Name string `json:"name"`
	Plan
}

// Plan is what a run will do. That of a profile with flows is the sum of theirs: its stages
// have the total rate, and its judged windows are those in which any flow is judged.
type Plan struct {
	Unit     string   `json:"unit"`
	Target   float64  `json:"target"` // highest judged rate, arrivals per second; with flows, the highest that they hold together
	Stages   []Stage  `json:"stages"`
	Baseline *Window  `json:"baseline,omitempty"` // nil: the plan has none
	Judged   []Window `json:"judged"`
	// Looks are the times since t0 at which the hold may end and be judged: an
	// undecided run continues to the next. The first is the end of Judged; nil: there
	// is only that one.
	Looks   []time.Duration `json:"looks_ns,omitempty"`
	Timeout time.Duration   `json:"timeout_ns"`
	Think   time.Duration   `json:"think_ns,omitempty"` // longest time that a transaction waits by think()
	Even    bool            `json:"even,omitempty"`
	Seed    uint64          `json:"seed"`
	// Closed: the closed model. Transactions begin when VUs are free, so that stages have
	// neither rates nor arrivals.
	Closed bool `json:"closed,omitempty"`
	Fleet
	DisplacedAfter time.Duration `json:"displaced_after_ns"` // a slot that the generator starts later than this is displaced
	Flows          []Flow        `json:"flows,omitempty"`    // nil: the only flow has no name
}

// PerFlow is the plan of each flow of the profile, in its order; where the only flow has no
// name, the plan itself.
func (p Plan) PerFlow() []Plan {
	if len(p.Flows) == 0 {
		return []Plan{p}
	}
	all := make([]Plan, len(p.Flows))
	for i, f := range p.Flows {
		all[i] = f.Plan
	}
	return all
}

// Longest is how long a transaction may take by the clock.
func (p Plan) Longest() time.Duration { return p.Timeout + p.Think }

// Duration is the length of the schedule; transactions may end up to Longest
// later.
func (p Plan) Duration() time.Duration {
	if len(p.Stages) == 0 {
		return 0
	}
	return p.Stages[len(p.Stages)-1].End()
}

// Peak is the highest rate of any stage, arrivals per second.
func (p Plan) Peak() (peak float64) {
	for _, s := range p.Stages {
		peak = max(peak, s.From, s.To)
	}
	return peak
}

// Arrivals is the number of all scheduled transactions.
func (p Plan) Arrivals() (n int64) {
	for _, s := range p.Stages {
		n += s.Arrivals
	}
	return n
}

// ExpectedBy is the mean number of arrivals that are due by a time since t0.
func (p Plan) ExpectedBy(at time.Duration) (n float64) {
	for _, s := range p.Stages {
		if s.Start < at {
			n += float64(s.Arrivals) * s.share(s.Start, min(at, s.End()))
		}
	}
	return n
}

// LowestJudged is the lowest rate of a judged stage, arrivals per second, at most Target.
func (p Plan) LowestJudged() float64 {
	low := p.Target
	for _, s := range p.Stages {
		if p.isJudged(s) {
			low = min(low, s.From, s.To)
		}
	}
	return low
}

// HighestJudged is the highest rate of a judged stage, arrivals per second. With flows it may
// be one that they do not hold.
func (p Plan) HighestJudged() float64 {
	high := 0.0
	for _, s := range p.Stages {
		if p.isJudged(s) {
			high = max(high, s.From, s.To)
		}
	}
	return high
}

// UnjudgedPeak is the index of the first stage with a rate above every judged one that is no
// overload; -1: there is none.
func (p Plan) UnjudgedPeak() int {
	highest := p.HighestJudged()
	return slices.IndexFunc(p.Stages, func(s Stage) bool { return s.Name != Overload && s.Name != Ramp && s.To > highest })
}

// AtTarget is the total time for which judged stages hold the target.
func (p Plan) AtTarget() (d time.Duration) {
	for _, s := range p.Stages {
		if p.isJudged(s) && s.From == p.Target && s.To == p.Target {
			d += s.Duration
		}
	}
	return d
}

// JudgedArrivals is the number of transactions scheduled in judged windows.
func (p Plan) JudgedArrivals() (n int64) {
	for _, s := range p.Stages {
		if p.isJudged(s) {
			n += s.Arrivals
		}
	}
	return n
}

func (p Plan) isJudged(s Stage) bool {
	for _, w := range p.Judged {
		if s.Start >= w.Start && s.End() <= w.End {
			return true
		}
	}
	return false
}

// At is the plan of a run whose hold ends at a look, counted from 1: it is judged up to
// that look and has no later stages. The cool-down remains only after the last look, as
// otherwise the next hold has begun. At(0), and for a plan with a single look, it is
// the plan itself.
func (p Plan) At(look int) Plan {
	if look < 1 || len(p.Looks) == 0 {
		return p
	}
	look = min(look, len(p.Looks))
	end := p.Looks[look-1]
	p.Judged = []Window{{Start: p.Judged[0].Start, End: end}}
	if look < len(p.Looks) {
		p.Stages = slices.Clone(p.Stages[:slices.IndexFunc(p.Stages, func(s Stage) bool { return s.Start >= end })])
	}
	return p
}
