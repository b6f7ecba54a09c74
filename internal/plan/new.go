// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"assay.dev/assay/internal/quantity"
	"assay.dev/assay/internal/spec"
)

// Limits of one worker, above which a plan is refused: what one k6 process can
// sustain, not what is recommended.
const (
	// MaxRate is the highest rate of a worker, in arrivals per second; a prototype
	// reached 22,000 on one core.
	MaxRate = 100_000
	// MaxVUs bounds memory: a VU of a small script takes about 0.3 MiB.
	MaxVUs = 20_000
	minVUs = 10
	// vuHeadroom is the factor over the VUs that a system just within its SLOs needs.
	vuHeadroom = 1.5
	// maxDisplaced is how late the generator may start a slot before the slot counts
	// as displaced, unless a latency bound is tighter (rule `offered` of docs/rulebook.md).
	maxDisplaced = 100 * time.Millisecond
)

// New plans a profile on a number of workers with equal shares.
func New(p spec.Profile, workers int, seed uint64) (Plan, error) {
	if workers < 1 {
		return Plan{}, fmt.Errorf("plan %s: %d workers: want at least one", p.Name, workers)
	}
	return NewWeighted(p, slices.Repeat([]int{1}, workers), seed)
}

// NewWeighted plans a profile on workers whose shares of the load are in proportion to
// their weights, which are positive.
func NewWeighted(p spec.Profile, weights []int, seed uint64) (Plan, error) {
	if !p.Named() {
		pl, err := newFlow(p.Flows[0], p.Name, weights, seed)
		if err != nil {
			return Plan{}, err
		}
		return pl, pl.checkWorkers(p.Name)
	}
	var flows []Flow
	for i, of := range p.Flows {
		pl, err := newFlow(of, p.Title(of), weights, seedOf(seed, i))
		if err != nil {
			return Plan{}, err
		}
		flows = append(flows, Flow{of.Name, pl})
	}
	pl := sum(flows, weights, seed)
	return pl, pl.checkWorkers(p.Name)
}

// newFlow plans one flow; title names it in errors.
func newFlow(of spec.Flow, title string, weights []int, seed uint64) (Plan, error) {
	pl := Plan{Unit: of.Load.Unit, Timeout: of.Timeout, Think: of.Think, Even: of.Load.Even, Seed: seed, DisplacedAfter: DisplacedAfter(of.SLOs)}
	switch {
	case of.Load.Threads > 0:
		return pl.closed(of, title, weights)
	case len(of.Load.Stages) > 0:
		pl.addStages(of.Load)
	default:
		pl.addPhases(of.Load)
	}
	countArrivals(pl.Stages)
	if pl.JudgedArrivals() == 0 {
		return Plan{}, fmt.Errorf("plan %s: no transaction is scheduled in a judged window", title)
	}
	peak := pl.Peak()
	pl.Fleet = Shares(weights, func(share float64) int { return VUs(peak*share, of.SLOs, of.Timeout, of.Think) })
	return pl, nil
}

// checkWorkers refuses a plan that is too much for one of its workers.
func (p Plan) checkWorkers(name string) error {
	peak := p.Peak()
	largest := slices.MaxFunc(p.Workers, func(a, b Worker) int { return cmp.Compare(a.Share, b.Share) })
	if rate := peak * largest.Share; rate > MaxRate {
		return fmt.Errorf("plan %s: %s per worker is more than the maximum of %d/s: use more workers",
			name, quantity.Format(rate, "1/s"), MaxRate)
	}
	if largest.VUs > MaxVUs {
		busy, less := "", "a shorter timeout"
		if p.Think > 0 { // a VU is busy while its transaction thinks
			busy, less = fmt.Sprintf(", with up to %s of think time in a transaction", p.Think), "a shorter think, a shorter timeout"
		}
		return fmt.Errorf("plan %s: %s/s needs %d VUs per worker, more than the maximum of %d%s: use more workers, %s or a tighter transaction_duration SLO",
			name, quantity.Exact(peak), largest.VUs, MaxVUs, busy, less)
	}
	return nil
}

// closed plans the closed model: a warm-up and a hold with a fixed number of VUs.
func (p Plan) closed(of spec.Flow, title string, weights []int) (Plan, error) {
	p.Closed = true
	p.add(Warmup, of.Load.Warmup, 0, 0)
	p.Judged = []Window{p.add(Hold, of.Load.Hold, 0, 0)}
	p.Fleet = Shares(weights, func(float64) int { return 0 })
	share, before := 0.0, 0
	for i := range p.Workers { // the cumulative sum is rounded, so that all threads are there
		share += p.Workers[i].Share
		upTo := int(math.Round(float64(of.Load.Threads) * share))
		p.Workers[i].VUs, before = upTo-before, upTo
		if p.Workers[i].VUs == 0 {
			return Plan{}, fmt.Errorf("plan %s: %d threads are fewer than one for each of %d workers: use fewer workers", title, of.Load.Threads, len(weights))
		}
	}
	if of.Load.Threads > MaxVUs {
		return Plan{}, fmt.Errorf("plan %s: %d threads are more than the maximum of %d", title, of.Load.Threads, MaxVUs)
	}
	return p, nil
}

func (p *Plan) add(name string, d time.Duration, from, to float64) Window {
	start := p.Duration()
	if d > 0 {
		p.Stages = append(p.Stages, Stage{Name: name, Start: start, Duration: d, From: from, To: to})
	}
	return Window{Start: start, End: start + d}
}

// addPhases adds warm-up and baseline at the baseline's rate, the ramp, the hold with
// its extensions, and a cool-down at the target rate, so that the last judged
// transactions run under the same load as the first.
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

// addStages adds the stages of an event's shape. The first stage with a rate is the baseline
// if it comes before all that are judged and every overload: what comes after them may still
// recover from them.
func (p *Plan) addStages(l spec.Load) {
	rate, fresh := 0.0, true
	for _, s := range l.Stages {
		fresh = fresh && !s.Judge && !s.Overload
		if s.Ramp > 0 {
			p.add(Ramp, s.Ramp, rate, s.Rate)
		}
		rate = s.Rate
		switch {
		case s.Overload:
			p.add(Overload, s.For, rate, rate)
		case s.Judge:
			p.Target = max(p.Target, rate)
			p.Judged = append(p.Judged, p.add(Hold, s.For, rate, rate))
		case fresh && p.Baseline == nil && rate > 0:
			w := p.add(Baseline, s.For, rate, rate)
			p.Baseline = &w
		default:
			p.add(Cooldown, s.For, rate, rate)
		}
	}
}

// countArrivals sets the arrivals of each stage to rate x seconds. It rounds the
// cumulative sum, so that the stages' fractions are not lost.
func countArrivals(stages []Stage) {
	exact, assigned := 0.0, int64(0)
	for i := range stages {
		s := &stages[i]
		exact += (s.From + s.To) / 2 * s.Duration.Seconds()
		s.Arrivals = int64(math.Round(exact)) - assigned
		assigned += s.Arrivals
	}
}

// VUs is the number of virtual users of a worker for a rate in arrivals per second: by
// Little's law rate x mean latency, with the largest mean that the SLOs on
// transaction_duration allow (for p(N): N % of the transactions at the bound, the rest
// at the timeout), times vuHeadroom. Without such an SLO the largest mean is the
// timeout: bounds of requests do not bound a transaction of several requests. If more
// VUs are busy, the SLOs are violated; arrivals then queue, and latencies include it. A VU is also busy while its
// transaction thinks.
func VUs(rate float64, slos []spec.SLO, timeout, think time.Duration) int {
	n := math.Ceil(rate * (maxMean(slos, timeout) + think).Seconds() * vuHeadroom)
	return int(max(n, minVUs))
}

func maxMean(slos []spec.SLO, timeout time.Duration) time.Duration {
	best := timeout
	for _, s := range slos {
		if s.Aggregate != spec.Percentile || !s.OfTransactions() {
			continue
		}
		bound := time.Duration(s.Bound * float64(time.Millisecond))
		mean := time.Duration(s.Quantile*float64(bound) + (1-s.Quantile)*float64(timeout))
		best = min(best, mean)
	}
	return best
}

// DisplacedAfter is how late the generator may start a slot before it counts as
// displaced: the tightest latency bound, at most maxDisplaced. Bounds of a script's own
// trends do not count, as their unit is unknown.
func DisplacedAfter(slos []spec.SLO) time.Duration {
	limit := maxDisplaced
	for _, s := range slos {
		if s.Latency() {
			limit = min(limit, time.Duration(s.Bound*float64(time.Millisecond)))
		}
	}
	return limit
}

// Shares splits the schedule over workers in proportion to their weights. vus is the
// number of VUs for a share of the load.
func Shares(weights []int, vus func(share float64) int) Fleet {
	total := 0
	for _, w := range weights {
		total += w
	}
	f := Fleet{Sequence: "0"}
	before := 0
	for _, w := range weights {
		share := float64(w) / float64(total)
		f.Workers = append(f.Workers, Worker{Segment: fraction(before, total) + ":" + fraction(before+w, total), Share: share, VUs: vus(share)})
		before += w
		f.Sequence += "," + fraction(before, total)
	}
	if len(weights) == 1 {
		f.Sequence = ""
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
