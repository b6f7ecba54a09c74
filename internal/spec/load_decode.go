// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// phases are the keys of a load with a hold; a load with stages has none of them.
var phases = []string{"target", "warmup", "baseline", "ramp", "hold", "hold_max", "cooldown"}

// load reads either form of a load.
func (r *reader) load(n *node) Load {
	l := Load{Unit: DefaultUnit}
	if n == nil {
		return l
	}
	ok := false
	if staged(n) {
		ok = r.stages(n, &l)
	} else {
		ok = r.phases(n, &l)
	}
	if !ok {
		return l
	}
	if u := n.get("unit"); u != nil {
		l.Unit, _ = r.oneOf(u, "unit", "tps", "rps")
	}
	spacing, _ := r.oneOf(n.get("spacing"), "spacing", "poisson", "even")
	l.Even = spacing == "even"
	for _, f := range l.check(n.valid) {
		r.fail(n.at(f.path...), f.problem, f.hint)
	}
	return l
}

// staged reports whether a load has stages, even if the key is misspelt.
func staged(n *node) bool {
	for _, c := range n.children {
		near, _ := nearest(c.name, append([]string{"stages"}, phases...))
		if n.kind == jsontext.KindBeginObject && c.kind == jsontext.KindBeginArray && near == "stages" {
			return true
		}
	}
	return n.get("stages") != nil
}

func (r *reader) stages(n *node, l *Load) bool {
	conflicting := map[string]refusal{}
	for _, c := range n.children {
		if slices.Contains(phases, c.name) {
			conflict := refusal{}
			if len(conflicting) == 0 { // reporting one is enough
				conflict = refusal{fmt.Sprintf("%q and \"stages\" are mutually exclusive", c.name), "a load has either target and phases, or stages"}
			}
			conflicting[c.name] = conflict
		}
	}
	if !r.objectRefusing(n, []string{"stages"}, []string{"unit", "spacing"}, conflicting) {
		return false
	}
	stages := n.get("stages")
	for _, c := range r.list(stages) {
		l.Stages = append(l.Stages, r.stage(c))
	}
	if len(l.Stages) == 0 {
		if stages != nil && !stages.bad {
			r.fail(stages, "want at least one stage", "add "+example["stages"])
		}
		return false
	}
	return true
}

func (r *reader) stage(n *node) (s Stage) {
	if !r.object(n, []string{"rate", "for"}, []string{"ramp", "judge", "overload"}) {
		return s
	}
	s.Rate, _ = r.number(n.get("rate"))
	s.For, _ = r.duration(n.get("for"))
	s.Ramp, _ = r.duration(n.get("ramp"))
	s.Judge = r.bool(n.get("judge"))
	s.Overload = r.bool(n.get("overload"))
	return s
}

func (r *reader) phases(n *node, l *Load) bool {
	if !r.object(n, []string{"target"}, []string{"unit", "warmup", "baseline", "ramp", "hold", "hold_max", "cooldown", "spacing", "stages"}) {
		return false
	}
	l.Target, _ = r.number(n.get("target"))
	l.Baseline = r.baseline(n.get("baseline"), l.Target)
	l.Warmup = r.phase(n.get("warmup"), DefaultWarmup)
	l.Ramp = r.phase(n.get("ramp"), DefaultRamp)
	l.Hold = r.phase(n.get("hold"), DefaultHold)
	if h := n.get("hold_max"); h != nil {
		var ok bool
		if l.HoldMax, ok = r.duration(h); ok && l.HoldMax == 0 { // 0 in a Load means no hold_max
			r.fail(h, "hold_max 0s is not longer than the hold", "omit it to keep the hold fixed")
		}
	}
	l.Cooldown = r.phase(n.get("cooldown"), DefaultCooldown)
	return true
}

func (r *reader) phase(n *node, otherwise time.Duration) time.Duration {
	if n == nil {
		return otherwise
	}
	d, _ := r.duration(n)
	return d
}

func (r *reader) baseline(n *node, target float64) Baseline {
	b := Baseline{Rate: target * DefaultBaselineShare, For: DefaultBaselineFor}
	if !r.object(n, nil, []string{"rate", "for"}) {
		return b
	}
	if c := n.get("rate"); c != nil {
		b.Rate, _ = r.number(c)
	}
	b.For = r.phase(n.get("for"), DefaultBaselineFor)
	return b
}
