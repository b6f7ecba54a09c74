// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"slices"
	"strings"

	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/rulebook"
	"assay.dev/assay/internal/spec"
)

// symptoms are what is wrong according to a verdict, which the diagnosis has to explain.
type symptoms struct {
	slow           []verdict.SLO // SLOs broken by slow transactions
	failures       []verdict.SLO // SLOs broken by failed transactions
	others         []verdict.SLO // broken SLOs on the ledger and on a script's own metrics
	rules          []string      // rules broken by slow transactions: steady, per-class
	generator      string        // rule that the generator broke; empty: none
	loadDiffers    bool          // because of it the load differs from the planned one; false: the generator was short of CPU only
	baselineBroken bool          // one of the slow SLOs is already broken at the baseline
	collector      string        // detail of the rule "collector", if samples are incomplete
	aborted        bool          // to protect others: there may be no symptom so far
	window         *int          // judged window that failed by itself, from 0; nil: all together failed
	seconds        []record.Span // in which an overload or a recovery failed, while the judged windows did not; nil otherwise
}

func (s symptoms) any() bool { return s.aboutTime() || len(s.failures)+len(s.others) > 0 }

// aboutTime reports whether the time of transactions has to be explained.
func (s symptoms) aboutTime() bool { return len(s.slow)+len(s.rules) > 0 || s.generator != "" }

// incomplete reports whether transactions were not completed, or failed, more than an SLO
// allows.
func (s symptoms) incomplete() bool {
	return len(s.failures) > 0 || slices.ContainsFunc(s.slow, func(slo verdict.SLO) bool { return slo.Metric == verdict.ThroughputMetric })
}

func symptomsOf(of subject) (found symptoms) {
	v, shortOfCPU := of.verdict, ""
	found.aborted = v.Aborted != nil && v.Aborted.Truncated && !v.Aborted.SLO
	for _, s := range v.SLOs {
		if !broken(s) {
			continue
		}
		like := found.like(s, v.Outcomes)
		if *like = append(*like, s); like == &found.slow && s.FailedWindow != nil {
			found.window = new(*s.FailedWindow - 1)
		}
	}
	for _, rule := range v.Rules {
		switch {
		case rulebook.Blames(rule.ID) == rulebook.Generator && rule.Outcome == verdict.Invalid && found.generator == "":
			found.generator, found.loadDiffers = rule.ID, true
		case rule.ID == rulebook.GeneratorCPU && rule.Limitation != "":
			shortOfCPU = rule.ID
		case rulebook.Blames(rule.ID) == rulebook.System && rule.Outcome == verdict.Fail:
			found.rules = append(found.rules, rule.ID)
		case rule.ID == rulebook.Collector && (rule.Limitation != "" || rule.Outcome != verdict.Pass):
			found.collector = rule.Detail
		}
	}
	if len(found.failures) > 0 { // failed requests break an endpoint's SLO too
		found.rules = slices.DeleteFunc(found.rules, func(id string) bool { return id == rulebook.PerClass })
	}
	if found.generator == "" && found.any() { // a generator short of CPU distorts the split
		found.generator = shortOfCPU
	}
	if slices.ContainsFunc(found.slow, func(s verdict.SLO) bool { return s.FailedWindow == nil }) {
		found.window = nil // all windows together failed too
	}
	for _, s := range found.slow {
		found.seconds = append(found.seconds, s.Seconds...)
	}
	if slices.ContainsFunc(found.slow, func(s verdict.SLO) bool { return s.Seconds == nil }) || len(found.rules) > 0 {
		found.seconds = nil
	}
	found.baselineBroken = of.baselineBreaks(found.slow)
	return found
}

// broken reports whether an SLO failed, or has more violations than allowed but too few
// samples to decide.
func broken(s verdict.SLO) bool {
	switch s.Outcome {
	case verdict.Fail:
		return true
	case verdict.Inconclusive:
		return s.Violations != nil && s.Allowed != nil && *s.Violations > *s.Allowed
	}
	return false
}

// like are the symptoms with the same cause as a broken SLO. A failed transaction also
// violates latency SLOs and lowers the throughput, however fast it fails.
func (found *symptoms) like(s verdict.SLO, o verdict.Outcomes) *[]verdict.SLO {
	name, _, _ := strings.Cut(s.Metric, "{") // without its selector
	switch {
	case s.Metric == metric.Ledger || s.Metric == metric.PersistLag:
		return &found.others
	case s.Metric == verdict.ThroughputMetric && count(o.TimedOut)+count(o.Dropped) < count(o.Failed),
		metric.IsRequestFailed(name):
		return &found.failures
	case s.Metric == verdict.ThroughputMetric, s.Seconds != nil:
		return &found.slow
	case !strings.HasPrefix(s.Metric, metric.TransactionDuration) && !metric.IsRequestTime(name) && !strings.HasPrefix(s.Metric, "iteration_duration"):
		return &found.others // a metric of the script's own, or the lag of a replica
	case s.Violations != nil && s.Allowed != nil && *s.Violations > *s.Allowed && s.Observed != nil && *s.Observed < s.Limit:
		return &found.failures
	}
	return &found.slow
}

func count(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

// baselineBreaks reports whether one of the SLOs is already broken at the baseline load,
// so that growth with the load does not explain it.
func (of subject) baselineBreaks(slow []verdict.SLO) bool {
	for _, slo := range of.run.Plan.Profile.WholeSLOs() {
		if !slices.ContainsFunc(slow, func(s verdict.SLO) bool { return s.Expression == slo.Expression && s.Metric == slo.MetricText() }) {
			continue
		}
		h := &metric.Hist{}
		for _, span := range baseline(of.run) {
			of.traffic.MergeHist(h, slo.Metric, slo.Selector, span)
		}
		var at float64
		var ok bool
		switch slo.Aggregate {
		case spec.Percentile:
			at, ok = h.Quantile(slo.Quantile)
		case spec.Max:
			at, ok = h.Max()
		}
		if ok && slo.Violates(at) {
			return true
		}
	}
	return false
}
