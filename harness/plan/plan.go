package plan

import (
	"fmt"
	"math"
	"slices"
	"time"

	"assay/harness/observe/metric"
	"assay/harness/spec"
)

// Stage names.
const (
	Warmup   = "warm-up"
	Baseline = "baseline"
	Ramp     = "ramp"
	Hold     = "hold"
	Cooldown = "cool-down"
)

// Stage is a part of the run in which the rate changes linearly From one value
// To another (arrivals a second, the whole fleet's).
type Stage struct {
	Name     string        `json:"name"`
	Start    time.Duration `json:"start_ns"` // since t0
	Duration time.Duration `json:"duration_ns"`
	From     float64       `json:"from"`
	To       float64       `json:"to"`
	Arrivals int64         `json:"arrivals"` // exactly so many are scheduled in this stage
}

// End is when the stage ends, since t0.
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
	Segment string `json:"segment"` // k6 execution segment, e.g. "0:1/2"
	VUs     int    `json:"vus"`     // virtual users that it keeps
}

// Fleet is how the workers share the schedule.
type Fleet struct {
	Workers  []Worker `json:"workers"`
	Sequence string   `json:"sequence,omitempty"` // k6 execution segment sequence, e.g. "0,1/2,1"; empty for one worker
}

// Plan is what a run does, before it is done.
type Plan struct {
	Unit     string   `json:"unit"`
	Target   float64  `json:"target"` // highest judged rate, arrivals a second
	Stages   []Stage  `json:"stages"`
	Baseline *Window  `json:"baseline,omitempty"` // nil: the plan has none
	Judged   []Window `json:"judged"`
	// Looks are the ends of the hold, since t0, at which the run may be judged: an
	// undecided one goes on to the next. The first is that of Judged; nil: the plan
	// has no other.
	Looks   []time.Duration `json:"looks_ns,omitempty"`
	Timeout time.Duration   `json:"timeout_ns"`
	Even    bool            `json:"even,omitempty"`
	Seed    uint64          `json:"seed"`
	Fleet
	DisplacedAfter time.Duration `json:"displaced_after_ns"` // a slot that the generator itself starts later than this is displaced
}

// Duration is the length of the schedule; transactions may end up to Timeout
// later.
func (p Plan) Duration() time.Duration {
	if len(p.Stages) == 0 {
		return 0
	}
	return p.Stages[len(p.Stages)-1].End()
}

// Arrivals is the number of all scheduled transactions.
func (p Plan) Arrivals() (n int64) {
	for _, s := range p.Stages {
		n += s.Arrivals
	}
	return n
}

// LowestJudged is the lowest rate of a judged stage, arrivals a second; Target
// is the highest.
func (p Plan) LowestJudged() float64 {
	low := p.Target
	for _, s := range p.Stages {
		if p.judges(s) {
			low = min(low, s.From, s.To)
		}
	}
	return low
}

// AtTarget is for how long judged stages hold the target.
func (p Plan) AtTarget() (d time.Duration) {
	for _, s := range p.Stages {
		if p.judges(s) && s.From == p.Target && s.To == p.Target {
			d += s.Duration
		}
	}
	return d
}

// JudgedArrivals is the number of transactions scheduled in judged windows.
func (p Plan) JudgedArrivals() (n int64) {
	for _, s := range p.Stages {
		if p.judges(s) {
			n += s.Arrivals
		}
	}
	return n
}

func (p Plan) judges(s Stage) bool {
	for _, w := range p.Judged {
		if s.Start >= w.Start && s.End() <= w.End {
			return true
		}
	}
	return false
}

// Limits of one worker, above which a plan is refused: what one k6 process can
// hold, not what it does well.
const (
	// MaxRate is the highest rate a worker can be asked for; the prototype's
	// limit on one core was 22,000 arrivals a second.
	MaxRate = 100_000
	// MaxVUs bounds memory: a VU of a small script takes about 0.3 MiB.
	MaxVUs = 20_000
	minVUs = 10
	// room over the VUs that a system just within its SLOs needs.
	room = 1.5
	// maxDisplaced is how late the generator may start a slot before its load
	// counts as displaced, unless a latency bound is tighter (RULEBOOK, offered).
	maxDisplaced = 100 * time.Millisecond
)

// New plans a profile on a number of workers.
func New(p spec.Profile, workers int, seed uint64) (Plan, error) {
	if workers < 1 {
		return Plan{}, fmt.Errorf("plan %s: %d workers: there must be at least one", p.Name, workers)
	}
	pl := Plan{Unit: p.Load.Unit, Timeout: p.Timeout, Even: p.Load.Even, Seed: seed, DisplacedAfter: DisplacedAfter(p.SLOs)}
	if len(p.Load.Stages) > 0 {
		pl.addStages(p.Load)
	} else {
		pl.addPhases(p.Load)
	}
	countArrivals(pl.Stages)
	if pl.JudgedArrivals() == 0 {
		return Plan{}, fmt.Errorf("plan %s: no transaction is scheduled in a judged window", p.Name)
	}
	peak := 0.0
	for _, s := range pl.Stages {
		peak = max(peak, s.From, s.To)
	}
	if peak > float64(workers)*MaxRate {
		return Plan{}, fmt.Errorf("plan %s: %g/s is more than the %d/s that one worker can be asked for", p.Name, peak/float64(workers), MaxRate)
	}
	vus := VUs(peak/float64(workers), p.SLOs, p.Timeout)
	if vus > MaxVUs {
		return Plan{}, fmt.Errorf("plan %s: %g/s need %d VUs a worker, more than the %d that one can hold: name more workers, a shorter time-out or a tighter transaction_duration SLO",
			p.Name, peak, vus, MaxVUs)
	}
	pl.Fleet = Share(workers, vus)
	return pl, nil
}

func (p *Plan) add(name string, d time.Duration, from, to float64) Window {
	start := p.Duration()
	if d > 0 {
		p.Stages = append(p.Stages, Stage{Name: name, Start: start, Duration: d, From: from, To: to})
	}
	return Window{Start: start, End: start + d}
}

// addPhases lays out warm-up and baseline at the baseline's rate, the ramp,
// the hold, and a cool-down that keeps the target: the last judged
// transactions meet the same load as the first.
func (p *Plan) addPhases(l spec.Load) {
	low := l.Baseline.Rate
	if l.Baseline.For == 0 {
		low = l.Target
	}
	p.Target = l.Target
	p.add(Warmup, l.Warmup, low, low)
	if l.Baseline.For > 0 {
		w := p.add(Baseline, l.Baseline.For, low, low)
		p.Baseline = &w
	}
	p.add(Ramp, l.Ramp, low, l.Target)
	p.Judged = []Window{p.add(Hold, l.Hold, l.Target, l.Target)}
	if n := int(l.HoldMax / max(l.Hold, 1)); n > 1 {
		p.Looks = []time.Duration{p.Duration()}
		for range n - 1 {
			p.Looks = append(p.Looks, p.add(Hold, l.Hold, l.Target, l.Target).End)
		}
	}
	p.add(Cooldown, l.Cooldown, l.Target, l.Target)
}

// addStages lays out an event's shape. The first stage that is not judged is
// the baseline.
func (p *Plan) addStages(l spec.Load) {
	rate := 0.0
	for _, s := range l.Stages {
		if s.Ramp > 0 {
			p.add(Ramp, s.Ramp, rate, s.Rate)
		}
		rate = s.Rate
		switch {
		case s.Judge:
			p.Target = max(p.Target, rate)
			p.Judged = append(p.Judged, p.add(Hold, s.For, rate, rate))
		case p.Baseline == nil && rate > 0:
			w := p.add(Baseline, s.For, rate, rate)
			p.Baseline = &w
		default:
			p.add(Cooldown, s.For, rate, rate)
		}
	}
}

// At is the plan as a run carries it out that ends its hold at a look, counted
// from 1: judged up to there, without the holds after it, and where it is not the
// last without the cool-down, whose place the next hold has. Of a plan with one
// look, and at 0, it is the plan.
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

// countArrivals gives each stage rate x seconds arrivals, rounding what has
// come up since t0 so that fractions are not lost stage by stage.
func countArrivals(stages []Stage) {
	exact, given := 0.0, int64(0)
	for i := range stages {
		s := &stages[i]
		exact += (s.From + s.To) / 2 * s.Duration.Seconds()
		s.Arrivals = int64(math.Round(exact)) - given
		given += s.Arrivals
	}
}

// VUs is the number of virtual users that a worker keeps for a rate: by
// Little's law rate x mean latency, with the largest mean that the latency
// SLOs of the transaction still allow (the share of each quantile step at its
// bound, the rest at the time-out), and room. Without such an SLO the mean may
// be the time-out: bounds of requests do not bound a transaction of several.
// More concurrency than that means the SLOs are missed anyway; arrivals then
// queue and their wait counts.
func VUs(rate float64, slos []spec.SLO, timeout time.Duration) int {
	n := math.Ceil(rate * meanAllowed(slos, timeout).Seconds() * room)
	return int(max(n, minVUs))
}

func meanAllowed(slos []spec.SLO, timeout time.Duration) time.Duration {
	best := timeout
	for _, s := range slos {
		if s.Aggregate != spec.Percentile || s.Metric != metric.TransactionDuration {
			continue
		}
		bound := time.Duration(s.Bound * float64(time.Millisecond))
		mean := time.Duration(s.Quantile*float64(bound) + (1-s.Quantile)*float64(timeout))
		best = min(best, mean)
	}
	return best
}

// DisplacedAfter is how late the generator itself may start a slot before that
// slot's load is displaced: the tightest latency bound, at most maxDisplaced. It
// takes the bounds of times alone: a script's own trend may measure bytes.
func DisplacedAfter(slos []spec.SLO) time.Duration {
	limit := maxDisplaced
	for _, s := range slos {
		if s.Latency() {
			limit = min(limit, time.Duration(s.Bound*float64(time.Millisecond)))
		}
	}
	return limit
}

// Share splits the schedule evenly over workers.
func Share(workers, vus int) Fleet {
	if workers == 1 {
		return Fleet{Workers: []Worker{{Segment: "0:1", VUs: vus}}}
	}
	f := Fleet{Sequence: "0"}
	for i := range workers {
		f.Workers = append(f.Workers, Worker{Segment: fraction(i, workers) + ":" + fraction(i+1, workers), VUs: vus})
		f.Sequence += "," + fraction(i+1, workers)
	}
	return f
}

func fraction(n, of int) string {
	switch n {
	case 0:
		return "0"
	case of:
		return "1"
	}
	return fmt.Sprintf("%d/%d", n, of)
}
