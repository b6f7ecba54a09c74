package spec

import (
	"fmt"
	"time"
)

// retired are rules that had a limit once (RULEBOOK 1a).
var retired = map[string]refusal{"generator-lag": {
	"generator-lag no longer has a limit: the generator's share of each latency is measured and judged separately",
	"remove it",
}}

// rules reads the overrides of validity limits, under the RULEBOOK's ids.
func (r *reader) rules(n *node) (all Rules) {
	if !r.objectBut(n, nil, []string{"generator-drops", "offered", "generator-cpu", "machine", "collector"}, retired) {
		return all
	}
	all.GeneratorDrops = r.share(n.get("generator-drops"))
	all.Offered = r.share(n.get("offered"))
	all.GeneratorCPU = r.share(n.get("generator-cpu"))
	all.Machine = r.share(n.get("machine"))
	if c := n.get("collector"); r.object(c, nil, []string{"share", "gap"}) {
		all.CollectorShare = r.share(c.get("share"))
		all.CollectorGap = r.gap(c.get("gap"))
	}
	return all
}

// share reads a share in [0, 1]; nil where the key is not there.
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

// RULEBOOK, section 1. A tenth of the smallest q of the SLOs, what their tightest
// percentile leaves over: arrivals that the generator lost or displaced must be
// few beside the violations that are allowed.
const (
	tenth                  = 0.1
	maxDrops               = 0.001           // however loose the SLOs are
	displacedWithoutBounds = 0.01            // ours: a tenth of a p(90)'s, where no percentile is judged
	maxGeneratorCPU        = 0.8             // Hyperfoil's watchdog; over it stands among the limitations
	maxTaken               = 0.02            // ours: of a host's CPU time, by its hypervisor or a quota; likewise
	minCollected           = 0.99            // ours: below it the bottleneck is undetermined
	maxCollectorGap        = 2 * time.Second // ours; likewise
)

// Limits that no profile may override.
const (
	ClockShare     = 0.1 // of the tightest bound of a time: by how much clocks may differ, or one may be set
	RecommendedCPU = 0.5 // most of its CPUs that a generator should need (Hyperfoil, Graviton runbook)
)

// DefaultRules are the RULEBOOK's limits for a profile with these SLOs; none is
// nil. The generator's lag has none: its share of each latency is counted, and
// clears the system of what the generator caused (RULEBOOK 1a).
func DefaultRules(slos []SLO) Rules {
	q := 0.0
	for _, s := range slos {
		if left := 1 - s.Quantile; s.Aggregate == Percentile && s.Sampled() && (q == 0 || left < q) {
			q = left
		}
	}
	drops, displaced, cpu, taken, share, gap := maxDrops, displacedWithoutBounds, maxGeneratorCPU, maxTaken, minCollected, maxCollectorGap
	if q > 0 {
		drops, displaced = min(maxDrops, q*tenth), q*tenth
	}
	return Rules{GeneratorDrops: &drops, Offered: &displaced, GeneratorCPU: &cpu, Machine: &taken, CollectorShare: &share, CollectorGap: &gap}
}

// Limits are the profile's validity limits: its overrides, else the defaults.
// None is nil.
func (p Profile) Limits() Rules {
	limits := DefaultRules(p.SLOs)
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
