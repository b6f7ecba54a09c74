// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Limits of what a profile holds, far above what any file asks for.
const (
	maxSLOs   = 1000
	maxStages = 10_000
	// MaxJudged bounds the seconds that are judged times the SLOs that judge each of them: 57
	// SLOs for a day. Each takes 150 bytes of memory and 0.5 us, or more.
	MaxJudged = 5_000_000
)

// Check returns an error for a profile that no program could have run, such as one that a
// stranger has written into a record: all that depends on a profile may rely on it. It says
// nothing about whether the profile is a sensible one, which Decode does.
func (p Profile) Check() error {
	switch {
	case !profileName.MatchString(p.Name):
		return fmt.Errorf("profile: %s", badName("profile", p.Name))
	case len(p.Flows) == 0 || len(p.Flows) > MaxFlows:
		return fmt.Errorf("profile %s: %d flows, the limit is %d", p.Name, len(p.Flows), MaxFlows)
	}
	if !p.Named() && len(p.Common) > 0 {
		return fmt.Errorf("profile %s: SLOs of flows that have no names", p.Name)
	}
	names := map[string]bool{}
	for _, f := range p.Flows {
		if p.Named() && !flowName.MatchString(f.Name) || !p.Named() && len(p.Flows) > 1 || names[f.Name] {
			return fmt.Errorf("profile %s: flow name %s is wrong, or not the only one", p.Name, quote(f.Name))
		}
		names[f.Name] = true
		if problem := f.fault(); problem != "" {
			return fmt.Errorf("profile %s: %s", p.Title(f), problem)
		}
	}
	if problem := cmp.Or(p.wholeFault(), p.judgedFault()); problem != "" {
		return fmt.Errorf("profile %s: %s", p.Name, problem)
	}
	return nil
}

// judgedFault says that judging the profile would take too long; empty: it would not.
func (p Profile) judgedFault() string {
	total := 0.0
	for _, f := range p.Flows {
		judged := max(f.Load.Hold, f.Load.HoldMax)
		for _, s := range f.Load.Stages {
			if s.Judge {
				judged += s.For
			}
		}
		total += judged.Seconds() * float64(len(f.SLOs))
	}
	if total <= MaxJudged {
		return ""
	}
	return fmt.Sprintf("%.0f judged seconds times SLOs, the limit is %d", total, MaxJudged)
}

// judgedHint is what to do about it.
const judgedHint = "shorten the hold, or judge fewer SLOs: of a load of 24 hours, up to 57"

// fault is what is wrong with a flow; empty: nothing.
func (f Flow) fault() string {
	if f.Timeout <= 0 || f.Timeout > maxTimeout {
		return fmt.Sprintf("timeout %v is out of range", f.Timeout)
	}
	if f.Think < 0 || f.Think > maxThink {
		return fmt.Sprintf("think %v is out of range", f.Think)
	}
	if problem := f.Load.fault(); problem != "" {
		return problem
	}
	return slosFault(f.SLOs, f.Name)
}

// fault is what is wrong with the numbers of a load; empty: nothing.
func (l Load) fault() string {
	var c loadCheck
	parts := slices.Concat(l.phaseLengths(), l.stageLengths())
	for i := range parts {
		parts[i].least = 0
	}
	c.lengths(parts)
	c.rate("target", l.Target, true)
	c.rate("baseline.rate", l.Baseline.Rate, true)
	for i, s := range l.Stages {
		c.rate(stageKey(i, "rate"), s.Rate, true)
	}
	if problem, hint := l.holdMaxFault(); problem != "" && l.HoldMax != 0 {
		c.fail("hold_max", problem, hint)
	}
	switch {
	case len(l.Stages) > maxStages:
		return fmt.Sprintf("%d stages, the limit is %d", len(l.Stages), maxStages)
	case l.Threads < 0:
		return fmt.Sprintf("%d threads", l.Threads)
	case len(c.faults) > 0:
		return c.faults[0].path + ": " + c.faults[0].problem
	}
	return ""
}

// slosFault is what is wrong with the SLOs of a flow, or with those of all flows.
func slosFault(all []SLO, flow string) string {
	if len(all) > maxSLOs {
		return fmt.Sprintf("%d SLOs, the limit is %d", len(all), maxSLOs)
	}
	for _, s := range all { // each of which says what it means: see UnmarshalJSON
		if s.Flow != "" && s.Flow != flow {
			return fmt.Sprintf("SLO %s: it is of flow %s", quote(s.Expression), quote(s.Flow))
		}
	}
	return ""
}

// wholeFault is what is wrong with what all flows have in common.
func (p Profile) wholeFault() string {
	if problem := slosFault(p.Common, ""); problem != "" {
		return problem
	}
	for name, share := range map[string]*float64{
		"generator_drops": p.Rules.GeneratorDrops, "offered": p.Rules.Offered, "generator_cpu": p.Rules.GeneratorCPU,
		"machine": p.Rules.Machine, "collector_share": p.Rules.CollectorShare, "marking.sampled": &p.Marking.Sampled,
	} {
		if share != nil && (*share < 0 || *share > 1) {
			return fmt.Sprintf("%s: %g is not a share from 0 to 1", name, *share)
		}
	}
	if gap := p.Rules.CollectorGap; gap != nil && (*gap <= 0 || *gap > MaxDuration) {
		return fmt.Sprintf("collector_gap_ns: %v is out of range", *gap)
	}
	for i, a := range p.Abort {
		if a.Metric == "" || a.Limit < 0 || a.For < time.Second || a.For > MaxDuration {
			return fmt.Sprintf("abort[%d] is out of range", i)
		}
	}
	for i, f := range p.Faults {
		switch {
		case f.At < 0 || f.At > MaxDuration || f.For < 0 || f.For > MaxDuration:
			return fmt.Sprintf("faults[%d] is out of range", i)
		case (f.Node == "") != (f.Do == "") || f.Node == "" && len(f.Run) == 0:
			return fmt.Sprintf("faults[%d] does nothing", i)
		}
	}
	return ""
}
