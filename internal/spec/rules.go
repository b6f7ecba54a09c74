// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"cmp"

	"assay.dev/assay/internal/rulebook"
)

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
	own, limits := p.Rules, DefaultRules(p.WholeSLOs())
	return Rules{
		GeneratorDrops: cmp.Or(own.GeneratorDrops, limits.GeneratorDrops), Offered: cmp.Or(own.Offered, limits.Offered),
		GeneratorCPU: cmp.Or(own.GeneratorCPU, limits.GeneratorCPU), Machine: cmp.Or(own.Machine, limits.Machine),
		CollectorShare: cmp.Or(own.CollectorShare, limits.CollectorShare), CollectorGap: cmp.Or(own.CollectorGap, limits.CollectorGap),
	}
}
