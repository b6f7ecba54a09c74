package spec

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// Limits of a load.
const (
	// MaxRate is the highest rate that a profile may ask of the fleet, in
	// arrivals a second; more is a slip of the pen.
	MaxRate = 1e6
	// MinHold is the shortest time that can be judged at all.
	MinHold = 10 * time.Second
	// MaxDuration bounds each phase and the whole load.
	MaxDuration = 24 * time.Hour
	// BaselineShare of the target is the least baseline: below it, caches, pools
	// and batches work too differently to be compared with the hold.
	BaselineShare = 0.2
	// rounding is what scaling a rate may cost, relative.
	rounding = 1e-9
)

// load reads either form of a load.
func (r *reader) load(n *node) Load {
	var l Load
	faults := len(r.faults)
	common := []string{"spacing"}
	if n.get("stages") != nil {
		for _, key := range []string{"target", "warmup", "baseline", "ramp", "hold", "cooldown"} {
			if c := n.get(key); c != nil {
				r.failAt(c.nameAt, n.place(), fmt.Sprintf("%q and \"stages\" exclude each other", key), "a load has either target and phases, or stages")
				return l
			}
		}
		if !r.object(n, []string{"unit", "stages"}, common) {
			return l
		}
		for _, c := range r.list(n.get("stages")) {
			l.Stages = append(l.Stages, r.stage(c))
		}
		if len(l.Stages) == 0 {
			r.fail(n.get("stages"), "there is no stage", "add "+example["stages"])
		}
	} else {
		phases := []string{"unit", "target", "warmup", "baseline", "ramp", "hold", "cooldown"}
		if !r.object(n, phases, append(common, "stages")) {
			return l
		}
		l.Target = r.number(n.get("target"))
		l.Warmup = r.duration(n.get("warmup"))
		if b := n.get("baseline"); r.object(b, []string{"rate", "for"}, nil) {
			l.Baseline = Baseline{Rate: r.number(b.get("rate")), For: r.duration(b.get("for"))}
		}
		l.Ramp = r.duration(n.get("ramp"))
		l.Hold = r.duration(n.get("hold"))
		l.Cooldown = r.duration(n.get("cooldown"))
	}
	l.Unit = r.oneOf(n.get("unit"), "unit", "tps", "rps")
	if s := n.get("spacing"); s != nil {
		l.Even = r.oneOf(s, "spacing", "poisson", "even") == "even"
	}
	if len(r.faults) > faults {
		return l
	}
	for _, f := range l.check() {
		r.fail(n.at(f.path...), f.problem, f.hint)
	}
	return l
}

func (r *reader) stage(n *node) (s Stage) {
	if !r.object(n, []string{"rate", "for"}, []string{"ramp", "judge"}) {
		return s
	}
	s.Rate = r.number(n.get("rate"))
	s.For = r.duration(n.get("for"))
	if c := n.get("ramp"); c != nil {
		s.Ramp = r.duration(c)
	}
	if c := n.get("judge"); c != nil {
		s.Judge = r.bool(c)
	}
	return s
}

// loadFault is what a load may not be; path leads to its key in the file.
type loadFault struct {
	path          []string
	problem, hint string
}

// loadCheck gathers faults and the length of the whole load.
type loadCheck struct {
	faults []loadFault
	total  time.Duration
}

func (c *loadCheck) fail(problem, hint string, path ...string) {
	c.faults = append(c.faults, loadFault{path, problem, hint})
}

// rate checks a rate; zero tells whether it may be 0.
func (c *loadCheck) rate(v float64, zero bool, path ...string) {
	switch {
	case math.IsNaN(v):
		c.fail("rate is not a number", "", path...)
	case v < 0 || v == 0 && !zero:
		c.fail(fmt.Sprintf("rate %g is not above 0", v), "", path...)
	case v > MaxRate:
		c.fail(fmt.Sprintf("rate %g is more than %d a second", v, int(MaxRate)), "", path...)
	}
}

// duration checks a phase; windows and frames are whole seconds, so phases are.
func (c *loadCheck) duration(d, least time.Duration, path ...string) {
	name := path[len(path)-1]
	switch {
	case d < 0:
		c.fail(fmt.Sprintf("%s %v is negative", name, d), "", path...)
	case d%time.Second != 0:
		c.fail(fmt.Sprintf("%s %v is not whole seconds", name, d), "", path...)
	case d < least:
		c.fail(fmt.Sprintf("%s %v is less than %v", name, d, least), "", path...)
	case d > MaxDuration:
		c.fail(fmt.Sprintf("%s %v is more than %v", name, d, MaxDuration), "", path...)
	default:
		if c.total += d; c.total > MaxDuration && c.total-d <= MaxDuration {
			c.fail(fmt.Sprintf("the load up to here takes %v, more than %v", c.total, MaxDuration), "", path...)
		}
	}
}

// check lists what is wrong with a load, from the file or after an override.
func (l Load) check() []loadFault {
	var c loadCheck
	if len(l.Stages) > 0 {
		l.checkStages(&c)
		return c.faults
	}
	c.rate(l.Target, false, "target")
	c.rate(l.Baseline.Rate, false, "baseline", "rate")
	if len(c.faults) == 0 {
		switch {
		case l.Baseline.Rate > l.Target*(1+rounding):
			c.fail(fmt.Sprintf("baseline rate %g is above the target, %g", l.Baseline.Rate, l.Target), "", "baseline", "rate")
		case l.Baseline.Rate < l.Target*BaselineShare*(1-rounding):
			c.fail(fmt.Sprintf("baseline rate %g is less than %g %% of the target, %g", l.Baseline.Rate, BaselineShare*100, l.Target),
				fmt.Sprintf("write at least %g", l.Target*BaselineShare), "baseline", "rate")
		case l.Hold >= MinHold && l.Target*l.Hold.Seconds() < 1:
			c.fail(fmt.Sprintf("rate %g schedules no transaction in a hold of %v", l.Target, l.Hold), "", "target")
		}
	}
	c.duration(l.Warmup, 0, "warmup")
	c.duration(l.Baseline.For, time.Second, "baseline", "for")
	c.duration(l.Ramp, 0, "ramp")
	c.duration(l.Hold, MinHold, "hold")
	c.duration(l.Cooldown, 0, "cooldown")
	return c.faults
}

func (l Load) checkStages(c *loadCheck) {
	judged := false
	var hold time.Duration
	for i, s := range l.Stages {
		at := func(key string) []string { return []string{"stages", strconv.Itoa(i), key} }
		c.rate(s.Rate, !s.Judge, at("rate")...)
		c.duration(s.Ramp, 0, at("ramp")...)
		c.duration(s.For, time.Second, at("for")...)
		if !s.Judge {
			continue
		}
		judged = true
		hold += min(max(s.For, 0), MaxDuration)
		if s.Rate > 0 && s.For >= time.Second && s.Rate*s.For.Seconds() < 1 {
			c.fail(fmt.Sprintf("rate %g schedules no transaction in %v", s.Rate, s.For), "", at("rate")...)
		}
	}
	switch {
	case !judged:
		c.fail("no stage is judged", `add "judge": true to the stages that the SLOs must hold in`, "stages")
	case hold < MinHold:
		c.fail(fmt.Sprintf("the judged stages take %v, less than %v", hold, MinHold), "", "stages")
	}
}
