package spec

import (
	"fmt"
	"time"
)

// rules reads the overrides of validity limits, under the RULEBOOK's ids.
func (r *reader) rules(n *node) (all Rules) {
	if !r.object(n, nil, []string{"generator-drops", "generator-lag", "generator-cpu", "collector"}) {
		return all
	}
	all.GeneratorDrops = r.share(n.get("generator-drops"))
	all.GeneratorLag = r.share(n.get("generator-lag"))
	all.GeneratorCPU = r.share(n.get("generator-cpu"))
	if c := n.get("collector"); c != nil && r.object(c, nil, []string{"share", "gap"}) {
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
	v := r.number(n)
	if v < 0 || v > 1 {
		r.fail(n, fmt.Sprintf("%g is not a share, 0 to 1", v), "")
	}
	return &v
}

func (r *reader) gap(n *node) *time.Duration {
	if n == nil {
		return nil
	}
	faults := len(r.faults)
	d := r.duration(n)
	if len(r.faults) == faults && (d <= 0 || d > MaxDuration) {
		r.fail(n, fmt.Sprintf("gap %v is not above 0 and at most %v", d, MaxDuration), "")
	}
	return &d
}

// RULEBOOK, section 1. A tenth of the smallest q: what the generator adds must
// be small beside what the percentile leaves over.
const (
	maxDrops         = 0.001
	tenth            = 0.1
	maxGeneratorCPU  = 0.8 // Hyperfoil's watchdog
	minCollected     = 0.99
	maxCollectorGap  = 2 * time.Second
	lagWithoutBounds = 0.01 // ours: a tenth of a p(90)'s, where no percentile is judged
)

// DefaultRules are the RULEBOOK's limits for a profile with these SLOs; none is
// nil.
func DefaultRules(slos []SLO) Rules {
	q := 0.0
	for _, s := range slos {
		if left := 1 - s.Quantile; s.Aggregate == Percentile && s.Sampled() && (q == 0 || left < q) {
			q = left
		}
	}
	drops, lag, cpu, share, gap := maxDrops, lagWithoutBounds, maxGeneratorCPU, minCollected, maxCollectorGap
	if q > 0 {
		drops, lag = min(maxDrops, q*tenth), q*tenth
	}
	return Rules{GeneratorDrops: &drops, GeneratorLag: &lag, GeneratorCPU: &cpu, CollectorShare: &share, CollectorGap: &gap}
}

// Limits are the profile's validity limits: its overrides, else the defaults.
// None is nil.
func (p Profile) Limits() Rules {
	limits := DefaultRules(p.SLOs)
	override(&limits.GeneratorDrops, p.Rules.GeneratorDrops)
	override(&limits.GeneratorLag, p.Rules.GeneratorLag)
	override(&limits.GeneratorCPU, p.Rules.GeneratorCPU)
	override(&limits.CollectorShare, p.Rules.CollectorShare)
	override(&limits.CollectorGap, p.Rules.CollectorGap)
	return limits
}

func override[T any](limit **T, with *T) {
	if with != nil {
		*limit = with
	}
}
