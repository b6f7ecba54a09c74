// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// Limits of a load.
const (
	// MaxRate is the highest rate of a profile, in arrivals per second over the whole
	// fleet; a higher one must be a typo.
	MaxRate = 1e6
	// MaxWorkers is the largest number of workers that one run starts on a machine.
	MaxWorkers = 64
	// MaxFleet is the largest number of workers that join one run (docs/capacity.md).
	MaxFleet = 1000
	// MinHold is the shortest time that can be judged at all.
	MinHold = 10 * time.Second
	// MaxDuration bounds each phase and the whole load.
	MaxDuration = 24 * time.Hour
	// BaselineShare of the target is the lowest baseline rate: below it, caches, pools
	// and batches behave too differently for a comparison with the hold.
	BaselineShare = 0.2
	// rounding is the relative error that scaling a rate may introduce.
	rounding = 1e-9
)

// loadFault is one mistake in a load; path leads to its key in the file, like stages.1.rate.
type loadFault struct{ path, problem, hint string }

// loadCheck collects faults, at most one for each value.
type loadCheck struct {
	faults []loadFault
	wrong  map[string]bool // paths of the faults
}

func (c *loadCheck) fail(path, problem, hint string) {
	if c.wrong == nil {
		c.wrong = map[string]bool{}
	}
	c.faults, c.wrong[path] = append(c.faults, loadFault{path, problem, hint}), true
}

// rate checks a rate; zero says whether it may be 0.
func (c *loadCheck) rate(path string, v float64, zero bool) {
	switch {
	case math.IsNaN(v):
		c.fail(path, "rate is not a number", "")
	case v < 0 || v == 0 && !zero:
		c.fail(path, fmt.Sprintf("rate %g is not above 0", v), "")
	case v > MaxRate:
		c.fail(path, fmt.Sprintf("rate %g is more than %d per second", v, int(MaxRate)), "")
	}
}

// length is a part of the load, which lasts that long.
type length struct {
	path     string
	d, least time.Duration
}

// phaseLengths are the parts of a load with a hold, and stageLengths those of an event's shape.
func (l Load) phaseLengths() []length {
	return []length{
		{"warmup", l.Warmup, 0},
		{"baseline.for", l.Baseline.For, time.Second},
		{"ramp", l.Ramp, 0},
		{"hold", l.Hold, MinHold},
		{"hold_max", l.HoldMax, 0},
		{"cooldown", l.Cooldown, 0},
	}
}

func (l Load) stageLengths() (all []length) {
	for i, s := range l.Stages {
		all = append(all, length{stageKey(i, "ramp"), s.Ramp, 0}, length{stageKey(i, "for"), s.For, time.Second})
	}
	return all
}

func stageKey(stage int, key string) string { return fmt.Sprintf("stages.%d.%s", stage, key) }

// lengths checks parts, which are whole seconds, as windows and frames are, and their sum.
func (c *loadCheck) lengths(parts []length) {
	for _, p := range parts {
		name := p.path[strings.LastIndexByte(p.path, '.')+1:]
		switch {
		case p.d < 0:
			c.fail(p.path, fmt.Sprintf("%s %v is negative", name, p.d), "")
		case p.d%time.Second != 0:
			c.fail(p.path, fmt.Sprintf("%s %v is not a whole number of seconds", name, p.d), "")
		case p.d < p.least:
			c.fail(p.path, fmt.Sprintf("%s %v is less than %v", name, p.d, p.least), "")
		case p.d > MaxDuration:
			c.fail(p.path, fmt.Sprintf("%s %v is more than %v", name, p.d, MaxDuration), "")
		}
	}
	sum, hold := time.Duration(0), time.Duration(0)
	for _, p := range parts {
		switch {
		case c.wrong[p.path]:
			return
		case p.path == "hold":
			hold = p.d
		case p.path == "hold_max": // the hold with its extensions
			p.d = max(0, p.d-hold)
		}
		if sum += p.d; sum > MaxDuration {
			c.fail(p.path, fmt.Sprintf("the load up to here lasts %v, more than %v", sum, MaxDuration), "")
			return
		}
	}
}

// check lists the faults of a load, from the file or after an override. Relations
// between values are checked only if each value is valid.
func (l Load) check() []loadFault {
	var c loadCheck
	if len(l.Stages) > 0 {
		l.checkStages(&c)
		return c.faults
	}
	c.rate("target", l.Target, false)
	c.rate("baseline.rate", l.Baseline.Rate, false)
	c.lengths(l.phaseLengths())
	switch {
	case c.wrong["target"] || c.wrong["baseline.rate"]:
	case l.Baseline.Rate > l.Target*(1+rounding):
		c.fail("baseline.rate", fmt.Sprintf("baseline rate %g is above the target of %g", l.Baseline.Rate, l.Target), "")
	case l.Baseline.Rate < l.Target*BaselineShare*(1-rounding):
		c.fail("baseline.rate", fmt.Sprintf("baseline rate %g is less than %g %% of the target of %g", l.Baseline.Rate, BaselineShare*100, l.Target),
			fmt.Sprintf("write at least %g", l.Target*BaselineShare))
	}
	if !c.wrong["target"] && !c.wrong["hold"] && l.Target*l.Hold.Seconds() < 1 {
		c.fail("target", fmt.Sprintf("rate %g schedules no transaction in a hold of %v", l.Target, l.Hold), "")
	}
	if l.HoldMax != 0 && !c.wrong["hold"] && !c.wrong["hold_max"] {
		if problem, hint := l.holdMaxFault(); problem != "" {
			c.fail("hold_max", problem, hint)
		}
	}
	return c.faults
}

func (l Load) checkStages(c *loadCheck) {
	judged, hold := false, time.Duration(0)
	c.lengths(l.stageLengths())
	for i, s := range l.Stages {
		rate := stageKey(i, "rate")
		if c.rate(rate, s.Rate, !s.Judge); !s.Judge {
			continue
		}
		judged = true
		hold += min(max(s.For, 0), MaxDuration)
		if !c.wrong[rate] && !c.wrong[stageKey(i, "for")] && s.Rate*s.For.Seconds() < 1 {
			c.fail(rate, fmt.Sprintf("rate %g schedules no transaction in %v", s.Rate, s.For), "")
		}
	}
	l.checkOverloads(c)
	switch {
	case !judged:
		c.fail("stages", "no stage is judged", `add "judge": true to the stages in which the SLOs must hold`)
	case hold < MinHold && len(c.faults) == 0:
		c.fail("stages", fmt.Sprintf("the judged stages last %v in total, less than %v", hold, MinHold), "")
	}
}

// load reads either form of a load.
func (r *reader) load(n *node) Load {
	l := Load{Unit: DefaultUnit}
	if n == nil || n.bad {
		return l
	}
	stages := n.get("stages")
	if stages == nil {
		l.Warmup, l.Ramp, l.Hold, l.Cooldown = DefaultWarmup, DefaultRamp, DefaultHold, DefaultCooldown
		l.Baseline.For = DefaultBaselineFor
	}
	r.fill(n, &l)
	if stages == nil && n.get("baseline").get("rate") == nil {
		l.Baseline.Rate = l.Target * DefaultBaselineShare
	}
	l.Even = n.get("spacing").string() == "even"
	if !n.validTree() {
		return l
	}
	for _, f := range l.check() {
		r.fail(n.at(strings.Split(f.path, ".")...), f.problem, f.hint)
	}
	return l
}

// MaxLooks is the maximum number of interim looks at an undecided hold: at its end,
// and at the end of each extension up to hold_max. The alpha of the inferred test is
// spent over the looks, so that many of them would weaken each (docs/calibration.md).
const MaxLooks = 4

// holdMaxFault says why hold_max does not fit the hold; both are valid by themselves.
func (l Load) holdMaxFault() (problem, hint string) {
	if looks := l.HoldMax / max(l.Hold, 1); looks*l.Hold == l.HoldMax && looks >= 1 && looks <= MaxLooks {
		return "", ""
	}
	return fmt.Sprintf("hold_max %v is not 1, 2, 3 or %d times the hold of %v", l.HoldMax, MaxLooks, l.Hold),
		fmt.Sprintf(`write "%v", "%v", "%v" or "%v", or omit it`, l.Hold, 2*l.Hold, 3*l.Hold, MaxLooks*l.Hold)
}

// withHold is the load with another hold. hold_max stays if it is a multiple of the
// new hold too; otherwise it changes to keep the number of looks.
func (l Load) withHold(d time.Duration) Load {
	looks := time.Duration(1)
	if l.HoldMax > 0 && l.Hold > 0 {
		looks = l.HoldMax / l.Hold
	}
	l.Hold = d
	switch {
	case l.HoldMax == 0 || d <= 0:
	default:
		if problem, _ := l.holdMaxFault(); problem != "" {
			l.HoldMax = looks * d
		}
	}
	return l
}
