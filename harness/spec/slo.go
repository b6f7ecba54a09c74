package spec

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"assay/harness/observe/metric"
)

// slos reads the SLOs of a profile, sorted by metric.
func (r *reader) slos(n *node, hasLedger, hasReader bool) []SLO {
	if !r.is(n, jsontext.KindBeginObject, exampleOf(n)) {
		return nil
	}
	if len(n.children) == 0 {
		r.fail(n, "there is no SLO", "add "+example["slo"])
	}
	var all []SLO
	stands := map[string]int{} // line, by what the SLO asks
	for _, c := range n.children {
		var s SLO
		problem, hint := s.parseMetric(c.name), `write for example "http_req_duration{name:pay}"`
		named := problem == ""
		if named {
			problem, hint = s.reserved(hasLedger, hasReader), ""
		}
		if problem != "" {
			r.failKey(c, problem, hint)
		}
		if s.Metric == recoveryTime {
			continue // nobody knows yet what may stand there
		}
		conditions := r.list(c)
		if len(conditions) == 0 && c.kind == jsontext.KindBeginArray {
			r.fail(c, "there is no expression", "use "+forms[kind(s.Metric)])
		}
		for _, e := range conditions {
			s := s // each its own, on the same metric
			if !r.condition(e, &s, named) || !named {
				continue
			}
			id := fmt.Sprint(s.MetricText(), s.Aggregate, s.Count, s.Quantile, s.Operator, s.Bound)
			if line, ok := stands[id]; ok {
				r.fail(e, fmt.Sprintf("%s asks the same as line %d", quote(s.Expression), line), "")
				continue
			}
			stands[id] = s.At.Line
			all = append(all, s)
		}
	}
	slices.SortStableFunc(all, func(a, b SLO) int { return cmp.Compare(a.MetricText(), b.MetricText()) })
	return all
}

// reserved checks the metrics that samples do not decide.
func (s SLO) reserved(hasLedger, hasReader bool) (problem string) {
	ledger := s.Metric == LedgerMetric || s.Metric == PersistLagMetric
	ours := ledger || s.OfReaders() || s.Metric == metric.TransactionDuration
	switch {
	case s.Metric == recoveryTime:
		return recoveryTime + " is reserved: it is not measured yet"
	case ours && len(s.Selector) > 0:
		return s.Metric + " has no tags to select by"
	case ledger && !hasLedger:
		return s.Metric + ` cannot be read back: the profile has no "ledger"`
	case s.Metric == metric.BinlogReaderLag && !hasReader:
		return s.Metric + ` cannot be read: the profile has no "binlog_reader"`
	}
	return ""
}
