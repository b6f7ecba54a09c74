package diagnose

import (
	"slices"
	"strings"

	"assay/harness/judge/verdict"
	"assay/harness/observe/metric"
	"assay/harness/observe/record"
	"assay/harness/spec"
)

// reason is what has to be explained of a verdict.
type reason struct {
	slow        []verdict.SLO // SLOs broken by time
	failures    []verdict.SLO // SLOs broken by transactions that fail
	others      []verdict.SLO // those on the ledger, and on a script's own metrics
	rules       []string      // rules broken by time: steady, per-class
	generator   string        // rule that the generator broke
	baselineToo bool          // an SLO on time is broken at the baseline already
	collector   string        // detail of the rule "collector", where it limits what is known
	window      *int          // index of the only judged window that is broken; nil: all together are
}

func (w reason) any() bool { return w.time() || len(w.failures)+len(w.others) > 0 }

// time: a transaction's time is what has to be explained.
func (w reason) time() bool { return len(w.slow)+len(w.rules) > 0 || w.generator != "" }

func reasonOf(r record.Run, v verdict.Verdict) (w reason) {
	short := ""
	for _, s := range v.SLOs {
		if !broken(s) {
			continue
		}
		switch causeOf(s, v.Outcomes) {
		case byTime:
			w.slow = append(w.slow, s)
			if s.FailedWindow != nil && *s.FailedWindow <= len(v.Judged) {
				i := *s.FailedWindow - 1
				w.window = &i
			}
		case byFailures:
			w.failures = append(w.failures, s)
		default:
			w.others = append(w.others, s)
		}
	}
	for _, rule := range v.Rules {
		switch {
		case (strings.HasPrefix(rule.ID, "generator-") || rule.ID == "offered") && rule.Outcome == verdict.Invalid && w.generator == "":
			w.generator = rule.ID
		case rule.ID == "generator-cpu" && rule.Limitation != "":
			short = rule.ID
		case (rule.ID == "steady" || rule.ID == "per-class") && rule.Outcome == verdict.Fail:
			w.rules = append(w.rules, rule.ID)
		case rule.ID == "collector" && (rule.Limitation != "" || rule.Outcome != verdict.Pass):
			w.collector = rule.Detail
		}
	}
	if len(w.failures) > 0 { // failed requests break an endpoint's SLO too
		w.rules = slices.DeleteFunc(w.rules, func(id string) bool { return id == "per-class" })
	}
	if w.generator == "" && w.any() { // a generator short of CPU splits time wrongly
		w.generator = short
	}
	if slices.ContainsFunc(w.slow, func(s verdict.SLO) bool { return s.FailedWindow == nil }) {
		w.window = nil // all windows together are broken too
	}
	w.baselineToo = baselineBreaks(r, w.slow)
	return w
}

// broken: an SLO failed, or has too few samples to fail for certain.
func broken(s verdict.SLO) bool {
	switch s.Outcome {
	case verdict.Fail:
		return true
	case verdict.Inconclusive:
		return s.Violations != nil && s.Allowed != nil && *s.Violations > *s.Allowed
	}
	return false
}

// cause is what broke an SLO.
type cause int

const (
	byTime cause = iota
	byFailures
	byOthers
)

// causeOf is what broke an SLO. A transaction that fails violates the SLOs on its
// latency too, and is not completed, however fast it failed.
func causeOf(s verdict.SLO, o verdict.Outcomes) cause {
	switch {
	case s.Metric == spec.LedgerMetric || s.Metric == spec.PersistLagMetric:
		return byOthers
	case s.Metric == verdict.ThroughputMetric && count(o.TimedOut)+count(o.Dropped) < count(o.Failed),
		strings.HasPrefix(s.Metric, "http_req_failed"):
		return byFailures
	case s.Metric == verdict.ThroughputMetric:
		return byTime
	case !strings.HasPrefix(s.Metric, metric.TransactionDuration) && !strings.HasPrefix(s.Metric, "http_req_") && !strings.HasPrefix(s.Metric, "iteration_duration"):
		return byOthers // a metric of the script's own, or the lag of a replica
	case s.FailedWindow == nil && s.Observed != nil && *s.Observed < s.Limit:
		return byFailures
	}
	return byTime
}

func count(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

// baselineBreaks: one of these SLOs is broken at the baseline load already, so that
// growth with the load does not explain it.
func baselineBreaks(r record.Run, slow []verdict.SLO) bool {
	for _, asked := range r.Plan.Profile.SLOs {
		if !slices.ContainsFunc(slow, func(s verdict.SLO) bool { return s.Expression == asked.Expression && s.Metric == asked.MetricText() }) {
			continue
		}
		h := &metric.Hist{}
		for _, span := range baseline(r) {
			r.Timeline.MergeHist(h, asked.Metric, asked.Selector, span)
		}
		var at float64
		var ok bool
		switch asked.Aggregate {
		case spec.Percentile:
			at, ok = h.Quantile(asked.Quantile)
		case spec.Max:
			at, ok = h.Max()
		}
		if ok && asked.Violates(at) {
			return true
		}
	}
	return false
}
