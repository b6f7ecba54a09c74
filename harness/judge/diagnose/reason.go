package diagnose

import (
	"slices"
	"strings"

	"assay/harness/judge/verdict"
	"assay/harness/observe/metric"
	"assay/harness/observe/record"
	"assay/harness/spec"
)

// reason is what of a verdict has to be explained.
type reason struct {
	slow        []verdict.SLO // SLOs that are broken by time
	failures    []verdict.SLO // SLOs that are broken by transactions that fail
	others      []verdict.SLO // the ledger's, and what a script counts
	rules       []string      // that failed for time: steady, per-class
	generator   string        // the rule that it broke
	baselineToo bool          // an SLO on time is broken at the baseline already
	collector   string        // the rule's detail, where it limits what is known
	window      *int          // the judged window, from 0, that is broken where all together are not
}

func (w reason) any() bool { return w.time() || len(w.failures)+len(w.others) > 0 }

// time tells whether a transaction's time is what has to be explained.
func (w reason) time() bool { return len(w.slow)+len(w.rules) > 0 || w.generator != "" }

func reasonOf(r record.Run, v verdict.Verdict) (w reason) {
	short := ""
	for _, s := range v.SLOs {
		if !broken(s) {
			continue
		}
		switch breachOf(s, v.Outcomes) {
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
	if len(w.failures) > 0 { // which break an endpoint's SLO too
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

// broken is an SLO that failed, or of which too few samples are left to say so.
func broken(s verdict.SLO) bool {
	switch s.Outcome {
	case verdict.Fail:
		return true
	case verdict.Inconclusive:
		return s.Violations != nil && s.Allowed != nil && *s.Violations > *s.Allowed
	}
	return false
}

// What breaks an SLO.
type breach int

const (
	byTime breach = iota
	byFailures
	byOthers
)

// breachOf tells what broke an SLO. A transaction that fails violates the SLOs on
// its latency too, and is not completed, however fast it failed.
func breachOf(s verdict.SLO, o verdict.Outcomes) breach {
	switch {
	case s.Metric == spec.LedgerMetric || s.Metric == spec.PersistLagMetric:
		return byOthers
	case s.Metric == verdict.ThroughputMetric && count(o.TimedOut)+count(o.Dropped) < count(o.Failed),
		strings.HasPrefix(s.Metric, "http_req_failed"):
		return byFailures
	case s.Metric == verdict.ThroughputMetric:
		return byTime
	case !strings.HasPrefix(s.Metric, metric.TransactionDuration) && !strings.HasPrefix(s.Metric, "http_req_") && !strings.HasPrefix(s.Metric, "iteration_duration"):
		return byOthers // a metric of the script's own, or the lag of a reader
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

// baselineBreaks tells whether one of these SLOs is broken at the baseline load
// already: then what takes long is not what grows with the load.
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
