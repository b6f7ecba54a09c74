// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"fmt"
	"time"

	"assay.dev/assay/internal/rulebook"
)

// retired are rules that no longer have a limit (docs/rulebook.md).
var retired = map[string]refusal{rulebook.GeneratorLag: {
	"generator-lag no longer has a limit: the generator's share of each latency is measured and judged separately",
	"remove it",
}}

// rules reads the overrides of validity limits, under the ids of docs/rulebook.md.
func (r *reader) rules(n *node) (all Rules) {
	if !r.objectRefusing(n, nil, rulebook.IDs(func(rule rulebook.Rule) bool { return rule.Override }), retired) {
		return all
	}
	all.GeneratorDrops = r.share(n.get(rulebook.GeneratorDrops))
	all.Offered = r.share(n.get(rulebook.Offered))
	all.GeneratorCPU = r.share(n.get(rulebook.GeneratorCPU))
	all.Machine = r.share(n.get(rulebook.Machine))
	if c := n.get(rulebook.Collector); r.object(c, nil, []string{"share", "gap"}) {
		all.CollectorShare = r.share(c.get("share"))
		all.CollectorGap = r.gap(c.get("gap"))
	}
	return all
}

// share reads a share in [0, 1]; nil if the key is missing.
func (r *reader) share(n *node) *float64 {
	if n == nil {
		return nil
	}
	v, ok := r.number(n)
	if ok && (v < 0 || v > 1) {
		r.fail(n, fmt.Sprintf("%g is not a share from 0 to 1", v), "")
	}
	return &v
}

func (r *reader) gap(n *node) *time.Duration {
	if n == nil {
		return nil
	}
	d, ok := r.duration(n)
	if ok && (d <= 0 || d > MaxDuration) {
		r.fail(n, fmt.Sprintf("gap %v is out of range: want above 0 and at most %v", d, MaxDuration), "")
	}
	return &d
}

// DefaultRules are the limits of docs/rulebook.md for a profile with these SLOs; none is
// nil. The generator's lag has no limit: its share of each latency is measured, and
// latencies are cleared of it (docs/rulebook.md).
func DefaultRules(slos []SLO) Rules {
	smallest := 0.0
	for _, s := range slos {
		if q := 1 - s.Quantile; s.Aggregate == Percentile && s.Kind() == KindSamples && (smallest == 0 || q < smallest) {
			smallest = q
		}
	}
	drops, displaced, cpu := rulebook.MaxDrops, rulebook.DisplacedWithoutBounds, rulebook.MaxGeneratorCPU
	taken, share, gap := rulebook.MaxTaken, rulebook.MinCollected, rulebook.MaxCollectorGap
	if smallest > 0 {
		drops, displaced = min(rulebook.MaxDrops, smallest*rulebook.ShareOfQ), smallest*rulebook.ShareOfQ
	}
	return Rules{GeneratorDrops: &drops, Offered: &displaced, GeneratorCPU: &cpu, Machine: &taken, CollectorShare: &share, CollectorGap: &gap}
}

// Limits are the profile's validity limits: its overrides, else the defaults.
// None is nil.
func (p Profile) Limits() Rules {
	limits := DefaultRules(p.WholeSLOs())
	override(&limits.GeneratorDrops, p.Rules.GeneratorDrops)
	override(&limits.Offered, p.Rules.Offered)
	override(&limits.GeneratorCPU, p.Rules.GeneratorCPU)
	override(&limits.Machine, p.Rules.Machine)
	override(&limits.CollectorShare, p.Rules.CollectorShare)
	override(&limits.CollectorGap, p.Rules.CollectorGap)
	return limits
}

func override[T any](limit **T, with *T) {
	if with != nil {
		*limit = with
	}
}
