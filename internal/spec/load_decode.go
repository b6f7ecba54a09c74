// SPDX-License-Identifier: Apache-2.0

package spec

import "slices"

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
	if stages != nil && len(l.Stages) == 0 || slices.Contains(n.unresolved, "stages") {
		return l // without stages, it would be checked as one with phases
	}
	for _, f := range l.check(n.valid) {
		r.fail(n.at(f.path...), f.problem, f.hint)
	}
	return l
}
