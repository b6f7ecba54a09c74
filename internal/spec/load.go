// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"fmt"
	"math"
	"strconv"
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

// loadFault is one mistake in a load; path leads to its key in the file.
type loadFault struct {
	path          []string
	problem, hint string
}

// loadCheck collects faults, at most one for each value.
type loadCheck struct {
	valid  func(path ...string) bool // false: an error is already reported for the value
	faults []loadFault
	wrong  map[string]bool // paths that lead to a fault, as text
}

func (c *loadCheck) fail(problem, hint string, path ...string) {
	c.faults = append(c.faults, loadFault{path, problem, hint})
	if c.wrong == nil {
		c.wrong = map[string]bool{}
	}
	for i := range path {
		c.wrong[strings.Join(path[:i+1], "/")] = true
	}
}

// ok reports whether the value at a path is known and has no fault.
func (c *loadCheck) ok(path ...string) bool {
	return c.valid(path...) && !c.wrong[strings.Join(path, "/")]
}

// rate checks a rate; zero says whether it may be 0.
func (c *loadCheck) rate(v float64, zero bool, path ...string) {
	switch {
	case !c.valid(path...):
	case math.IsNaN(v):
		c.fail("rate is not a number", "", path...)
	case v < 0 || v == 0 && !zero:
		c.fail(fmt.Sprintf("rate %g is not above 0", v), "", path...)
	case v > MaxRate:
		c.fail(fmt.Sprintf("rate %g is more than %d per second", v, int(MaxRate)), "", path...)
	}
}

// duration checks a phase. Phases are whole seconds, as windows and frames are.
func (c *loadCheck) duration(d, least time.Duration, path ...string) {
	name := path[len(path)-1]
	switch {
	case !c.valid(path...):
	case d < 0:
		c.fail(fmt.Sprintf("%s %v is negative", name, d), "", path...)
	case d%time.Second != 0:
		c.fail(fmt.Sprintf("%s %v is not a whole number of seconds", name, d), "", path...)
	case d < least:
		c.fail(fmt.Sprintf("%s %v is less than %v", name, d, least), "", path...)
	case d > MaxDuration:
		c.fail(fmt.Sprintf("%s %v is more than %v", name, d, MaxDuration), "", path...)
	}
}

// phaseLength is a phase of the load by its length.
type phaseLength struct {
	path []string
	d    time.Duration
}

// total checks the total length of the phases, if each is valid.
func (c *loadCheck) total(parts []phaseLength) {
	sum := time.Duration(0)
	for _, p := range parts {
		if !c.ok(p.path...) {
			return
		}
		if sum += p.d; sum > MaxDuration {
			c.fail(fmt.Sprintf("the load up to here lasts %v, more than %v", sum, MaxDuration), "", p.path...)
			return
		}
	}
}

// allValid is loadCheck.valid for loads that do not come from a file.
func allValid(...string) bool { return true }

// check lists the faults of a load, from the file or after an override. Relations
// between values are checked only if each value is valid.
func (l Load) check(valid func(path ...string) bool) []loadFault {
	c := loadCheck{valid: valid}
	if len(l.Stages) > 0 {
		l.checkStages(&c)
		return c.faults
	}
	c.rate(l.Target, false, "target")
	c.rate(l.Baseline.Rate, false, "baseline", "rate")
	c.duration(l.Warmup, 0, "warmup")
	c.duration(l.Baseline.For, time.Second, "baseline", "for")
	c.duration(l.Ramp, 0, "ramp")
	c.duration(l.Hold, MinHold, "hold")
	c.duration(l.HoldMax, 0, "hold_max")
	c.duration(l.Cooldown, 0, "cooldown")
	if c.ok("target") && c.ok("baseline", "rate") {
		switch {
		case l.Baseline.Rate > l.Target*(1+rounding):
			c.fail(fmt.Sprintf("baseline rate %g is above the target of %g", l.Baseline.Rate, l.Target), "", "baseline", "rate")
		case l.Baseline.Rate < l.Target*BaselineShare*(1-rounding):
			c.fail(fmt.Sprintf("baseline rate %g is less than %g %% of the target of %g", l.Baseline.Rate, BaselineShare*100, l.Target),
				fmt.Sprintf("write at least %g", l.Target*BaselineShare), "baseline", "rate")
		}
	}
	if c.ok("target") && c.ok("hold") && l.Target*l.Hold.Seconds() < 1 {
		c.fail(fmt.Sprintf("rate %g schedules no transaction in a hold of %v", l.Target, l.Hold), "", "target")
	}
	longest := phaseLength{[]string{"hold"}, l.Hold}
	if l.HoldMax != 0 && c.ok("hold") && c.ok("hold_max") {
		if problem, hint := l.holdMaxFault(); problem != "" {
			c.fail(problem, hint, "hold_max")
		}
		longest = phaseLength{[]string{"hold_max"}, l.HoldMax}
	}
	c.total([]phaseLength{
		{[]string{"warmup"}, l.Warmup},
		{[]string{"baseline", "for"}, l.Baseline.For},
		{[]string{"ramp"}, l.Ramp},
		{[]string{"hold"}, 0},
		longest,
		{[]string{"cooldown"}, l.Cooldown},
	})
	return c.faults
}

func (l Load) checkStages(c *loadCheck) {
	judged, known := false, true
	var hold time.Duration
	var parts []phaseLength
	for i, s := range l.Stages {
		at := func(key string) []string { return []string{"stages", strconv.Itoa(i), key} }
		c.duration(s.Ramp, 0, at("ramp")...)
		c.duration(s.For, time.Second, at("for")...)
		parts = append(parts, phaseLength{at("ramp"), s.Ramp}, phaseLength{at("for"), s.For})
		c.rate(s.Rate, !s.Judge, at("rate")...)
		if known = known && c.valid(at("judge")...); !s.Judge {
			continue
		}
		judged = true
		known = known && c.ok(at("for")...)
		hold += min(max(s.For, 0), MaxDuration)
		if c.ok(at("rate")...) && c.ok(at("for")...) && s.Rate*s.For.Seconds() < 1 {
			c.fail(fmt.Sprintf("rate %g schedules no transaction in %v", s.Rate, s.For), "", at("rate")...)
		}
	}
	l.checkOverloads(c)
	switch {
	case !known:
	case !judged:
		c.fail("no stage is judged", `add "judge": true to the stages in which the SLOs must hold`, "stages")
	case hold < MinHold:
		c.fail(fmt.Sprintf("the judged stages last %v in total, less than %v", hold, MinHold), "", "stages")
	}
	c.total(parts)
}
